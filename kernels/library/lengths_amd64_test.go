package library

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestPicturesInAssembly: assembly and Go give the same bytes for rows of every
// length about those of blocks and chunks, which begin at any place.
func TestPicturesInAssembly(t *testing.T) {
	needAVX2(t)
	rng := seeded(t)
	widths := []int64{255, 256, 257, 1020, 1023, 1024, 1025, 1056, 1060, 2049, 2100}
	for w := range int64(140) {
		widths = append(widths, w)
	}
	for _, w := range widths {
		const h = 3
		for c := int64(1); c <= 4; c++ {
			src := bytesIn(rng, h, w, c)
			name := fmt.Sprintf("%dx%dx%d", h, w, c)
			both(t, rng, "blur of "+name, ImageBlur, src, newBuf(devices.Uint8, h, w, c))
			if c != 2 {
				both(t, rng, "gray of "+name, ImageGray, src, newBuf(devices.Uint8, h, w))
			}
		}
		gray := bytesIn(rng, h, w)
		both(t, rng, fmt.Sprintf("edges of %dx%d", h, w), ImageSobel, gray, newBuf(devices.Uint8, h, w))
		both(t, rng, fmt.Sprintf("threshold of %dx%d", h, w), ImageThreshold, gray, newBuf(devices.Uint8, h, w), rng.IntN(258)-1)
	}
}

// TestExtremePicturesInAssembly: sums that do not fit in fewer bits than they
// have, and every gray value.
func TestExtremePicturesInAssembly(t *testing.T) {
	needAVX2(t)
	rng := seeded(t)
	const h, w = 64, 100
	for _, period := range []int{1, 2, 3, 4, 5, 7} { // of stripes, upright and lying
		upright, lying := newBuf(devices.Uint8, h, w), newBuf(devices.Uint8, h, w)
		for i := range upright.data {
			upright.data[i] = byte(i % w / period % 2 * 255)
			lying.data[i] = byte(i / w / period % 2 * 255)
		}
		for _, src := range []*buf{upright, lying} {
			both(t, rng, "blur", ImageBlur, src, newBuf(devices.Uint8, h, w))
			both(t, rng, "edges", ImageSobel, src, newBuf(devices.Uint8, h, w))
		}
	}
	colors := newBuf(devices.Uint8, 256, 256, 3)
	for i := range 256 * 256 {
		r, g := i/256, i%256
		colors.data[3*i], colors.data[3*i+1], colors.data[3*i+2] = byte(r), byte(g), byte(r^g)
	}
	both(t, rng, "gray", ImageGray, colors, newBuf(devices.Uint8, 256, 256))
}

// peculiar are numbers that a price may be asked for.
func peculiar(rng *rand.Rand, n int) []float32 {
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e-45, 1e-38, math.MaxFloat32, 0.5, 100}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(math.Exp(rng.NormFloat64() * 3))
		if rng.IntN(3) == 0 {
			v[i] = float32(special[rng.IntN(len(special))])
		}
	}
	return v
}

func TestOptionsInAssembly(t *testing.T) {
	needAVX2(t)
	rng := seeded(t)
	for n := range 70 {
		spot, strike, years := bufOf(peculiar(rng, n)), bufOf(peculiar(rng, n)), bufOf(peculiar(rng, n))
		rate, volatility := float32(rng.NormFloat64()*0.1), float32(math.Abs(rng.NormFloat64()))
		if n%4 == 0 {
			p := peculiar(rng, 2)
			rate, volatility = p[0], p[1]
		}
		what := fmt.Sprintf("%d options, rate %v, volatility %v", n, rate, volatility)
		both(t, rng, what, FinanceBlackScholes, spot, strike, years, newBuf(devices.Float32, int64(n)), newBuf(devices.Float32, int64(n)), rate, volatility)
	}
}

