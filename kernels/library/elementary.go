package library

import "math"

// Elementary functions of float32 from additions, multiplications and bit
// patterns only. Division, square root and the library functions of OpenCL C
// may differ in the last bits from device to device (OpenCL 1.2, section 7.4);
// these do not. Every product is converted explicitly, which keeps the compiler
// from fusing it with a sum, also one in a caller. They are fast rather than careful: the argument has to be in
// the range that each one states.

// reciprocal is 1/x for normal x below 2^126, within 2 ulp: Newton's iteration
// from a first guess by bit pattern.
func reciprocal(x float32) float32 {
	y := math.Float32frombits(0x7ef311c7 - math.Float32bits(x))
	y *= 2 - float32(x*y)
	y *= 2 - float32(x*y)
	y *= 2 - float32(x*y)
	return float32(y)
}

// root is the square root of x ≥ 0, within 3 ulp: x times its inverse root,
// from Newton's iteration after Lomont's guess ("Fast inverse square root",
// 2003).
func root(x float32) float32 {
	h := 0.5 * x
	y := math.Float32frombits(0x5f375a86 - math.Float32bits(x)>>1)
	y *= 1.5 - float32(float32(h*y)*y)
	y *= 1.5 - float32(float32(h*y)*y)
	y *= 1.5 - float32(float32(h*y)*y)
	return float32(x * y)
}

// exponential is e^x, within 2 ulp, for x cut to [-87, 88]. Polynomial and
// reduction are those of expf in Moshier's Cephes library. Adding and taking
// away 1.5·2^23 rounds to an integer; added once more with 127, the integer
// stands in the low bits of the sum, where the exponent is made of it.
func exponential(x float32) float32 {
	if x < -87 {
		x = -87
	}
	if x > 88 {
		x = 88
	}
	n := (float32(x*1.44269504) + 12582912) - 12582912
	r := (x - float32(n*0.693359375)) - float32(n*-2.12194440e-4)
	p := float32(1.9875691500e-4)
	p = float32(p*r) + 1.3981999507e-3
	p = float32(p*r) + 8.3334519073e-3
	p = float32(p*r) + 4.1665795894e-2
	p = float32(p*r) + 1.6666665459e-1
	p = float32(p*r) + 5.0000001201e-1
	p = (float32(p*float32(r*r)) + r) + 1
	return float32(p * math.Float32frombits(math.Float32bits(n+12583039)<<23))
}

// logarithm is the natural logarithm of normal x > 0, within 2 ulp or 1e-7,
// whichever is more. The mantissa is taken from [√½, √2); the polynomial is
// that of logf in Cephes.
func logarithm(x float32) float32 {
	bits := math.Float32bits(x) - 0x3f3504f3
	n := float32(int32(bits) >> 23)
	m := math.Float32frombits(bits&0x007fffff+0x3f3504f3) - 1
	z := m * m
	p := float32(7.0376836292e-2)
	p = float32(p*m) - 1.1514610310e-1
	p = float32(p*m) + 1.1676998740e-1
	p = float32(p*m) - 1.2420140846e-1
	p = float32(p*m) + 1.4249322787e-1
	p = float32(p*m) - 1.6668057665e-1
	p = float32(p*m) + 2.0000714765e-1
	p = float32(p*m) - 2.4999993993e-1
	p = float32(p*m) + 3.3333331174e-1
	p = float32(float32(p*m) * z)
	p += float32(n * -2.12194440e-4)
	p -= float32(0.5 * z)
	return (m + p) + float32(n*0.693359375)
}

// tail is the normal distribution function of -|d|, within 5e-7: formula
// 26.2.17 of Abramowitz and Stegun, "Handbook of Mathematical Functions".
func tail(d float32) float32 {
	a := math.Float32frombits(math.Float32bits(d) &^ (1 << 31))
	k := reciprocal(1 + float32(0.2316419*a))
	p := float32(1.330274429)
	p = float32(p*k) - 1.821255978
	p = float32(p*k) + 1.781477937
	p = float32(p*k) - 0.356563782
	p = float32(p*k) + 0.319381530
	return float32(float32(p*k) * float32(0.398942280*exponential(float32(-0.5*a)*a)))
}
