// What the lanes of a warp do with each other, and clocks.
#include "lanes.h"
#include "floatop.h"

DEFINE(nop) { (void)w; (void)in; }

// shfl: a is the value, b the lane or distance, c the clamp and the segment
// mask; d2 says whether the source was in range.
DEFINE(shfl) {
    uint32_t from[LANES];
    const uint32_t *a = AT(uint32_t, in->a), *b = AT(uint32_t, in->b), *c = AT(uint32_t, in->c);
    uint32_t *d = AT(uint32_t, in->d);
    memcpy(from, a, sizeof from);
    SLOW(int clamp = (int)(c[i] & 31); int segment = (int)(c[i] >> 8 & 31); int most = (i & segment) | (clamp & ~segment);
         int least = i & segment; int n = (int)(b[i] & 31); int j; bool ok;
         switch (in->op) {
             case SHFL_UP: j = i - n; ok = j >= most; break;
             case SHFL_DOWN: j = i + n; ok = j <= most; break;
             case SHFL_BFLY: j = i ^ n; ok = j <= most; break;
             default: j = least | (n & ~segment); ok = j <= most; break;
         }
         if (!ok) j = i;
         d[i] = from[j & 31];
         if (in->d2) AT(uint8_t, in->d2)[i] = ok);
}

// Lanes that do not execute have no vote.
DEFINE(vote) {
    uint32_t yes = bits_of(w->regs, in->a);
    if (in->flags & I_NOT)
        yes = ~yes;
    yes &= w->mask;
    bool r = in->op == VOTE_ALL ? yes == w->mask : in->op == VOTE_ANY ? yes != 0 : yes == w->mask || !yes;
    if (in->op == VOTE_BALLOT)
        SLOW(AT(uint32_t, in->d)[i] = yes);
    else
        SLOW(AT(uint8_t, in->d)[i] = r);
}

DEFINE(activemask) { SLOW(AT(uint32_t, in->d)[i] = w->mask); }

// match: which lanes have the same value; op 1 (all) gives 0 unless all do.
DEFINE(match) {
    uint32_t result[LANES];
    bool all = true;
    SLOW(uint32_t same = 0; uint64_t v = in->sw == 4 ? AT(uint32_t, in->a)[i] : AT(uint64_t, in->a)[i];
         for (uint32_t k_ = w->mask; k_; k_ &= k_ - 1) {
             int j = __builtin_ctz(k_);
             uint64_t u = in->sw == 4 ? AT(uint32_t, in->a)[j] : AT(uint64_t, in->a)[j];
             if (u == v)
                 same |= 1u << j;
         } result[i] = same; all &= same == w->mask);
    SLOW(AT(uint32_t, in->d)[i] = in->op ? (all ? w->mask : 0) : result[i]; if (in->d2) AT(uint8_t, in->d2)[i] = all);
}

DEFINE(redux) {
    const uint32_t *a = AT(uint32_t, in->a);
    bool first = true;
    uint32_t v = 0;
    SLOW(uint32_t x = a[i]; if (first) v = x; else switch (in->op) {
        case A_ADD: v += x; break;
        case A_MIN: v = in->dt == T_S32 ? ((int32_t)x < (int32_t)v ? x : v) : x < v ? x : v; break;
        case A_MAX: v = in->dt == T_S32 ? ((int32_t)x > (int32_t)v ? x : v) : x > v ? x : v; break;
        case A_AND: v &= x; break;
        case A_OR: v |= x; break;
        case A_XOR: v ^= x; break;
    } first = false);
    SLOW(AT(uint32_t, in->d)[i] = v);
}

DEFINE(clock) {
    uint64_t v = (uint64_t)now_ns();
    if (in->op == CLOCK_32)
        SLOW(AT(uint32_t, in->d)[i] = (uint32_t)v);
    else
        SLOW(AT(uint64_t, in->d)[i] = v);
}

// elect: the lowest lane is the leader.
DEFINE(elect) {
    int leader = __builtin_ctz(w->mask);
    SLOW(if (in->d) AT(uint32_t, in->d)[i] = (uint32_t)leader; AT(uint8_t, in->d2)[i] = i == leader);
}
