// Loads, stores and atomics. A place in the code remembers the allocation that
// it touched last; reach finds another one, or the fault.
#include "lanes.h"
#include "floatop.h"

// place is where the bytes of an address lie: the site's memory of the last
// one, or what reach finds. It is never null; after a fault it is scratch.
static inline char *place(warp *w, const insn *in, uint64_t address, unsigned size, int lane, bool writes) {
    const site *s = &w->sites[in->site];
    uint64_t off = address - s->lo;
    if (__builtin_expect(off <= s->span && !(address & (size - 1)), 1))
        return s->host + off;
    return reach(w, in, address, size, in->space, lane, writes);
}

// address of lane i: a register of 64 bits or, in the windows, of 32.
static inline uint64_t address_of(const warp *w, const insn *in, int i) {
    return (in->sw == 4 ? AT(uint32_t, in->a)[i] : AT(uint64_t, in->a)[i]) + (uint64_t)in->imm;
}

// A register may be wider than what is loaded, which is then extended.
#define LOAD(N, T, S)                                                                      \
    DEFINE(ld##N) {                                                                        \
        const uint64_t *a = AT(uint64_t, in->a);                                           \
        uint64_t off = (uint64_t)in->imm;                                                  \
        if (in->dw == (N == 8 ? 2 : N / 8)) {                                              \
            if (in->dt == T_S8) {                                                          \
                int16_t *d = AT(int16_t, in->d);                                           \
                SLOW(d[i] = *(int8_t *)place(w, in, a[i] + off, 1, i, false));             \
            } else {                                                                       \
                S *d = AT(S, in->d);                                                       \
                SLOW(d[i] = *(T *)place(w, in, a[i] + off, N / 8, i, false));              \
            }                                                                              \
            return;                                                                        \
        }                                                                                  \
        NAME(ldany)(w, in);                                                                \
    }
void NAME(ldany)(warp *w, const insn *in);
void NAME(stany)(warp *w, const insn *in);
LOAD(8, uint8_t, uint16_t)
LOAD(16, uint16_t, uint16_t)
LOAD(32, uint32_t, uint32_t)
LOAD(64, uint64_t, uint64_t)

static int width(uint8_t t) {
    switch (t) {
    case T_U8: case T_S8: case T_B8: return 1;
    case T_U16: case T_S16: case T_B16: case T_F16: case T_BF16: return 2;
    case T_U64: case T_S64: case T_B64: case T_F64: return 8;
    }
    return 4;
}

static void put(warp *w, uint32_t r, int dw, int i, uint8_t t, const char *p) {
    uint64_t v = 0;
    switch (width(t)) {
    case 1: v = t == T_S8 ? (uint64_t)(int64_t) * (const int8_t *)p : *(const uint8_t *)p; break;
    case 2: v = t == T_S16 ? (uint64_t)(int64_t) * (const int16_t *)p : *(const uint16_t *)p; break;
    case 4: v = t == T_S32 ? (uint64_t)(int64_t) * (const int32_t *)p : *(const uint32_t *)p; break;
    default: v = *(const uint64_t *)p; break;
    }
    if (dw == 2)
        AT(uint16_t, r)[i] = (uint16_t)v;
    else if (dw == 4)
        AT(uint32_t, r)[i] = (uint32_t)v;
    else
        AT(uint64_t, r)[i] = v;
}

static void get(const warp *w, uint32_t r, int i, uint8_t t, char *p) {
    switch (width(t)) {
    case 1: *(uint8_t *)p = (uint8_t)AT(uint16_t, r)[i]; break;
    case 2: *(uint16_t *)p = AT(uint16_t, r)[i]; break;
    case 4: *(uint32_t *)p = AT(uint32_t, r)[i]; break;
    default: *(uint64_t *)p = AT(uint64_t, r)[i]; break;
    }
}

// Any space, type and register.
DEFINE(ldany) {
    unsigned size = (unsigned)width(in->dt);
    SLOW(put(w, in->d, in->dw, i, in->dt, place(w, in, address_of(w, in, i), size, i, false)));
}

