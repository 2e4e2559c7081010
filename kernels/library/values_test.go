package library

import (
	"crypto/sha256"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// photograph is testdata/camera.png (CC0, by Lav Varshney), 512 by 512, gray.
func photograph(t testing.TB) *buf {
	f, err := os.Open("testdata/camera.png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	g := img.(*image.Gray)
	b := newBuf(devices.Uint8, 512, 512)
	for y := range 512 {
		copy(b.data[y*512:(y+1)*512], g.Pix[y*g.Stride:])
	}
	return b
}

// sum is the beginning of the SHA-256 of the contents.
func sum(b *buf) string { return fmt.Sprintf("%x", sha256.Sum256(b.data))[:16] }

// goldenPictures runs the image kernels one after the other on the photograph.
func goldenPictures(t testing.TB, exec executor) map[string]string {
	src := photograph(t)
	got := map[string]string{"src": sum(src)}
	color := newBuf(devices.Uint8, 512, 512, 3)
	for i, v := range src.data {
		color.data[3*i], color.data[3*i+1], color.data[3*i+2] = v, 255-v, v/2
	}
	gray, blurred, edges, black := newBuf(devices.Uint8, 512, 512), newBuf(devices.Uint8, 512, 512), newBuf(devices.Uint8, 512, 512), newBuf(devices.Uint8, 512, 512)
	small, bins := newBuf(devices.Uint8, 171, 300), newBuf(devices.Uint32, 256)
	run(t, exec, ImageGray, color, gray)
	run(t, exec, ImageBlur, src, blurred)
	run(t, exec, ImageSobel, blurred, edges)
	run(t, exec, ImageThreshold, edges, black, 60)
	run(t, exec, ImageResize, src, small)
	run(t, exec, ImageHistogram, src, bins)
	for name, b := range map[string]*buf{"gray": gray, "blur": blurred, "sobel": edges, "threshold": black, "resize": small, "histogram": bins} {
		got[name] = sum(b)
	}
	return got
}

// goldenSums are the results; the references of problem_image_test.go agree.
var goldenSums = map[string]string{
	"src":       "5cb24482a53416f9",
	"gray":      "4eb4cc702283b3a7",
	"blur":      "3c3f036efdd2c8f8",
	"sobel":     "d7fa34d8b6bb81a1",
	"threshold": "33356378d428fe80",
	"resize":    "d46d9a4cebc2861e",
	"histogram": "97cd9d44d60349d8",
}

func TestPhotograph(t *testing.T) {
	for name, got := range goldenPictures(t, wholeGo) {
		if want := goldenSums[name]; got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestNaNAndZeros(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	zero, minus := float32(0), float32(math.Copysign(0, -1))
	// At every place: the lanes, the tail and the rounds all see it.
	for _, n := range []int{1, 7, 40, 3000} {
		for at := range n {
			v := make([]float32, n)
			v[at] = nan
			for _, k := range []*kernels.Kernel{VectorMin, VectorMax, VectorSum} {
				r := newBuf(devices.Float32, 1)
				run(t, wholeGo, k, bufOf(v), r)
				if got := view[float32](r)[0]; got == got {
					t.Fatalf("%s of %d with NaN at %d is %v, want NaN", k.Name, n, at, got)
				}
			}
		}
	}
	for _, c := range []struct {
		k    *kernels.Kernel
		v    []float32
		want float32
	}{
		{VectorMin, []float32{zero, minus}, zero},
		{VectorMin, []float32{minus, zero}, minus},
		{VectorMax, []float32{minus, zero}, minus},
		{VectorMin, []float32{inf, inf}, inf},
		{VectorMax, []float32{-inf}, -inf},
		{VectorSum, []float32{minus}, zero},
		{VectorSum, nil, zero},
	} {
		r := newBuf(devices.Float32, 1)
		run(t, wholeGo, c.k, bufOf(c.v), r)
		if got := view[float32](r)[0]; math.Float32bits(got) != math.Float32bits(c.want) {
			t.Errorf("%s of %v is %v, want %v", c.k.Name, c.v, got, c.want)
		}
	}
}

// TestSumIsAccurate compares with float64: the error of the documented order
// is far below that of adding one by one.
func TestSumIsAccurate(t *testing.T) {
	rng := seeded(t)
	v := make([]float32, 1<<20)
	exact := 0.0
	for i := range v {
		v[i] = rng.Float32()
		exact += float64(v[i])
	}
	r := newBuf(devices.Float32, 1)
	run(t, wholeGo, VectorSum, bufOf(v), r)
	if rel := math.Abs(float64(view[float32](r)[0])-exact) / exact; rel > 1e-6 {
		t.Errorf("relative error of the sum of 2^20 numbers: %.2g, want below 1e-6", rel)
	}
}

// TestMagnitudeIsExact tries every pair of differences that a 3×3 Sobel can
// have.
func TestMagnitudeIsExact(t *testing.T) {
	for gx := int32(0); gx <= 1020; gx++ {
		root := int32(0)
		for gy := int32(0); gy <= 1020; gy++ {
			s := gx*gx + gy*gy
			for (root+1)*(root+1) <= s {
				root++
			}
			if got := magnitude(gx, -gy); int32(got) != min(root, 255) {
				t.Fatalf("magnitude(%d, %d) = %d, want %d", gx, -gy, got, min(root, 255))
			}
		}
	}
}

// TestElementaryFunctions holds the functions to the errors that they state.
func TestElementaryFunctions(t *testing.T) {
	ulp := func(x float64) float64 {
		f := float32(math.Abs(x))
		return float64(math.Nextafter32(f, float32(math.Inf(1))) - f)
	}
	worst := func(name string, f func(float32) float32, exact func(float64) float64, lo, hi, bound float64, absolute bool) {
		t.Helper()
		most, at := 0.0, float32(0)
		for i := range 1 << 20 {
			frac := float64(i) / (1 << 20)
			x := float32(lo + (hi-lo)*frac)
			if lo > 0 {
				x = float32(lo * math.Pow(hi/lo, frac))
			}
			want := exact(float64(x))
			e := math.Abs(float64(f(x)) - want)
			if !absolute {
				e /= ulp(want)
			}
			if e > most || math.IsNaN(e) {
				most, at = e, x
			}
		}
		t.Logf("%s: at most %.3g off, at %v", name, most, at)
		if !(most <= bound) {
			t.Errorf("%s is off by %.3g at %v, want at most %v", name, most, at, bound)
		}
	}
	worst("reciprocal", reciprocal, func(x float64) float64 { return 1 / x }, 1e-37, 8e37, 2, false)
	worst("root", root, math.Sqrt, 1.2e-38, 3e38, 3, false)
	worst("exponential", exponential, math.Exp, -87, 88, 2, false)
	worst("logarithm below", logarithm, math.Log, 1.2e-38, 0.5, 2, false)
	worst("logarithm near 1", logarithm, math.Log, 0.5, 2, 1e-7, true)
	worst("logarithm above", logarithm, math.Log, 2, 3e38, 2, false)
	worst("tail", tail, func(d float64) float64 { return 0.5 * math.Erfc(math.Abs(d)/math.Sqrt2) }, -12, 12, 5e-7, true)
	if got := root(0); got != 0 {
		t.Errorf("root(0) = %v", got)
	}
	if got := exponential(0); got != 1 {
		t.Errorf("exponential(0) = %v", got)
	}
}

func TestMandelbrotValues(t *testing.T) {
	dst := newBuf(devices.Uint16, 3, 5)
	// The real axis from -2 to 2 in steps of 1 in the middle row.
	run(t, wholeGo, FractalMandelbrot, dst, 0, 0, 5, 1000)
	row := view[uint16](dst)[5:10]
	// c = -2, -1 and 0 stay; 1: 0 1 2 5; 2: 0 2 6.
	want := []uint16{1000, 1000, 1000, 3, 2}
	for i := range want {
		if row[i] != want[i] {
			t.Errorf("middle row %v, want %v", row, want)
			break
		}
	}
}
