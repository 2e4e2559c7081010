package library

import (
	"math"

	"github.com/tandemrun/tandem/devices"
)

func sobelGo(r devices.Range, a *devices.Args) {
	src, dst := a.Bytes(0), a.Bytes(1)
	width, height := int(devices.Value[int32](a, 2)), int(devices.Value[int32](a, 3))
	lo, hi := r.Lo[0]*itemBytes, min(r.Hi[0]*itemBytes, width)
	if lo >= hi {
		return
	}
	for y := r.Lo[1]; y < r.Hi[1]; y++ {
		row := func(y int) []byte {
			y = min(max(y, 0), height-1)
			return src[y*width : y*width+width]
		}
		sobelRow(row(y-1), row(y), row(y+1), dst[y*width:y*width+width], lo, hi)
	}
}

// sobelRow computes pixels lo to hi of the row between top and low, those with
// neighbours on both sides in blocks.
func sobelRow(top, mid, low, dst []byte, lo, hi int) {
	from := max(lo, 1)
	if to := min(hi, len(mid)-1); from < to && sobelBlocks(dst[from:to], top[from-1:], mid[from-1:], low[from-1:]) {
		sobelPart(top, mid, low, dst, lo, from)
		lo = to
	}
	sobelPart(top, mid, low, dst, lo, hi)
}

// sobelPart is sobelRow pixel by pixel. It carries the weighted sums and the
// differences of three columns along.
func sobelPart(top, mid, low, dst []byte, lo, hi int) {
	if lo >= hi {
		return
	}
	n := len(mid)
	top, low, dst = top[:n], low[:n], dst[:n]
	column := func(x int) (sum, diff int32) {
		x = min(max(x, 0), n-1)
		t, m, l := int32(top[x]), int32(mid[x]), int32(low[x])
		return t + 2*m + l, l - t
	}
	s0, d0 := column(lo - 1)
	s1, d1 := column(lo)
	inside := min(hi, n-1)
	for x := lo; x < inside; x++ {
		t, m, l := int32(top[x+1]), int32(mid[x+1]), int32(low[x+1])
		s2, d2 := t+2*m+l, l-t
		dst[x] = magnitude(s2-s0, d0+2*d1+d2)
		s0, d0, s1, d1 = s1, d1, s2, d2
	}
	if inside < hi { // the last pixel of the row is its own right neighbour
		dst[inside] = magnitude(s1-s0, d0+2*d1+d1)
	}
}

// magnitude is the whole part of the root of gx² + gy², at most 255. A float32
// holds the sum exactly; why cutting the root of the sum plus 1/4 is exact is
// said in image.cl.
func magnitude(gx, gy int32) byte {
	s := gx*gx + gy*gy
	if s >= 255*255 {
		return 255
	}
	return byte(int32(float32(math.Sqrt(float64(float32(s) + 0.25)))))
}
