package library

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func clampTo(v, n int64) int64 { return min(max(v, 0), n-1) }

func imageProblems(rng *rand.Rand) []problem {
	var all []problem
	for _, s := range sizes {
		h, w := s[0], s[1]
		name := fmt.Sprintf("%dx%d", h, w)
		all = append(all, grayProblem(rng, h, w, 3), grayProblem(rng, h, w, 4), grayProblem(rng, h, w, 1))
		for c := int64(1); c <= 4; c++ {
			all = append(all, blurProblem(rng, h, w, c))
		}
		src, dst := bytesIn(rng, h, w), newBuf(devices.Uint8, h, w)
		all = append(all, problem{name: name, k: ImageSobel, args: []any{src, dst}, want: func(args []any) {
			at := func(y, x int64) int64 { return int64(src.data[clampTo(y, h)*w+clampTo(x, w)]) }
			for y := range h {
				for x := range w {
					var gx, gy int64
					for d, weight := range []int64{1, 2, 1} {
						o := int64(d) - 1
						gx += weight * (at(y+o, x+1) - at(y+o, x-1))
						gy += weight * (at(y+1, x+o) - at(y-1, x+o))
					}
					root := new(big.Int).Sqrt(big.NewInt(gx*gx + gy*gy)).Int64()
					args[1].(*buf).data[y*w+x] = byte(min(root, 255))
				}
			}
		}})
		level := int32(rng.IntN(260) - 2)
		all = append(all, problem{name: fmt.Sprintf("%s/level=%d", name, level), k: ImageThreshold, args: []any{src, dst, level}, want: func(args []any) {
			for i, v := range src.data {
				args[1].(*buf).data[i] = 0
				if int32(v) >= level {
					args[1].(*buf).data[i] = 255
				}
			}
		}})
		if h*w > 0 {
			for _, to := range sizes {
				all = append(all, resizeProblem(rng, h, w, to[0], to[1], 1+int64(rng.IntN(4))))
			}
		}
	}
	for _, n := range append(lengths, 16385, 200003) {
		src, bins := bytesIn(rng, n), newBuf(devices.Uint32, 256)
		all = append(all, problem{name: fmt.Sprint(n), k: ImageHistogram, args: []any{src, bins}, want: func(args []any) {
			b := view[uint32](args[1].(*buf))
			clear(b)
			for _, v := range src.data {
				b[v]++
			}
		}})
	}
	return all
}

func grayProblem(rng *rand.Rand, h, w, channels int64) problem {
	src := bytesIn(rng, h, w, channels)
	if channels == 1 {
		src = bytesIn(rng, h, w)
	}
	dst := newBuf(devices.Uint8, h, w)
	return problem{name: fmt.Sprintf("%dx%dx%d", h, w, channels), k: ImageGray, args: []any{src, dst}, want: func(args []any) {
		for i := range h * w {
			p := src.data[i*channels:]
			v := int(p[0])
			if channels > 1 {
				v = (77*int(p[0]) + 150*int(p[1]) + 29*int(p[2]) + 128) / 256
			}
			args[1].(*buf).data[i] = byte(v)
		}
	}}
}

func blurProblem(rng *rand.Rand, h, w, channels int64) problem {
	src, dst := bytesIn(rng, h, w, channels), newBuf(devices.Uint8, h, w, channels)
	if channels == 1 && rng.IntN(2) == 0 {
		src.Shape, dst.Shape = src.Shape[:2], dst.Shape[:2]
	}
	return problem{name: fmt.Sprintf("%dx%dx%d", h, w, channels), k: ImageBlur, args: []any{src, dst}, want: func(args []any) {
		weights := []int{1, 4, 6, 4, 1}
		for y := range h {
			for x := range w {
				for c := range channels {
					sum := 128
					for dy, wy := range weights {
						for dx, wx := range weights {
							yy, xx := clampTo(y+int64(dy)-2, h), clampTo(x+int64(dx)-2, w)
							sum += wy * wx * int(src.data[(yy*w+xx)*channels+c])
						}
					}
					args[1].(*buf).data[(y*w+x)*channels+c] = byte(sum / 256)
				}
			}
		}
	}}
}

// resizeProblem holds image.resize to the bilinear picture of real numbers:
// the weights are off by at most 1/2048 in each direction, the rest is
// rounding.
func resizeProblem(rng *rand.Rand, h, w, toH, toW, channels int64) problem {
	src, dst := bytesIn(rng, h, w, channels), newBuf(devices.Uint8, toH, toW, channels)
	place := func(i, n, to int64) (at, next int64, frac float64) {
		p := (float64(i)+0.5)*float64(n)/float64(to) - 0.5
		p = min(max(p, 0), float64(n-1))
		at = int64(p)
		return at, min(at+1, n-1), p - float64(at)
	}
	return problem{name: fmt.Sprintf("%dx%dx%d-to-%dx%d", h, w, channels, toH, toW), k: ImageResize, args: []any{src, dst}, check: func(t testing.TB, args []any) {
		got := args[1].(*buf).data
		for y := range toH {
			y0, y1, fy := place(y, h, toH)
			for x := range toW {
				x0, x1, fx := place(x, w, toW)
				for c := range channels {
					v := func(y, x int64) float64 { return float64(src.data[(y*w+x)*channels+c]) }
					want := (v(y0, x0)*(1-fx)+v(y0, x1)*fx)*(1-fy) + (v(y1, x0)*(1-fx)+v(y1, x1)*fx)*fy
					i := (y*toW+x)*channels + c
					if math.Abs(float64(got[i])-want) > 0.5+2*255.0/2048 {
						t.Fatalf("(%d, %d) channel %d is %d, want %.3f", y, x, c, got[i], want)
					}
				}
			}
		}
	}}
}
