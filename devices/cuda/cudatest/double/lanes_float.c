// Floating point. What rounds to nearest and does nothing else has loops of
// its own; everything with a modifier goes through the functions named any.
#include "lanes.h"
#include "floatop.h"
#include <fenv.h>

#define UNARY(name, T, expr) \
    DEFINE(name) { ROWS(T, T); EACH(T x = a[i]; d[i] = (expr)); }
#define BINARY(name, T, expr) \
    DEFINE(name) { ROWS2(T, T, T); EACH(T x = a[i]; T y = b[i]; d[i] = (expr)); }

BINARY(addf32, float, x + y)
BINARY(addf64, double, x + y)
BINARY(subf32, float, x - y)
BINARY(subf64, double, x - y)
BINARY(mulf32, float, x *y)
BINARY(mulf64, double, x *y)
BINARY(divf32, float, x / y)
BINARY(divf64, double, x / y)
UNARY(sqrtf32, float, sqrtf(x))
UNARY(sqrtf64, double, sqrt(x))
DEFINE(fmaf32) { ROWS3(float, float, float, float); EACH(d[i] = fmaf(a[i], b[i], c[i])); }
DEFINE(fmaf64) { ROWS3(double, double, double, double); EACH(d[i] = fma(a[i], b[i], c[i])); }