// TestOptionsAnywhere prices options in memory that begins at any place, and
// looks at what lies behind.
func TestOptionsAnywhere(t *testing.T) {
	needAVX2(t)
	rng := seeded(t)
	const n = 24
	for shift := range 9 {
		at := func() []float32 { return peculiar(rng, shift+n+8)[shift:][:n] }
		spot, strike, years, call, put := at(), at(), at(), at(), at()
		behind := [2]float32{7, 8}
		call[:n+1][n], put[:n+1][n] = behind[0], behind[1]
		if done := priceBlocks(call, put, spot, strike, years, 0.02, 0.3); done != n {
			t.Fatalf("%d options were priced, want %d", done, n)
		}
		for i := range n {
			c, p := price(spot[i], strike[i], years[i], 0.02, 0.3)
			sameBits(t, fmt.Sprintf("option %d, shift %d", i, shift), bufOf([]float32{call[i], put[i]}), bufOf([]float32{c, p}))
		}
		if got := [2]float32{call[:n+1][n], put[:n+1][n]}; got != behind {
			t.Errorf("behind the last option: %v, want %v", got, behind)
		}
	}
}

func TestBodiesInAssembly(t *testing.T) {
	needAVX2(t)
	rng := seeded(t)
	for n := range 40 {
		for _, kind := range []string{"ordinary", "peculiar"} {
			pos, vel := float32In(rng, 4*int64(n)), float32In(rng, 4*int64(n))
			if kind == "peculiar" {
				pos = bufOf(peculiar(rng, 4*n))
			}
			if n > 3 { // two bodies at one place
				copy(pos.data[16:32], pos.data[:16])
			}
			shape := []int64{int64(n), 4}
			pos.Shape, vel.Shape = shape, shape
			softening := float32(rng.IntN(2)) * 0.05
			both(t, rng, fmt.Sprintf("%d %s bodies", n, kind), NBodyStep, pos, vel, newBuf(devices.Float32, shape...), newBuf(devices.Float32, shape...), 0.01, softening)
		}
	}
}

func TestFractalsInAssembly(t *testing.T) {
	needAVX2(t)
	rng := seeded(t)
	for w := range int64(70) {
		const h = 5
		limit := []int{1, 2, 3, 100, 65535}[rng.IntN(5)]
		span := math.Exp(-5 * rng.Float64())
		x, y := -0.75+rng.NormFloat64()*0.3, rng.NormFloat64()*0.3
		if limit > 100 { // some in the set, most not: else it takes long
			x, y, span = -2, 0, 1e-3
		}
		if w%5 == 0 { // far outside, where z overflows
			x, y, span = 1e18, -1e18, 1e19
		}
		what := fmt.Sprintf("width %d, (%v, %v), span %v, limit %d", w, x, y, span, limit)
		both(t, rng, what, FractalMandelbrot, newBuf(devices.Uint16, h, w), x, y, span, limit)
		both(t, rng, what, FractalMandelbrotF64, newBuf(devices.Uint16, h, w), x, y, span, limit)
	}
}

// TestResizeIsExact holds rows of every length about eights and strips, in
// assembly and in Go, to the formula of the kernel's description.
func TestResizeIsExact(t *testing.T) {
	rng := seeded(t)
	tos := []int64{100, 255, 256, 257, 511, 512, 513, 1030}
	for to := range int64(42) {
		tos = append(tos, to)
	}
	for _, to := range tos {
		w, h, toH, c := int64(1+rng.IntN(60)), int64(1+rng.IntN(4)), int64(3), int64(1+rng.IntN(4))
		src, dst := bytesIn(rng, h, w, c), newBuf(devices.Uint8, toH, to, c)
		want := newBuf(devices.Uint8, toH, to, c)
		place := func(i, n, to int64) (at, next, frac int64) {
			p := min(max((2*i+1)*(n<<32/to)>>1-1<<31, 0), (n-1)<<32)
			return p >> 32, min(p>>32+1, n-1), p >> 21 & 2047
		}
		for y := range toH {
			y0, y1, fy := place(y, h, toH)
			for x := range to {
				x0, x1, fx := place(x, w, to)
				for ch := range c {
					v := func(y, x int64) int64 { return int64(src.data[(y*w+x)*c+ch]) }
					sum := (v(y0, x0)*(2048-fx)+v(y0, x1)*fx)*(2048-fy) + (v(y1, x0)*(2048-fx)+v(y1, x1)*fx)*fy
					want.data[(y*to+x)*c+ch] = byte((sum + 1<<21) >> 22)
				}
			}
		}
		what := fmt.Sprintf("%dx%dx%d to %dx%d", h, w, c, toH, to)
		run(t, splitGo(rng), ImageResize, src, dst)
		sameBits(t, what, dst, want)
		without(func() { run(t, splitGo(rng), ImageResize, src, dst) })
		sameBits(t, what+" in Go", dst, want)
	}
}
