package bridge_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/cudatest"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// TestMath: single precision functions are within the bounds of OpenCL 1.2's
// full profile (section 7.4), as the test double executes what NVRTC makes of
// them. p is positive, a of either sign, u within -1 and 1.
func TestMath(t *testing.T) {
	_, err := nvrtc.Open(nvrtc.Options{})
	devicetest.Require(t, "nvrtc", err)
	m := openMachine(t, &cuda.Driver{Library: cudatest.Build(t)}, cudatest.Require)
	functions := []struct {
		call string
		ulp  float64
		want func(p, a, u float64) float64
	}{
		{"exp(a)", 3, func(p, a, u float64) float64 { return math.Exp(a) }},
		{"exp2(a)", 3, func(p, a, u float64) float64 { return math.Exp2(a) }},
		{"exp10(u)", 3, func(p, a, u float64) float64 { return math.Pow(10, u) }},
		{"expm1(u)", 3, func(p, a, u float64) float64 { return math.Expm1(u) }},
		{"log(p)", 3, func(p, a, u float64) float64 { return math.Log(p) }},
		{"log2(p)", 3, func(p, a, u float64) float64 { return math.Log2(p) }},
		{"log10(p)", 3, func(p, a, u float64) float64 { return math.Log10(p) }},
		{"log1p(p)", 2, func(p, a, u float64) float64 { return math.Log1p(p) }},
		{"sin(a)", 4, func(p, a, u float64) float64 { return math.Sin(a) }},
		{"cos(a)", 4, func(p, a, u float64) float64 { return math.Cos(a) }},
		{"tan(a)", 5, func(p, a, u float64) float64 { return math.Tan(a) }},
		{"asin(u)", 4, func(p, a, u float64) float64 { return math.Asin(u) }},
		{"acos(u)", 4, func(p, a, u float64) float64 { return math.Acos(u) }},
		{"atan(a)", 5, func(p, a, u float64) float64 { return math.Atan(a) }},
		{"atan2(u, a)", 6, func(p, a, u float64) float64 { return math.Atan2(u, a) }},
		{"acospi(u)", 5, func(p, a, u float64) float64 { return math.Acos(u) / math.Pi }},
		{"asinpi(u)", 5, func(p, a, u float64) float64 { return math.Asin(u) / math.Pi }},
		{"atanpi(a)", 5, func(p, a, u float64) float64 { return math.Atan(a) / math.Pi }},
		{"sinpi(u)", 4, func(p, a, u float64) float64 { return math.Sin(math.Pi * u) }},
		{"tanpi(u * 0.25f)", 6, func(p, a, u float64) float64 { return math.Tan(math.Pi * u * 0.25) }},
		{"sinh(a)", 4, func(p, a, u float64) float64 { return math.Sinh(a) }},
		{"cosh(a)", 4, func(p, a, u float64) float64 { return math.Cosh(a) }},
		{"tanh(a)", 5, func(p, a, u float64) float64 { return math.Tanh(a) }},
		{"cbrt(a)", 2, func(p, a, u float64) float64 { return math.Cbrt(a) }},
		{"rsqrt(p)", 2, func(p, a, u float64) float64 { return 1 / math.Sqrt(p) }},
		{"sqrt(p)", 0.5, func(p, a, u float64) float64 { return math.Sqrt(p) }},
		{"p / a", 0.5, func(p, a, u float64) float64 { return p / a }},
		{"fma(p, a, u)", 0.5, func(p, a, u float64) float64 { return p*a + u }},
		{"hypot(p, a)", 4, func(p, a, u float64) float64 { return math.Hypot(p, a) }},
		{"erf(u)", 16, func(p, a, u float64) float64 { return math.Erf(u) }},
		{"erfc(u)", 16, func(p, a, u float64) float64 { return math.Erfc(u) }},
		{"tgamma(p)", 16, func(p, a, u float64) float64 { return math.Gamma(p) }},
		{"pow(p, u)", 16, func(p, a, u float64) float64 { return math.Pow(p, u) }},
		{"powr(p, u)", 16, func(p, a, u float64) float64 { return math.Pow(p, u) }},
		{"pown(a, 5)", 16, func(p, a, u float64) float64 { return math.Pow(a, 5) }},
		{"rootn(a, 3)", 16, func(p, a, u float64) float64 { return math.Cbrt(a) }},
	}
	var text strings.Builder
	text.WriteString("__kernel void compute(__global const float *in, __global float *out) {\n  size_t i = get_global_id(0);\n  float p = in[3 * i], a = in[3 * i + 1], u = in[3 * i + 2];\n")
	for k, f := range functions {
		fmt.Fprintf(&text, "  out[i * %d + %d] = %s;\n", len(functions), k, f.call)
	}
	text.WriteString("}\n")
	prog, err := m.dev.Compile(t.Context(), &devices.Source{Name: "math.cl", Language: devices.LangOpenCL, Text: []byte(text.String())})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	const seed, n = 5, 512
	rng := rand.New(rand.NewPCG(seed, 1))
	in := make([]byte, 12*n)
	values := make([]float32, 3*n)
	for i := range n {
		values[3*i], values[3*i+1], values[3*i+2] = float32(0.01+rng.Float64()*9), float32(rng.Float64()*20-10), float32(rng.Float64()*2-1)
	}
	for i, v := range values {
		binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(v))
	}
	out := m.run(prog, &launch{entry: "compute", ranges: line(n, 64), in: in, words: n * len(functions)})
	for k, f := range functions {
		worst, at := 0.0, 0
		for i := range n {
			got := float64(math.Float32frombits(binary.LittleEndian.Uint32(out[4*(i*len(functions)+k):])))
			want := f.want(float64(values[3*i]), float64(values[3*i+1]), float64(values[3*i+2]))
			_, exponent := math.Frexp(want)
			error := math.Abs(got-want) / math.Ldexp(1, max(exponent-24, -149))
			if !(error <= worst) { // NaN too
				worst, at = error, i
			}
		}
		// The reference has an error of its own, of some 2^-29 of the float's last digit.
		if !(worst <= f.ulp+1e-6) {
			t.Errorf("%s is off by %.3g units in the last place at p=%v a=%v u=%v, OpenCL allows %g (seed %d)", f.call, worst, values[3*at], values[3*at+1], values[3*at+2], f.ulp, seed)
		}
	}
	if err := prog.Close(); err != nil {
		t.Error(err)
	}
}