DEFINE(ldvec) {
    unsigned size = (unsigned)width(in->dt);
    SLOW(char *p = place(w, in, address_of(w, in, i), size * in->n, i, false);
         for (int k = 0; k < in->n; k++) if (in->v[k]) put(w, in->v[k], in->dw, i, in->dt, p + (unsigned)k * size));
}

#define STORE(N, T, S)                                                                        \
    DEFINE(st##N) {                                                                           \
        const uint64_t *a = AT(uint64_t, in->a);                                              \
        const S *d = AT(S, in->d);                                                            \
        uint64_t off = (uint64_t)in->imm;                                                     \
        SLOW(*(T *)place(w, in, a[i] + off, N / 8, i, true) = (T)d[i]);                       \
    }
STORE(8, uint8_t, uint16_t)
STORE(16, uint16_t, uint16_t)
STORE(32, uint32_t, uint32_t)
STORE(64, uint64_t, uint64_t)

// A register of 32 or 64 bits holds its low bytes first, so only one of 8 bits
// would be another matter, and there are none.
DEFINE(stany) {
    unsigned size = (unsigned)width(in->dt);
    SLOW(char *p = place(w, in, address_of(w, in, i), size, i, true);
         uint64_t v = in->dw == 2 ? AT(uint16_t, in->d)[i] : in->dw == 4 ? AT(uint32_t, in->d)[i] : AT(uint64_t, in->d)[i];
         memcpy(p, &v, size));
}

DEFINE(stvec) {
    unsigned size = (unsigned)width(in->dt);
    SLOW(char *p = place(w, in, address_of(w, in, i), size * in->n, i, true);
         for (int k = 0; k < in->n; k++) get(w, in->v[k], i, in->dt, p + (unsigned)k * size));
}

// ldparam reads a kernel's parameter: the same for every lane.
DEFINE(ldparam) {
    const unsigned char *p = w->grid->launch->params + in->imm;
    unsigned size = (unsigned)width(in->dt);
    for (int k = 0; k < in->n; k++)
        SLOW(put(w, in->v[k], in->dw, i, in->dt, (const char *)p + (unsigned)k * size));
}

// A parameter of a function is e bytes of each lane, in the frame from a on.
DEFINE(ldparcel) {
    unsigned size = (unsigned)width(in->dt);
    for (int k = 0; k < in->n; k++)
        SLOW(if (in->v[k]) put(w, in->v[k], in->dw, i, in->dt, w->regs + in->a + (uint32_t)i * in->e + in->imm + (unsigned)k * size));
}

DEFINE(stparcel) {
    unsigned size = (unsigned)width(in->dt);
    for (int k = 0; k < in->n; k++)
        SLOW(uint64_t v = in->dw == 2 ? AT(uint16_t, in->v[k])[i] : in->dw == 4 ? AT(uint32_t, in->v[k])[i] : AT(uint64_t, in->v[k])[i];
             memcpy(w->regs + in->a + (uint32_t)i * in->e + in->imm + (unsigned)k * size, &v, size));
}

static uint32_t next32(const insn *in, uint32_t old, uint32_t b) {
    switch (in->op) {
    case A_ADD: return in->dt == T_F32 ? bits32(float_of(old) + float_of(b)) : old + b;
    case A_MIN: return in->dt == T_S32 ? ((int32_t)old < (int32_t)b ? old : b) : in->dt == T_F32 ? bits32(fminf(float_of(old), float_of(b))) : old < b ? old : b;
    case A_MAX: return in->dt == T_S32 ? ((int32_t)old > (int32_t)b ? old : b) : in->dt == T_F32 ? bits32(fmaxf(float_of(old), float_of(b))) : old > b ? old : b;
    case A_INC: return old >= b ? 0 : old + 1;
    case A_DEC: return !old || old > b ? b : old - 1;
    case A_AND: return old & b;
    case A_OR: return old | b;
    case A_XOR: return old ^ b;
    }
    return b;
}

