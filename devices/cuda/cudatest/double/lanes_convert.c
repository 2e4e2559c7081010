// Conversions. The frequent ones have loops of their own.
#include "lanes.h"
#include <fenv.h>

DEFINE(cvt_u32_u64) { ROWS(uint64_t, uint32_t); EACH(d[i] = a[i]); }
DEFINE(cvt_s32_s64) { ROWS(int64_t, int32_t); EACH(d[i] = a[i]); }
DEFINE(cvt_64_32) { ROWS(uint32_t, uint64_t); EACH(d[i] = (uint32_t)a[i]); }
DEFINE(cvt_u16_32) { ROWS(uint32_t, uint16_t); EACH(d[i] = a[i]); }
DEFINE(cvt_s16_32) { ROWS(int32_t, int16_t); EACH(d[i] = a[i]); }
DEFINE(cvt_32_16) { ROWS(uint16_t, uint32_t); EACH(d[i] = (uint16_t)a[i]); }
DEFINE(cvt_u8_u32) { ROWS(uint32_t, uint32_t); EACH(d[i] = a[i] & 255); }
DEFINE(cvt_s32_f32) { ROWS(float, int32_t); EACH(d[i] = (float)a[i]); }
DEFINE(cvt_u32_f32) { ROWS(float, uint32_t); EACH(d[i] = (float)a[i]); }
DEFINE(cvt_f32_f64) { ROWS(double, float); EACH(d[i] = (double)a[i]); }
DEFINE(cvt_f64_f32) { ROWS(float, double); EACH(d[i] = (float)a[i]); }
// Towards zero, the nearest where there is none, 0 for a NaN.
DEFINE(cvt_f32_s32) {
    ROWS(int32_t, float);
    EACH(float x = a[i]; d[i] = x >= 0x1p31f ? INT32_MAX : x <= -0x1p31f ? INT32_MIN : x == x ? (int32_t)x : 0);
}

static bool is_float(uint8_t t) { return t == T_F16 || t == T_BF16 || t == T_F32 || t == T_F64; }
static bool is_signed(uint8_t t) { return t == T_S8 || t == T_S16 || t == T_S32 || t == T_S64; }

static int width(uint8_t t) {
    switch (t) {
    case T_U8: case T_S8: case T_B8: return 1;
    case T_U16: case T_S16: case T_B16: case T_F16: case T_BF16: return 2;
    case T_U64: case T_S64: case T_B64: case T_F64: return 8;
    }
    return 4;
}

// raw is a lane of a register of sw bytes.
static uint64_t raw(const warp *w, uint32_t r, int sw, int i) {
    return sw == 2 ? AT(uint16_t, r)[i] : sw == 4 ? AT(uint32_t, r)[i] : AT(uint64_t, r)[i];
}

static uint64_t extend(uint64_t v, uint8_t t) {
    switch (t) {
    case T_S8: return (uint64_t)(int64_t)(int8_t)v;
    case T_S16: return (uint64_t)(int64_t)(int16_t)v;
    case T_S32: return (uint64_t)(int64_t)(int32_t)v;
    case T_U8: case T_B8: return v & 0xff;
    case T_U16: case T_B16: return v & 0xffff;
    case T_U32: case T_B32: return v & 0xffffffff;
    }
    return v;
}

static double number(uint64_t v, uint8_t t) {
    switch (t) {
    case T_F16: return half_to_float((uint16_t)v);
    case T_BF16: return float_of((uint32_t)v << 16);
    case T_F32: return float_of((uint32_t)v);
    }
    return double_of(v);
}

static double integral(double v, uint8_t round) {
    switch (round) {
    case RZI: return trunc(v);
    case RMI: return floor(v);
    case RPI: return ceil(v);
    }
    return nearbyint(v);
}

// to_integer rounds v into the range of t. A NaN gives 0, or the lowest number
// where one of the two types has 64 bits.
static uint64_t to_integer(double v, uint8_t t, uint8_t from, uint8_t round) {
    int bits = 8 * width(t);
    bool sign = is_signed(t);
    if (isnan(v))
        return bits == 64 || from == T_F64 ? (uint64_t)1 << (bits - 1) : 0;
    v = integral(v, round);
    double high = ldexp(1, sign ? bits - 1 : bits), low = sign ? -high : 0;
    uint64_t most = sign ? ((uint64_t)1 << (bits - 1)) - 1 : bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    if (v >= high)
        return most;
    if (v <= low)
        return sign ? (uint64_t)(-(int64_t)most - 1) : 0;
    return sign ? (uint64_t)(int64_t)v : (uint64_t)v;
}