#define SIGNS(N, U)                                              \
    DEFINE(absf##N) { ROWS(U, U); EACH(d[i] = a[i] & ~((U)1 << (N - 1))); } \
    DEFINE(negf##N) { ROWS(U, U); EACH(d[i] = a[i] ^ (U)1 << (N - 1)); }    \
    DEFINE(copysignf##N) {                                       \
        ROWS2(U, U, U); /* the sign is a's, the rest b's */      \
        const U s = (U)1 << (N - 1);                             \
        EACH(d[i] = (a[i] & s) | (b[i] & ~s));                   \
    }
SIGNS(32, uint32_t)
SIGNS(64, uint64_t)

// The lesser of two where -0 is less than +0 and a NaN is no number.
#define LEAST(T, x, y) ((x) != (x) ? (y) : (y) != (y) ? (x) : (x) < (y) || ((x) == (y) && signbit(x)) ? (x) : (y))
#define MOST(T, x, y) ((x) != (x) ? (y) : (y) != (y) ? (x) : (x) > (y) || ((x) == (y) && !signbit(x)) ? (x) : (y))
BINARY(minf32, float, LEAST(float, x, y))
BINARY(minf64, double, LEAST(double, x, y))
BINARY(maxf32, float, MOST(float, x, y))
BINARY(maxf64, double, MOST(double, x, y))


#define FLUSH32(x) (in->flags & I_FTZ && fabsf(x) < 0x1p-126f ? copysignf(0, x) : (x))
#define FLUSH64(x) (in->flags & I_FTZ && fabs(x) < 0x1p-1022 ? copysign(0, x) : (x))

static const int modes[] = {[RN] = FE_TONEAREST, [RZ] = FE_TOWARDZERO, [RM] = FE_DOWNWARD, [RP] = FE_UPWARD};

// upper keeps the half of a double that the hardware's approximations give.
static double upper(double v) { return isnan(v) ? v : double_of(bits64(v) & 0xffffffff00000000u); }

static float one32(const insn *in, float x, float y, float z) {
    volatile float a = x, b = y, c = z, v;
    switch (in->op) {
    case F_ADD: v = a + b; break;
    case F_SUB: v = a - b; break;
    case F_MUL: v = a * b; break;
    case F_FMA: v = fmaf(a, b, c); break;
    case F_DIV: v = a / b; break;
    case F_RCP: v = 1 / a; break;
    case F_SQRT: v = sqrtf(a); break;
    case F_RSQRT: v = (float)(1 / sqrt((double)a)); break;
    case F_EX2: v = (float)exp2((double)a); break;
    case F_LG2: v = (float)log2((double)a); break;
    case F_SIN: v = (float)sin((double)a); break;
    case F_COS: v = (float)cos((double)a); break;
    case F_TANH: v = (float)tanh((double)a); break;
    case F_MIN: v = in->bop && (a != a || b != b) ? NAN : LEAST(float, x, y); break;
    case F_MAX: v = in->bop && (a != a || b != b) ? NAN : MOST(float, x, y); break;
    case F_ABS: v = fabsf(a); break;
    case F_NEG: v = -a; break;
    default: v = x; break;
    }
    return v;
}

DEFINE(anyf32) {
    ROWS(float, float);
    const float *b = in->b ? AT(float, in->b) : a, *c = in->c ? AT(float, in->c) : a;
    bool directed = in->round == RZ || in->round == RM || in->round == RP;
    if (directed)
        fesetround(modes[in->round]);
    SLOW(float v = one32(in, FLUSH32(a[i]), FLUSH32(b[i]), FLUSH32(c[i])); v = FLUSH32(v);
         if (in->flags & I_SAT) v = v > 0 ? (v < 1 ? v : 1) : 0;
         d[i] = v);
    if (directed)
        fesetround(FE_TONEAREST);
}

static double one64(const insn *in, double x, double y, double z) {
    volatile double a = x, b = y, c = z, v;
    switch (in->op) {
    case F_ADD: v = a + b; break;
    case F_SUB: v = a - b; break;
    case F_MUL: v = a * b; break;
    case F_FMA: v = fma(a, b, c); break;
    case F_DIV: v = a / b; break;
    case F_RCP: v = in->cmp ? upper(1 / upper(a)) : 1 / a; break;
    case F_SQRT: v = sqrt(a); break;
    case F_RSQRT: v = in->cmp ? upper(1 / sqrt(upper(a))) : 1 / sqrt(a); break;
    case F_MIN: v = LEAST(double, x, y); break;
    case F_MAX: v = MOST(double, x, y); break;
    case F_ABS: v = fabs(a); break;
    case F_NEG: v = -a; break;
    default: v = x; break;
    }
    return v;
}

DEFINE(anyf64) {
    ROWS(double, double);
    const double *b = in->b ? AT(double, in->b) : a, *c = in->c ? AT(double, in->c) : a;
    bool directed = in->round == RZ || in->round == RM || in->round == RP;
    if (directed)
        fesetround(modes[in->round]);
    SLOW(double v = one64(in, FLUSH64(a[i]), FLUSH64(b[i]), FLUSH64(c[i])); d[i] = FLUSH64(v));
    if (directed)
        fesetround(FE_TONEAREST);
}

// fma_odd is a*b+c with the last bit set where it is not exact: rounding that
// to 11 bits is rounding the exact value. The product of two halves is exact.
static double fma_odd(double a, double b, double c) {
    double p = a * b, s = p + c;
    double t = s - p, e = (p - (s - t)) + (c - t);
    uint64_t v = bits64(s);
    if (e == 0 || !isfinite(s) || v & 1)
        return s;
    return double_of((e > 0) == (s > 0) ? v | 1 : v - 1);
}

static double widen(const insn *in, uint16_t h) {
    bool brain = in->st == T_BF16 || in->st == T_BF16X2;
    float f = brain ? float_of((uint32_t)h << 16) : half_to_float(h);
    if (in->flags & I_FTZ && !brain && fabsf(f) < 0x1p-14f)
        f = copysignf(0, f);
    return f;
}

static uint16_t one16(const insn *in, uint16_t ah, uint16_t bh, uint16_t ch) {
    double a = widen(in, ah), b = widen(in, bh), c = widen(in, ch), v;
    bool brain = in->st == T_BF16 || in->st == T_BF16X2;
    switch (in->op) {
    case F_ADD: v = a + b; break;
    case F_SUB: v = a - b; break;
    case F_MUL: v = a * b; break;
    case F_FMA: v = fma_odd(a, b, c); break;
    case F_MIN: v = in->bop && (a != a || b != b) ? NAN : LEAST(double, a, b); break;
    case F_MAX: v = in->bop && (a != a || b != b) ? NAN : MOST(double, a, b); break;
    case F_EX2: v = exp2(a); break;
    case F_TANH: v = tanh(a); break;
    case F_ABS: return ah & 0x7fff;
    case F_NEG: return ah ^ 0x8000;
    default: v = a; break;
    }
    if (in->flags & I_SAT)
        v = v > 0 ? (v < 1 ? v : 1) : 0;
    if (in->flags & I_FTZ && !brain && fabs(v) < 0x1p-14)
        v = copysign(0, v);
    return brain ? double_to_bfloat(v, RN) : double_to_half(v, RN);
}

DEFINE(f16op) {
    ROWS(uint16_t, uint16_t);
    const uint16_t *b = in->b ? AT(uint16_t, in->b) : a, *c = in->c ? AT(uint16_t, in->c) : a;
    SLOW(d[i] = one16(in, a[i], b[i], c[i]));
}

DEFINE(f16x2op) {
    ROWS(uint32_t, uint32_t);
    const uint32_t *b = in->b ? AT(uint32_t, in->b) : a, *c = in->c ? AT(uint32_t, in->c) : a;
    SLOW(uint32_t lo = one16(in, (uint16_t)a[i], (uint16_t)b[i], (uint16_t)c[i]);
         d[i] = lo | (uint32_t)one16(in, (uint16_t)(a[i] >> 16), (uint16_t)(b[i] >> 16), (uint16_t)(c[i] >> 16)) << 16);
}

DEFINE(testp) {
    uint8_t *d = AT(uint8_t, in->d);
    SLOW(double v = in->st == T_F32 ? AT(float, in->a)[i] : AT(double, in->a)[i]; bool r = false;
         bool tiny = in->st == T_F32 ? v != 0 && fabs(v) < 0x1p-126 : v != 0 && fabs(v) < 0x1p-1022;
         switch (in->op) {
         case P_FINITE: r = isfinite(v); break;
         case P_INFINITE: r = isinf(v); break;
         case P_NUMBER: r = !isnan(v); break;
         case P_NOTANUMBER: r = isnan(v); break;
         case P_NORMAL: r = isfinite(v) && v != 0 && !tiny; break;
         case P_SUBNORMAL: r = tiny; break;
         } d[i] = r);
}
