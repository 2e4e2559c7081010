package arrayfile

import "math"

// halfToFloat widens an IEEE 754 half-precision number, exactly.
func halfToFloat(b uint16) float64 {
	sign := 1.0
	if b&0x8000 != 0 {
		sign = -1
	}
	exp, frac := int(b>>10&31), float64(b&1023)
	switch exp {
	case 0:
		return math.Copysign(math.Ldexp(frac, -24), sign)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

// floatToHalf rounds to the nearest half-precision number, ties to even. What
// is too large becomes an infinity.
func floatToHalf(f float64) uint16 {
	sign := uint16(0)
	if math.Signbit(f) {
		sign, f = 0x8000, -f
	}
	switch {
	case math.IsNaN(f):
		return sign | 0x7e00
	case f >= 65520: // halfway between the largest number and the next
		return sign | 0x7c00
	case f < 0x1p-14: // subnormal: a multiple of 2^-24; rounds up into the normal ones by itself
		return sign | uint16(math.RoundToEven(math.Ldexp(f, 24)))
	}
	frac, exp := math.Frexp(f) // f = frac * 2^exp, 0.5 <= frac < 1
	m := uint16(math.RoundToEven(math.Ldexp(frac, 11)))
	// m is 1024 up to 2048; 2048 carries into the exponent.
	return sign | (uint16(exp+14)<<10 + m - 1024)
}
