// 16-bit floating point, by hand: not every C compiler has the types.
#include "lanes.h"

float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 1023;
    if (exp == 31)
        return float_of(sign | 0x7f800000 | man << 13);
    if (exp)
        return float_of(sign | (exp + 112) << 23 | man << 13);
    float v = (float)man * 0x1p-24f;
    return sign ? -v : v;
}

// narrow rounds d to a sign, exponent bits with the bias and man mantissa bits,
// once and in the direction asked for.
static uint16_t narrow(double d, int man, int bias, rounding r) {
    uint64_t v = bits64(d);
    uint16_t sign = (uint16_t)(v >> 63 << 15);
    int exp = (int)(v >> 52 & 2047) - 1023;
    uint64_t frac = v & (((uint64_t)1 << 52) - 1);
    uint32_t top = (uint32_t)(2 * bias + 1) << man; // infinity
    if (exp == 1024)
        return frac ? 0x7fff : (uint16_t)(sign | top);
    if (exp == -1023)
        return sign; // zero, and subnormal doubles are too small for all but directed rounding
    frac |= (uint64_t)1 << 52;
    int shift = 52 - man;
    if (exp < 1 - bias)
        shift += 1 - bias - exp;
    uint64_t kept = shift > 63 ? 0 : frac >> shift;
    uint64_t rest = shift > 63 ? 1 : frac & (((uint64_t)1 << shift) - 1), half = shift > 63 ? 2 : (uint64_t)1 << (shift - 1);
    bool up = false;
    switch (r) {
    case RZ: break;
    case RM: up = sign && rest; break;
    case RP: up = !sign && rest; break;
    default: up = rest > half || (rest == half && kept & 1); break;
    }
    kept += up;
    // A mantissa that overflows carries into the exponent, which is right.
    uint64_t out = exp < 1 - bias ? kept : kept + ((uint64_t)(exp + bias - 1) << man);
    if (out >= top) {
        bool largest = r == RZ || (r == RM && !sign) || (r == RP && sign);
        out = largest ? top - 1 : top;
    }
    return (uint16_t)(sign | out);
}

uint16_t double_to_half(double d, rounding r) { return narrow(d, 10, 15, r); }
uint16_t double_to_bfloat(double d, rounding r) { return narrow(d, 7, 127, r); }
uint16_t float_to_half(float f, rounding r) { return narrow((double)f, 10, 15, r); }
