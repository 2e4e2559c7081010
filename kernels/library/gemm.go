package library

import (
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// The blocks of gemmGo: a panel of four columns of b and gemmDepth rows lies
// packed in the first-level cache while it meets gemmHeight rows of a.
const (
	gemmDepth  = 512
	gemmHeight = 128
)

// gemmGo multiplies block by block. Sums between two depths are kept as T,
// which changes nothing: they were rounded to T anyway.
func gemmGo[T real](r devices.Range, args *devices.Args) {
	a, b, c := devices.Slice[T](args, 0), devices.Slice[T](args, 1), devices.Slice[T](args, 2)
	alpha, beta := devices.Value[T](args, 3), devices.Value[T](args, 4)
	m, n, k := int(devices.Value[int32](args, 5)), int(devices.Value[int32](args, 6)), int(devices.Value[int32](args, 7))
	var z T
	cols := 64 / int(unsafe.Sizeof(z))
	i0, i1 := r.Lo[1]*gemmRows, min(r.Hi[1]*gemmRows, m)
	j0, j1 := r.Lo[0]*cols, min(r.Hi[0]*cols, n)
	var panel [gemmDepth][4]T
	var sums [gemmHeight][4]T
	for i := i0; i < i1; i += gemmHeight {
		rows := min(gemmHeight, i1-i)
		for j := j0; j < j1; j += 4 {
			width := min(4, j1-j)
			clear(sums[:rows])
			for p := 0; p < k; p += gemmDepth {
				depth := min(gemmDepth, k-p)
				packPanel(panel[:depth], b[p*n+j:], n, width)
				y := 0
				for ; y+2 <= rows; y += 2 {
					at := (i+y)*k + p
					multiplyTwo(a[at:at+depth], a[at+k:at+k+depth], panel[:depth], &sums[y], &sums[y+1])
				}
				if y < rows {
					at := (i+y)*k + p
					multiplyOne(a[at:at+depth], panel[:depth], &sums[y])
				}
			}
			for y := range rows {
				out := c[(i+y)*n+j:][:width]
				for x := range out {
					if beta == 0 {
						out[x] = alpha * sums[y][x]
					} else {
						out[x] = T(alpha*sums[y][x]) + T(beta*out[x])
					}
				}
			}
		}
	}
}

// packPanel copies width (1 to 4) columns of b, whose rows are n long; the
// others become 0.
func packPanel[T real](panel [][4]T, b []T, n, width int) {
	if width == 4 {
		for p := range panel {
			panel[p] = [4]T(b[p*n:])
		}
		return
	}
	for p := range panel {
		panel[p] = [4]T{}
		copy(panel[p][:], b[p*n:][:width])
	}
}

// multiplyTwo adds the products of two rows with four columns: eight sums in
// registers.
func multiplyTwo[T real](a0, a1 []T, panel [][4]T, s, t *[4]T) {
	a0, a1 = a0[:len(panel)], a1[:len(panel)]
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	t0, t1, t2, t3 := t[0], t[1], t[2], t[3]
	for p := range panel {
		b := &panel[p]
		u, v := a0[p], a1[p]
		b0, b1 := b[0], b[1]
		s0 += T(u * b0)
		t0 += T(v * b0)
		s1 += T(u * b1)
		t1 += T(v * b1)
		b2, b3 := b[2], b[3]
		s2 += T(u * b2)
		t2 += T(v * b2)
		s3 += T(u * b3)
		t3 += T(v * b3)
	}
	*s, *t = [4]T{s0, s1, s2, s3}, [4]T{t0, t1, t2, t3}
}

func multiplyOne[T real](a []T, panel [][4]T, s *[4]T) {
	a = a[:len(panel)]
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for p := range panel {
		b := &panel[p]
		u := a[p]
		s0 += T(u * b[0])
		s1 += T(u * b[1])
		s2 += T(u * b[2])
		s3 += T(u * b[3])
	}
	*s = [4]T{s0, s1, s2, s3}
}

func gemvGo[T real](r devices.Range, args *devices.Args) {
	a, x, y := devices.Slice[T](args, 0), devices.Slice[T](args, 1), devices.Slice[T](args, 2)
	alpha, beta := devices.Value[T](args, 3), devices.Value[T](args, 4)
	k := int(devices.Value[int32](args, 5))
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		sum := rowTimes(a[i*k:(i+1)*k], x)
		if beta == 0 {
			y[i] = alpha * sum
		} else {
			y[i] = T(alpha*sum) + T(beta*y[i])
		}
	}
}

func rowTimes[T real](a, x []T) T {
	x = x[:len(a)]
	var s0, s1, s2, s3, s4, s5, s6, s7 T
	for len(a) >= 8 && len(x) >= 8 {
		p, q := (*[8]T)(a), (*[8]T)(x)
		s0, s1, s2, s3 = s0+T(p[0]*q[0]), s1+T(p[1]*q[1]), s2+T(p[2]*q[2]), s3+T(p[3]*q[3])
		s4, s5, s6, s7 = s4+T(p[4]*q[4]), s5+T(p[5]*q[5]), s6+T(p[6]*q[6]), s7+T(p[7]*q[7])
		a, x = a[8:], x[8:]
	}
	s := [8]T{s0, s1, s2, s3, s4, s5, s6, s7}
	for j := range a {
		s[j&7] += T(a[j] * x[j])
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

func transposeGo[T real](r devices.Range, args *devices.Args) {
	src, dst := devices.Slice[T](args, 0), devices.Slice[T](args, 1)
	m, n := int(devices.Value[int32](args, 2)), int(devices.Value[int32](args, 3))
	x0, x1 := r.Lo[0]*transposeTile, min(r.Hi[0]*transposeTile, m)
	y0, y1 := r.Lo[1]*transposeTile, min(r.Hi[1]*transposeTile, n)
	for y := y0; y < y1; y += transposeTile {
		for x := x0; x < x1; x += transposeTile {
			if x+transposeTile > x1 || y+transposeTile > y1 {
				for v := y; v < min(y+transposeTile, y1); v++ {
					for u := x; u < min(x+transposeTile, x1); u++ {
						dst[v*m+u] = src[u*n+v]
					}
				}
				continue
			}
			// Write whole cache lines: the eight lines read stay at hand.
			s := src[x*n+y:]
			for v := range transposeTile {
				d := (*[transposeTile]T)(dst[(y+v)*m+x:])
				s := s[v:]
				d[0], d[1], d[2], d[3] = s[0], s[n], s[2*n], s[3*n]
				d[4], d[5], d[6], d[7] = s[4*n], s[5*n], s[6*n], s[7*n]
			}
		}
	}
}