static uint64_t next64(const insn *in, uint64_t old, uint64_t b) {
    switch (in->op) {
    case A_ADD: return in->dt == T_F64 ? bits64(double_of(old) + double_of(b)) : old + b;
    case A_MIN: return in->dt == T_S64 ? ((int64_t)old < (int64_t)b ? old : b) : old < b ? old : b;
    case A_MAX: return in->dt == T_S64 ? ((int64_t)old > (int64_t)b ? old : b) : old > b ? old : b;
    case A_AND: return old & b;
    case A_OR: return old | b;
    case A_XOR: return old ^ b;
    }
    return b;
}

static uint16_t next16(const insn *in, uint16_t old, uint16_t b) {
    if (in->op != A_ADD)
        return b;
    if (in->dt == T_BF16)
        return double_to_bfloat((double)float_of((uint32_t)old << 16) + (double)float_of((uint32_t)b << 16), RN);
    return double_to_half((double)half_to_float(old) + half_to_float(b), RN);
}

static uint32_t next16x2(const insn *in, uint32_t old, uint32_t b) {
    insn half = *in;
    half.dt = in->dt == T_F16X2 ? T_F16 : T_BF16;
    return next16(&half, (uint16_t)old, (uint16_t)b) | (uint32_t)next16(&half, (uint16_t)(old >> 16), (uint16_t)(b >> 16)) << 16;
}

// RETRY replaces what is at p by what next makes of it, as one step against
// all other threads.
#define RETRY(T, next)                                                                            \
    do {                                                                                          \
        T old_ = __atomic_load_n((T *)p, __ATOMIC_RELAXED), new_;                                 \
        do                                                                                        \
            new_ = next;                                                                          \
        while (!__atomic_compare_exchange_n((T *)p, &old_, new_, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
        got = old_;                                                                               \
    } while (0)

// atom and red (which has no d). b is the operand, c of cas what is put there.
DEFINE(atom) {
    unsigned size = (unsigned)width(in->dt);
    SLOW(char *p = place(w, in, address_of(w, in, i), size, i, true); uint64_t got = 0;
         if (size == 2) {
             uint16_t b = AT(uint16_t, in->b)[i];
             if (in->op == A_CAS)
                 RETRY(uint16_t, old_ == b ? AT(uint16_t, in->c)[i] : old_);
             else
                 RETRY(uint16_t, next16(in, old_, b));
         } else if (size == 4) {
             uint32_t b = AT(uint32_t, in->b)[i];
             if (in->op == A_CAS)
                 RETRY(uint32_t, old_ == b ? AT(uint32_t, in->c)[i] : old_);
             else if (in->dt == T_F16X2 || in->dt == T_BF16X2)
                 RETRY(uint32_t, next16x2(in, old_, b));
             else
                 RETRY(uint32_t, next32(in, old_, b));
         } else {
             uint64_t b = AT(uint64_t, in->b)[i];
             if (in->op == A_CAS)
                 RETRY(uint64_t, old_ == b ? AT(uint64_t, in->c)[i] : old_);
             else
                 RETRY(uint64_t, next64(in, old_, b));
         }
         if (in->d) {
             if (in->dw == 2) AT(uint16_t, in->d)[i] = (uint16_t)got;
             else if (in->dw == 4) AT(uint32_t, in->d)[i] = (uint32_t)got;
             else AT(uint64_t, in->d)[i] = got;
         });
}

// cvta adds the number of a window, or takes it off again.
DEFINE(cvta) { ROWS(uint64_t, uint64_t); uint64_t by = (uint64_t)in->imm; EACH(d[i] = a[i] + by); }

DEFINE(isspacep) {
    uint8_t *d = AT(uint8_t, in->d);
    const uint64_t *a = AT(uint64_t, in->a);
    SLOW(uint64_t window = a[i] & WINDOW_MASK;
         d[i] = in->space == SP_SHARED ? window == SHARED_WINDOW : in->space == SP_LOCAL ? window == LOCAL_WINDOW
                : in->space == SP_PARAM ? window == PARAM_WINDOW : in->space == SP_GLOBAL ? !window || window == WINDOW_MASK : false);
}
