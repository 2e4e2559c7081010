package library

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

func otherProblems(rng *rand.Rand) []problem {
	var all []problem
	for _, n := range []int64{0, 1, 2, 3, 4, 5, 97, 1000} {
		all = append(all, nbodyProblem(rng, n), optionProblem(rng, n))
	}
	all = append(all, optionProblem(rng, 70001))
	for _, s := range sizes {
		all = append(all, mandelbrotProblem[float32](rng, FractalMandelbrot, s[0], s[1]), mandelbrotProblem[float64](rng, FractalMandelbrotF64, s[0], s[1]))
	}
	return all
}

func nbodyProblem(rng *rand.Rand, n int64) problem {
	pos, vel := newBuf(devices.Float32, n, 4), newBuf(devices.Float32, n, 4)
	for i := range view[float32](pos) {
		view[float32](pos)[i] = float32(rng.NormFloat64())
		if i%4 == 3 {
			view[float32](pos)[i] = rng.Float32() / float32(n)
		}
		view[float32](vel)[i] = float32(rng.NormFloat64())
	}
	if n > 3 { // two bodies at one place
		copy(pos.data[16:32], pos.data[:16])
	}
	posOut, velOut := newBuf(devices.Float32, n, 4), newBuf(devices.Float32, n, 4)
	dt := float32(0.01)
	softening := float32(rng.IntN(2)) * 0.05
	return problem{name: fmt.Sprintf("%d/softening=%v", n, softening), k: NBodyStep, args: []any{pos, vel, posOut, velOut, dt, softening},
		check: func(t testing.TB, args []any) {
			p, v := view[float32](pos), view[float32](vel)
			gotP, gotV := view[float32](args[2].(*buf)), view[float32](args[3].(*buf))
			for i := range int(n) {
				var acc, size [3]float64
				for j := range int(n) {
					var d [3]float64
					d2 := float64(softening) * float64(softening)
					for c := range d {
						d[c] = float64(p[4*j+c]) - float64(p[4*i+c])
						d2 += d[c] * d[c]
					}
					if d2 == 0 {
						continue
					}
					for c := range d {
						f := float64(p[4*j+3]) * d[c] / (d2 * math.Sqrt(d2))
						acc[c] += f
						size[c] += math.Abs(f)
					}
				}
				for c := range acc {
					wantV := float64(v[4*i+c]) + acc[c]*float64(dt)
					wantP := float64(p[4*i+c]) + wantV*float64(dt)
					tol := 1e-5*size[c]*float64(dt) + 1e-6*(1+math.Abs(wantV)+math.Abs(wantP))
					if !(math.Abs(float64(gotV[4*i+c])-wantV) <= tol) || !(math.Abs(float64(gotP[4*i+c])-wantP) <= tol) {
						t.Fatalf("body %d axis %d: position %v, velocity %v, want %v, %v within %v", i, c, gotP[4*i+c], gotV[4*i+c], wantP, wantV, tol)
					}
				}
				if gotP[4*i+3] != p[4*i+3] || gotV[4*i+3] != v[4*i+3] {
					t.Fatalf("body %d: mass or fourth number changed", i)
				}
			}
		}}
}

// optionBound is the error that FinanceBlackScholes states, over spot plus
// strike.
const optionBound = 1e-6

func optionProblem(rng *rand.Rand, n int64) problem {
	spot, strike, years := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range spot {
		spot[i] = float32(math.Exp(rng.NormFloat64() * 3))
		strike[i] = spot[i] * float32(math.Exp(rng.NormFloat64()))
		years[i] = rng.Float32() * 10
		switch rng.IntN(20) {
		case 0:
			years[i] = 0
		case 1:
			strike[i] = spot[i]
		}
	}
	if n > 10 {
		spot[0], strike[1], years[2], spot[3] = 0, -1, -1, float32(math.NaN())
	}
	rate, volatility := rng.Float32()*0.1, 0.01+rng.Float32()
	call, put := newBuf(devices.Float32, n), newBuf(devices.Float32, n)
	return problem{name: fmt.Sprintf("%d/rate=%v,volatility=%v", n, rate, volatility), k: FinanceBlackScholes,
		args: []any{bufOf(spot), bufOf(strike), bufOf(years), call, put, rate, volatility},
		check: func(t testing.TB, args []any) {
			for i := range spot {
				c, p := blackScholes64(float64(spot[i]), float64(strike[i]), float64(years[i]), float64(rate), float64(volatility))
				tol := optionBound * float64(spot[i]+strike[i])
				for j, want := range []float64{c, p} {
					got := float64(view[float32](args[3+j].(*buf))[i])
					if math.IsNaN(want) != math.IsNaN(got) || math.Abs(got-want) > tol {
						t.Fatalf("option %d (spot %v, strike %v, years %v): output %d is %v, want %v", i, spot[i], strike[i], years[i], j, got, want)
					}
				}
			}
		}}
}

func blackScholes64(s, x, t, r, v float64) (call, put float64) {
	if !(s > 0 && x > 0 && t >= 0) {
		return math.NaN(), math.NaN()
	}
	paid := x * math.Exp(-r*t)
	if t == 0 {
		return max(s-paid, 0), max(paid-s, 0)
	}
	normal := func(d float64) float64 { return 0.5 * math.Erfc(-d/math.Sqrt2) }
	d1 := (math.Log(s/x) + (r+v*v/2)*t) / (v * math.Sqrt(t))
	d2 := d1 - v*math.Sqrt(t)
	return s*normal(d1) - paid*normal(d2), paid*normal(-d2) - s*normal(-d1)
}

func mandelbrotProblem[T real](rng *rand.Rand, kernel *kernels.Kernel, h, w int64) problem {
	dst := newBuf(devices.Uint16, h, w)
	x, y, span := T(-0.75), T(0), T(3)
	if rng.IntN(2) == 0 {
		x, y, span = -0.7436, 0.1318, 0.01
	}
	const limit = 300
	return problem{name: fmt.Sprintf("%dx%d", h, w), k: kernel, args: []any{dst, x, y, span, limit}, want: func(args []any) {
		step := float64(span) / max(float64(w), 1)
		left, top, s := T(float64(x)-float64(step*(float64(w-1)/2))), T(float64(y)+float64(step*(float64(h-1)/2))), T(step)
		for j := range h {
			for i := range w {
				cr, ci := left+T(s*T(i)), top-T(s*T(j))
				var zr, zi T
				n := 0
				for ; n < limit && T(zr*zr)+T(zi*zi) <= 4; n++ {
					zr, zi = (T(zr*zr)-T(zi*zi))+cr, T(2*T(zr*zi))+ci
				}
				view[uint16](args[0].(*buf))[j*w+i] = uint16(n)
			}
		}
	}}
}
