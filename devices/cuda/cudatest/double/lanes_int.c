// Integers, bits and predicates.
#include "lanes.h"

#define UNARY(name, T, expr) \
    DEFINE(name) { ROWS(T, T); EACH(T x = a[i]; d[i] = (T)(expr)); }
#define BINARY(name, T, expr) \
    DEFINE(name) { ROWS2(T, T, T); EACH(T x = a[i]; T y = b[i]; d[i] = (T)(expr)); }
#define SHIFT(name, T, expr) \
    DEFINE(name) { ROWS2(T, T, uint32_t); EACH(T x = a[i]; uint32_t y = b[i]; d[i] = (T)(expr)); }
#define THREE(name, T, expr) \
    DEFINE(name) { ROWS3(T, T, T, T); EACH(T x = a[i]; T y = b[i]; T z = c[i]; d[i] = (T)(expr)); }

// Division by zero has no defined result; the hardware's is all ones, and the
// dividend as the remainder.
#define INTEGER(N, U, S, UW, SW)                                                    \
    UNARY(mov##N, U, x)                                                             \
    UNARY(not##N, U, ~x)                                                            \
    UNARY(cnot##N, U, x == 0)                                                       \
    UNARY(neg##N, U, -(UW)x)                                                        \
    UNARY(abs##N, S, x < 0 ? -(UW)x : (UW)x)                                        \
    BINARY(add##N, U, (UW)x + y)                                                    \
    BINARY(sub##N, U, (UW)x - y)                                                    \
    BINARY(mul##N, U, (UW)x *y)                                                     \
    BINARY(and##N, U, x &y)                                                         \
    BINARY(or##N, U, x | y)                                                         \
    BINARY(xor##N, U, x ^ y)                                                        \
    BINARY(minu##N, U, x < y ? x : y)                                               \
    BINARY(maxu##N, U, x > y ? x : y)                                               \
    BINARY(mins##N, S, x < y ? x : y)                                               \
    BINARY(maxs##N, S, x > y ? x : y)                                               \
    BINARY(divu##N, U, y ? x / y : (U) ~(U)0)                                       \
    BINARY(remu##N, U, y ? x % y : x)                                               \
    BINARY(divs##N, S, !y ? (S)-1 : y == -1 ? (S)(-(UW)x) : x / y)                  \
    BINARY(rems##N, S, !y ? x : y == -1 ? (S)0 : x % y)                             \
    BINARY(mulhiu##N, U, (UW)((unsigned SW)x * y >> N))                             \
    BINARY(mulhis##N, S, (UW)((SW)x * y >> N))                                      \
    SHIFT(shl##N, U, y >= N ? (U)0 : (U)((UW)x << y))                               \
    SHIFT(shru##N, U, y >= N ? (U)0 : (U)(x >> y))                                  \
    SHIFT(shrs##N, S, x >> (y >= N ? N - 1 : y))                                    \
    THREE(madlo##N, U, (UW)x *y + z)                                                \
    THREE(madhiu##N, U, (UW)((unsigned SW)x * y >> N) + z)                          \
    THREE(madhis##N, S, (UW)((SW)x * y >> N) + (UW)z)                               \
    DEFINE(sel##N) {                                                                \
        ROWS3(U, U, U, uint8_t);                                                    \
        EACH(U x = a[i]; U y = b[i]; d[i] = c[i] ? x : y);                          \
    }

INTEGER(16, uint16_t, int16_t, uint32_t, int)
INTEGER(32, uint32_t, int32_t, uint32_t, long)
INTEGER(64, uint64_t, int64_t, uint64_t, __int128)

#define WIDEN(name, D, T, expr) \
    DEFINE(name) { ROWS2(D, T, T); const D *c = AT(D, in->c); (void)c; EACH(D x = a[i]; D y = b[i]; d[i] = (D)(expr)); }
WIDEN(mulwideu16, uint32_t, uint16_t, x *y)
WIDEN(mulwides16, int32_t, int16_t, x *y)
WIDEN(mulwideu32, uint64_t, uint32_t, x *y)
WIDEN(mulwides32, int64_t, int32_t, x *y)
WIDEN(madwideu16, uint32_t, uint16_t, x *y + c[i])
WIDEN(madwides16, int32_t, int16_t, (uint32_t)(x * y) + (uint32_t)c[i])
WIDEN(madwideu32, uint64_t, uint32_t, x *y + c[i])
WIDEN(madwides32, int64_t, int32_t, (uint64_t)(x * y) + (uint64_t)c[i])

static inline int32_t clamp32(int64_t v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v; }
BINARY(addsat32, int32_t, clamp32((int64_t)x + y))
BINARY(subsat32, int32_t, clamp32((int64_t)x - y))

// Additions with carry. Bit 0 of op: takes the carry; bit 1: leaves one.
#define CARRY(N, T, W)                                                              \
    DEFINE(addc##N) {                                                               \
        ROWS2(T, T, T);                                                             \
        SLOW(W v = (W)a[i] + b[i] + (in->op & 1 ? w->cc[i] : 0); d[i] = (T)v;       \
             if (in->op & 2) w->cc[i] = (uint8_t)(v >> N & 1));                     \
    }                                                                               \
    DEFINE(subc##N) {                                                               \
        ROWS2(T, T, T);                                                             \
        SLOW(W v = (W)a[i] - b[i] - (in->op & 1 ? w->cc[i] : 0); d[i] = (T)v;       \
             if (in->op & 2) w->cc[i] = (uint8_t)(v >> N & 1));                     \
    }
CARRY(32, uint32_t, uint64_t)
CARRY(64, uint64_t, unsigned __int128)

// The high half of a product is chosen by bit 2 of op, signed by bit 3.
DEFINE(madc32) {
    ROWS3(uint32_t, uint32_t, uint32_t, uint32_t);
    SLOW(uint64_t p = in->op & 8 ? (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]) : (uint64_t)a[i] * b[i];
         uint64_t v = (uint32_t)(in->op & 4 ? p >> 32 : p) + (uint64_t)c[i] + (in->op & 1 ? w->cc[i] : 0); d[i] = (uint32_t)v;
         if (in->op & 2) w->cc[i] = (uint8_t)(v >> 32 & 1));
}
DEFINE(madc64) {
    ROWS3(uint64_t, uint64_t, uint64_t, uint64_t);
    SLOW(unsigned __int128 p = in->op & 8 ? (unsigned __int128)((__int128)(int64_t)a[i] * (int64_t)b[i]) : (unsigned __int128)a[i] * b[i];
         unsigned __int128 v = (unsigned __int128)(uint64_t)(in->op & 4 ? p >> 64 : p) + c[i] + (in->op & 1 ? w->cc[i] : 0);
         d[i] = (uint64_t)v; if (in->op & 2) w->cc[i] = (uint8_t)(v >> 64 & 1));
}

#define COUNT(name, T, expr) \
    DEFINE(name) { ROWS(uint32_t, T); EACH(T x = a[i]; d[i] = (uint32_t)(expr)); }
COUNT(popc32, uint32_t, __builtin_popcount(x))
COUNT(popc64, uint64_t, __builtin_popcountll(x))
COUNT(clz32, uint32_t, x ? __builtin_clz(x) : 32)
COUNT(clz64, uint64_t, x ? __builtin_clzll(x) : 64)

static inline uint64_t reverse(uint64_t x) {
    x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    return __builtin_bswap64(x);
}
UNARY(brev32, uint32_t, reverse(x) >> 32)
UNARY(brev64, uint64_t, reverse(x))

// value widens lane i of a source of the instruction's type.
static inline uint64_t value(const warp *w, uint32_t r, uint8_t t, int i) {
    switch (t) {
    case T_S16: return (uint64_t)(int64_t)AT(int16_t, r)[i];
    case T_U16: case T_B16: return AT(uint16_t, r)[i];
    case T_S32: return (uint64_t)(int64_t)AT(int32_t, r)[i];
    case T_U32: case T_B32: return AT(uint32_t, r)[i];
    }
    return AT(uint64_t, r)[i];
}

static inline void put(const warp *w, uint32_t r, uint8_t t, int i, uint64_t v) {
    switch (t) {
    case T_S16: case T_U16: case T_B16: AT(uint16_t, r)[i] = (uint16_t)v; return;
    case T_S32: case T_U32: case T_B32: case T_F32: AT(uint32_t, r)[i] = (uint32_t)v; return;
    }
    AT(uint64_t, r)[i] = v;
}

// bfind: the highest bit that differs from the sign; SHIFTED counts from the top.
DEFINE(bfind) {
    uint32_t *d = AT(uint32_t, in->d);
    int top = in->st == T_U64 || in->st == T_S64 ? 63 : 31;
    SLOW(uint64_t x = value(w, in->a, in->st, i); if ((int64_t)x < 0 && (in->st == T_S32 || in->st == T_S64)) x = ~x;
         int p = x ? 63 - __builtin_clzll(x) : -1; d[i] = (uint32_t)(p >= 0 && in->flags & I_SHIFTED ? top - p : p));
}

DEFINE(bfe) {
    const uint32_t *b = AT(uint32_t, in->b), *c = AT(uint32_t, in->c);
    bool is64 = in->st == T_U64 || in->st == T_S64, is_signed = in->st == T_S32 || in->st == T_S64;
    unsigned msb = is64 ? 63 : 31;
    SLOW(uint64_t x = value(w, in->a, is64 ? T_U64 : T_U32, i); unsigned pos = b[i] & 255; unsigned len = c[i] & 255;
         unsigned top = pos + len ? pos + len - 1 : 0; if (top > msb) top = msb;
         bool sign = is_signed && len && x >> top & 1; uint64_t v = pos > msb ? 0 : x >> pos;
         unsigned have = pos > msb ? 0 : msb - pos + 1; unsigned keep = len < have ? len : have;
         uint64_t low = keep >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << keep) - 1; v = (v & low) | (sign ? ~low : 0);
         put(w, in->d, in->st, i, v));
}

#define INSERT(name, T, N)                                                                                    \
    DEFINE(name) {                                                                                            \
        ROWS2(T, T, T);                                                                                       \
        const uint32_t *c = AT(uint32_t, in->c), *e = AT(uint32_t, in->e);                                    \
        SLOW(unsigned pos = c[i] & 255; unsigned len = e[i] & 255; T low = len >= N ? (T) ~(T)0 : ((T)1 << len) - 1; \
             T at = pos >= N ? 0 : (T)(low << pos); T v = pos >= N ? 0 : (T)(a[i] << pos); d[i] = (b[i] & ~at) | (v & at)); \
    }
INSERT(bfi32, uint32_t, 32)
INSERT(bfi64, uint64_t, 64)

DEFINE(prmt) {
    ROWS3(uint32_t, uint32_t, uint32_t, uint32_t);
    EACH(uint64_t all = (uint64_t)b[i] << 32 | a[i]; uint32_t v = 0; uint32_t s = c[i];
         for (int k = 0; k < 4; k++) {
             uint32_t pick = s >> 4 * k & 15;
             uint32_t byte = (uint32_t)(all >> 8 * (pick & 7)) & 255;
             if (pick & 8)
                 byte = byte & 128 ? 255 : 0;
             v |= byte << 8 * k;
         } d[i] = v);
}

// shf: op 1 shifts left; SAT stands for clamped amounts.
DEFINE(shf) {
    ROWS3(uint32_t, uint32_t, uint32_t, uint32_t);
    EACH(uint64_t x = (uint64_t)b[i] << 32 | a[i]; uint32_t n = in->flags & I_SAT ? (c[i] > 32 ? 32 : c[i]) : c[i] & 31;
         d[i] = in->op ? (uint32_t)(x << n >> 32) : (uint32_t)(x >> n));
}

DEFINE(lop3) {
    ROWS3(uint32_t, uint32_t, uint32_t, uint32_t);
    uint32_t lut = (uint32_t)in->imm;
    EACH(uint32_t v = 0; uint32_t x = a[i]; uint32_t y = b[i]; uint32_t z = c[i];
         for (uint32_t k = 0; k < 8; k++) v |= (lut >> k & 1 ? FULL : 0) & (k & 4 ? x : ~x) & (k & 2 ? y : ~y) & (k & 1 ? z : ~z);
         d[i] = v);
}

// dp4a and dp2a: st and dt are the types of a and b.
static inline int32_t byte_at(uint32_t v, int k, bool sign) {
    uint32_t x = v >> 8 * k & 255;
    return sign ? (int8_t)x : (int32_t)x;
}
DEFINE(dp4a) {
    ROWS3(uint32_t, uint32_t, uint32_t, uint32_t);
    bool as = in->st == T_S32, bs = in->dt == T_S32;
    EACH(uint32_t v = c[i]; for (int k = 0; k < 4; k++) v += (uint32_t)(byte_at(a[i], k, as) * byte_at(b[i], k, bs)); d[i] = v);
}
DEFINE(dp2a) {
    ROWS3(uint32_t, uint32_t, uint32_t, uint32_t);
    bool as = in->st == T_S32, bs = in->dt == T_S32;
    int from = in->op ? 2 : 0; // hi takes the upper bytes of b
    EACH(uint32_t v = c[i]; for (int k = 0; k < 2; k++) {
        int32_t x = as ? (int32_t)(int16_t)(a[i] >> 16 * k) : (int32_t)(uint16_t)(a[i] >> 16 * k);
        v += (uint32_t)(x * byte_at(b[i], from + k, bs));
    } d[i] = v);
}

DEFINE(sad) {
    bool is_signed = in->st == T_S16 || in->st == T_S32 || in->st == T_S64;
    SLOW(uint64_t x = value(w, in->a, in->st, i); uint64_t y = value(w, in->b, in->st, i);
         bool less = is_signed ? (int64_t)x < (int64_t)y : x < y;
         put(w, in->d, in->st, i, value(w, in->c, in->st, i) + (less ? y - x : x - y)));
}

// mul24 and mad24 (which adds c): op 1 takes bits 47 to 16.
DEFINE(mul24) {
    ROWS2(uint32_t, uint32_t, uint32_t);
    const uint32_t *c = in->c ? AT(uint32_t, in->c) : NULL;
    SLOW(int64_t x = in->st == T_S32 ? (int32_t)(a[i] << 8) >> 8 : (int64_t)(a[i] & 0xffffff);
         int64_t y = in->st == T_S32 ? (int32_t)(b[i] << 8) >> 8 : (int64_t)(b[i] & 0xffffff);
         uint64_t p = (uint64_t)(x * y); d[i] = (uint32_t)(in->op ? p >> 16 : p) + (c ? c[i] : 0));
}

// slct: a where c is at least 0.
DEFINE(slct) {
    SLOW(bool first = in->st == T_F32 ? AT(float, in->c)[i] >= 0 : AT(int32_t, in->c)[i] >= 0;
         if (in->dw == 2) AT(uint16_t, in->d)[i] = AT(uint16_t, first ? in->a : in->b)[i];
         else if (in->dw == 4) AT(uint32_t, in->d)[i] = AT(uint32_t, first ? in->a : in->b)[i];
         else AT(uint64_t, in->d)[i] = AT(uint64_t, first ? in->a : in->b)[i]);
}

// pack makes a register of n narrower ones, unpack the other way. sw is the
// narrow width. A v of 0 in unpack is thrown away.
DEFINE(pack) {
    SLOW(uint64_t x = 0; for (int k = 0; k < in->n; k++) {
        uint64_t part = in->sw == 1 ? AT(uint16_t, in->v[k])[i] & 255u : in->sw == 2 ? AT(uint16_t, in->v[k])[i] : in->sw == 4 ? AT(uint32_t, in->v[k])[i] : AT(uint64_t, in->v[k])[i];
        x |= part << 8 * in->sw * k;
    } if (in->dw == 2) AT(uint16_t, in->d)[i] = (uint16_t)x;
      else if (in->dw == 4) AT(uint32_t, in->d)[i] = (uint32_t)x;
      else AT(uint64_t, in->d)[i] = x);
}
DEFINE(unpack) {
    SLOW(uint64_t x = in->dw == 2 ? AT(uint16_t, in->a)[i] : in->dw == 4 ? AT(uint32_t, in->a)[i] : AT(uint64_t, in->a)[i];
         for (int k = 0; k < in->n; k++) {
             uint64_t part = x >> 8 * in->sw * k;
             if (!in->v[k])
                 continue;
             if (in->sw == 1)
                 AT(uint16_t, in->v[k])[i] = part & 255;
             else if (in->sw == 2)
                 AT(uint16_t, in->v[k])[i] = (uint16_t)part;
             else if (in->sw == 4)
                 AT(uint32_t, in->v[k])[i] = (uint32_t)part;
             else
                 AT(uint64_t, in->v[k])[i] = part;
         });
}

UNARY(movp, uint8_t, x)
UNARY(notp, uint8_t, !x)
BINARY(andp, uint8_t, x &y)
BINARY(orp, uint8_t, x | y)
BINARY(xorp, uint8_t, x ^ y)