static uint64_t saturate(uint64_t v, uint8_t from, uint8_t to) {
    bool negative = is_signed(from) && (int64_t)v < 0;
    int bits = 8 * width(to);
    uint64_t most = is_signed(to) ? ((uint64_t)1 << (bits - 1)) - 1 : bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    if (negative) {
        int64_t least = is_signed(to) ? -(int64_t)most - 1 : 0;
        return (int64_t)v < least ? (uint64_t)least : v;
    }
    return v > most ? most : v;
}

static double flush(double v, uint8_t t) { return t == T_F32 && fabs(v) < 0x1p-126 ? copysign(0, v) : v; }

static uint64_t from_number(double v, const insn *in) {
    if (in->flags & I_SAT)
        v = v > 0 ? (v < 1 ? v : 1) : 0;
    if (in->flags & I_FTZ)
        v = flush(v, in->dt);
    rounding r = in->round <= RP ? in->round : RN;
    switch (in->dt) {
    case T_F16: return double_to_half(v, r);
    case T_BF16: return double_to_bfloat(v, r);
    case T_F32: {
        volatile float f = (float)v; // in the direction that is set
        float g = f;
        if (in->flags & I_FTZ)
            g = (float)flush(g, T_F32);
        return isnan(g) ? 0x7fffffff : bits32(g);
    }
    }
    return bits64(v);
}

static uint64_t convert(uint64_t v, const insn *in) {
    if (is_float(in->st)) {
        double x = number(v, in->st);
        if (in->flags & I_FTZ)
            x = flush(x, in->st);
        if (!is_float(in->dt))
            return to_integer(x, in->dt, in->st, in->round);
        if (in->round >= RNI && in->round <= RPI)
            x = integral(x, in->round);
        return from_number(x, in);
    }
    v = extend(v, in->st);
    if (!is_float(in->dt))
        return in->flags & I_SAT ? saturate(v, in->st, in->dt) : v;
    if (in->dt == T_F32 && !(in->flags & I_SAT)) { // from 64 bits at once: a double between would round twice
        volatile float f;
        if (is_signed(in->st))
            f = (float)(int64_t)v;
        else
            f = (float)v;
        return bits32(f);
    }
    volatile double x;
    if (is_signed(in->st))
        x = (double)(int64_t)v;
    else
        x = (double)v;
    return from_number(x, in);
}

static const int modes[] = {[RN] = FE_TONEAREST, [RZ] = FE_TOWARDZERO, [RM] = FE_DOWNWARD, [RP] = FE_UPWARD};

DEFINE(cvt) {
    bool directed = in->round == RZ || in->round == RM || in->round == RP;
    if (directed)
        fesetround(modes[in->round]);
    SLOW(uint64_t v = convert(raw(w, in->a, in->sw, i), in);
         if (!is_float(in->dt)) v = extend(v, in->dt);
         if (in->dw == 2) AT(uint16_t, in->d)[i] = (uint16_t)v;
         else if (in->dw == 4) AT(uint32_t, in->d)[i] = (uint32_t)v;
         else AT(uint64_t, in->d)[i] = v);
    if (directed)
        fesetround(FE_TONEAREST);
}

// cvt_pack rounds two floats into one register, a into its upper half.
DEFINE(cvt_pack) {
    ROWS2(uint32_t, float, float);
    bool brain = in->dt == T_BF16X2;
    rounding r = in->round <= RP ? in->round : RN;
    SLOW(double x = a[i]; double y = b[i];
         if (in->cmp) { x = x > 0 ? x : isnan(x) ? x : 0; y = y > 0 ? y : isnan(y) ? y : 0; }
         uint32_t hi = brain ? double_to_bfloat(x, r) : double_to_half(x, r);
         uint32_t lo = brain ? double_to_bfloat(y, r) : double_to_half(y, r);
         d[i] = hi << 16 | lo);
}
