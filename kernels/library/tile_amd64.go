package library

import "unsafe"

//go:noescape
func gemmFloat32(s, a *float32, stride int, panel *float32, depth int)

//go:noescape
func gemmFloat64(s, a *float64, stride int, panel *float64, depth int)

//go:noescape
func gemvFloat32(s, a *float32, stride int, x *float32, n int)

//go:noescape
func gemvFloat64(s, a *float64, stride int, x *float64, n int)

//go:noescape
func jacobiFloat32(out, above, mid, below, fifth *float32, n int)

//go:noescape
func jacobiFloat64(out, above, mid, below, fifth *float64, n int)

// tileWide says whether gemmTile can be called.
func tileWide() bool { return avx2 }

// gemmTile adds the products of four rows of a, k elements apart, with a packed
// panel of depth rows of 64 bytes to four rows of sums of 64 bytes.
func gemmTile[T real](sums, a []T, k int, panel []T, depth int) {
	var z T
	size := int(unsafe.Sizeof(z))
	_, _, _ = sums[4*64/size-1], a[3*k+depth-1], panel[depth*64/size-1]
	switch s := any(sums).(type) {
	case []float32:
		gemmFloat32(&s[0], first[float32](a), k*size, first[float32](panel), depth)
	case []float64:
		gemmFloat64(&s[0], first[float64](a), k*size, first[float64](panel), depth)
	}
}

// fourRowsTimes is the eight lanes of each of four rows of a, k elements apart,
// times the whole eights of x; none if the processor has no such registers.
func fourRowsTimes[T real](a []T, k int, x []T) (s [4][8]T, ok bool) {
	n := len(x) / 8
	if !avx2 || n == 0 {
		return s, false
	}
	var z T
	size := int(unsafe.Sizeof(z))
	_ = a[3*k+8*n-1]
	switch x := any(x).(type) {
	case []float32:
		gemvFloat32((*float32)(unsafe.Pointer(&s)), first[float32](a), k*size, &x[0], n)
	case []float64:
		gemvFloat64((*float64)(unsafe.Pointer(&s)), first[float64](a), k*size, &x[0], n)
	}
	return s, true
}

// jacobiBlocks averages the whole blocks of 64 bytes of out and says how many
// elements those are; the arguments are jacobiRow's.
func jacobiBlocks[T real](out, above, mid, below []T) int {
	var z T
	per := 64 / int(unsafe.Sizeof(z))
	n := len(out) / per
	if !avx2 || n == 0 {
		return 0
	}
	_, _, _ = above[n*per-1], mid[n*per+1], below[n*per-1]
	fifth := T(0.2)
	switch out := any(out).(type) {
	case []float32:
		jacobiFloat32(&out[0], first[float32](above), first[float32](mid), first[float32](below), (*float32)(unsafe.Pointer(&fifth)), n)
	case []float64:
		jacobiFloat64(&out[0], first[float64](above), first[float64](mid), first[float64](below), (*float64)(unsafe.Pointer(&fifth)), n)
	}
	return n * per
}
