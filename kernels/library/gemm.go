package library

import (
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// The blocks of gemmGo: a panel of gemmWide columns of b and gemmDepth rows lies
// packed in the first-level cache while it meets gemmHeight rows of a, three at
// a time. Three times two sums are what the compiler keeps in registers without
// spilling any; the heights are multiples of three.
const (
	gemmWide   = 2
	gemmDepth  = 512
	gemmHeight = 126
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
	if tileWide() {
		// The whole tiles first, whatever there is of columns and rows; what
		// is left is done below.
		gemmTiles(a, b, c, alpha, beta, i0, i1, j0, j1, n, k)
		whole := j0 + (j1-j0)/cols*cols
		if rows := i0 + (i1-i0)/gemmRows*gemmRows; rows < i1 {
			gemmBlocks(a, b, c, alpha, beta, rows, i1, j0, whole, n, k)
		}
		j0 = whole
	}
	gemmBlocks(a, b, c, alpha, beta, i0, i1, j0, j1, n, k)
}

// gemmBlocks multiplies rows i0 to i1 and columns j0 to j1 in pairs of columns.
func gemmBlocks[T real](a, b, c []T, alpha, beta T, i0, i1, j0, j1, n, k int) {
	var panel [gemmDepth][gemmWide]T
	var sums [gemmHeight][gemmWide]T
	for i := i0; i < i1; i += gemmHeight {
		rows := min(gemmHeight, i1-i)
		for j := j0; j < j1; j += gemmWide {
			width := min(gemmWide, j1-j)
			clear(sums[:rows])
			for p := 0; p < k; p += gemmDepth {
				depth := min(gemmDepth, k-p)
				packPanel(panel[:depth], b[p*n+j:], n, width)
				row := func(y int) []T { return a[(i+y)*k+p:][:depth] }
				y := 0
				for ; y+3 <= rows; y += 3 {
					multiplyThree(row(y), row(y+1), row(y+2), panel[:depth], (*[3][gemmWide]T)(sums[y:]))
				}
				for ; y < rows; y++ {
					multiplyOne(row(y), panel[:depth], &sums[y])
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

// tileDepth rows of a panel of 64 bytes lie in the first-level cache, tileHeight
// rows of sums beside them.
const (
	tileDepth  = 256
	tileHeight = 64
)

// gemmTiles multiplies the whole tiles of gemmRows rows and 64 bytes of columns
// between rows i0 to i1 and columns j0 to j1.
func gemmTiles[T real](a, b, c []T, alpha, beta T, i0, i1, j0, j1, n, k int) {
	var z T
	const wide = 64 / 4 // columns at most
	cols := 64 / int(unsafe.Sizeof(z))
	var panel [tileDepth * wide]T
	var sums [tileHeight * wide]T
	i1 = i0 + (i1-i0)/gemmRows*gemmRows
	for j := j0; j+cols <= j1; j += cols {
		for i := i0; i < i1; i += tileHeight {
			rows := min(tileHeight, i1-i)
			clear(sums[:rows*cols])
			for p := 0; p < k; p += tileDepth {
				depth := min(tileDepth, k-p)
				for q := range depth {
					copy(panel[q*cols:(q+1)*cols], b[(p+q)*n+j:])
				}
				for y := 0; y < rows; y += gemmRows {
					gemmTile(sums[y*cols:], a[(i+y)*k+p:], k, panel[:], depth)
				}
			}
			for y := range rows {
				s, out := sums[y*cols:(y+1)*cols], c[(i+y)*n+j:][:cols]
				for x := range out {
					if beta == 0 {
						out[x] = alpha * s[x]
					} else {
						out[x] = T(alpha*s[x]) + T(beta*out[x])
					}
				}
			}
		}
	}
}

// packPanel copies one or two columns of b, whose rows are n long; a missing
// second one is taken for the first.
func packPanel[T real](panel [][gemmWide]T, b []T, n, width int) {
	for p := range panel {
		row := b[p*n:]
		panel[p] = [gemmWide]T{row[0], row[width-1]}
	}
}

// multiplyThree adds the products of three rows with two columns.
func multiplyThree[T real](a0, a1, a2 []T, panel [][gemmWide]T, s *[3][gemmWide]T) {
	a0, a1, a2 = a0[:len(panel)], a1[:len(panel)], a2[:len(panel)]
	s0, s1, s2 := s[0][0], s[1][0], s[2][0]
	t0, t1, t2 := s[0][1], s[1][1], s[2][1]
	for p := range panel {
		b := &panel[p]
		x, y := b[0], b[1]
		u, v, w := a0[p], a1[p], a2[p]
		s0 += T(u * x)
		t0 += T(u * y)
		s1 += T(v * x)
		t1 += T(v * y)
		s2 += T(w * x)
		t2 += T(w * y)
	}
	*s = [3][gemmWide]T{{s0, t0}, {s1, t1}, {s2, t2}}
}

func multiplyOne[T real](a []T, panel [][gemmWide]T, s *[gemmWide]T) {
	a = a[:len(panel)]
	x, y := s[0], s[1]
	for p := range panel {
		b := &panel[p]
		x += T(a[p] * b[0])
		y += T(a[p] * b[1])
	}
	*s = [gemmWide]T{x, y}
}

func gemvGo[T real](r devices.Range, args *devices.Args) {
	a, x, y := devices.Slice[T](args, 0), devices.Slice[T](args, 1), devices.Slice[T](args, 2)
	alpha, beta := devices.Value[T](args, 3), devices.Value[T](args, 4)
	k := int(devices.Value[int32](args, 5))
	x = x[:k]
	var four [4][8]T
	have := 0 // rows of four, from the end
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		if have == 0 && i+4 <= r.Hi[0] {
			if s, ok := fourRowsTimes(a[i*k:], k, x); ok {
				four, have = s, 4
			}
		}
		row := a[i*k : (i+1)*k]
		var sum T
		if have > 0 {
			sum = joinLanes(&four[4-have], row, x)
			have--
		} else {
			sum = rowTimes(row, x)
		}
		if beta == 0 {
			y[i] = alpha * sum
		} else {
			y[i] = T(alpha*sum) + T(beta*y[i])
		}
	}
}

func rowTimes[T real](a, x []T) T {
	x = x[:len(a)]
	var s [8]T
	rest := len(a) &^ 7
	for half := 0; half < 8 && rest > 0; half += 4 {
		s0, s1, s2, s3 := fourLanes(a[half:rest], x[half:rest])
		s[half], s[half+1], s[half+2], s[half+3] = s0, s1, s2, s3
	}
	return joinLanes(&s, a, x)
}

// joinLanes adds the products behind the last eight to the lanes they fall in,
// and the lanes in halves.
func joinLanes[T real](s *[8]T, a, x []T) T {
	rest := len(a) &^ 7
	for j, v := range a[rest:] {
		s[j&7] += T(v * x[rest+j])
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// fourLanes adds the products at 0 to 3, 8 to 11, 16 to 19, …: four sums, which
// is what the compiler keeps in registers beside two rows of factors.
func fourLanes[T real](a, x []T) (s0, s1, s2, s3 T) {
	for len(a) >= 12 && len(x) >= 12 {
		p, q := (*[12]T)(a), (*[12]T)(x)
		s0 = (s0 + T(p[0]*q[0])) + T(p[8]*q[8])
		s1 = (s1 + T(p[1]*q[1])) + T(p[9]*q[9])
		s2 = (s2 + T(p[2]*q[2])) + T(p[10]*q[10])
		s3 = (s3 + T(p[3]*q[3])) + T(p[11]*q[11])
		a, x = a[min(16, len(a)):], x[min(16, len(x)):]
	}
	if len(a) >= 4 && len(x) >= 4 {
		p, q := (*[4]T)(a), (*[4]T)(x)
		s0, s1, s2, s3 = s0+T(p[0]*q[0]), s1+T(p[1]*q[1]), s2+T(p[2]*q[2]), s3+T(p[3]*q[3])
	}
	return s0, s1, s2, s3
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
