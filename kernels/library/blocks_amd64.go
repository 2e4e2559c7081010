package library

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// blockBytes is what the loops of vector_amd64.s take at a time.
const blockBytes = 128

// avx2 says whether the processor has what the loops in assembly need.
var avx2 = cpu.X86.HasAVX2

//go:noescape
func addFloat32(z, x, y *float32, n int)

//go:noescape
func addFloat64(z, x, y *float64, n int)

//go:noescape
func addInt32(z, x, y *int32, n int)

//go:noescape
func addFloat32Past(z, x, y *float32, n int)

//go:noescape
func addFloat64Past(z, x, y *float64, n int)

//go:noescape
func addInt32Past(z, x, y *int32, n int)

//go:noescape
func scaleFloat32(y, x, f *float32, n int)

//go:noescape
func scaleFloat64(y, x, f *float64, n int)

//go:noescape
func scaleInt32(y, x, f *int32, n int)

//go:noescape
func scaleFloat32Past(y, x, f *float32, n int)

//go:noescape
func scaleFloat64Past(y, x, f *float64, n int)

//go:noescape
func scaleInt32Past(y, x, f *int32, n int)

//go:noescape
func saxpyFloat32(y, x, f *float32, n int)

//go:noescape
func saxpyFloat64(y, x, f *float64, n int)

//go:noescape
func saxpyInt32(y, x, f *int32, n int)

//go:noescape
func thresholdBytes(dst, src *byte, level byte, n int)

// blocksOf is how many whole blocks x has, and how many elements that are.
func blocksOf[T any](x []T) (blocks, elements int) {
	if !avx2 {
		return 0, 0
	}
	var z T
	per := blockBytes / int(unsafe.Sizeof(z))
	blocks = len(x) / per
	return blocks, blocks * per
}

// past reports whether z is written past the caches: that takes a place which
// is a multiple of a register, and pays where the array is larger than they are.
func past[T any](z []T, large bool) bool {
	return large && uintptr(unsafe.Pointer(unsafe.SliceData(z)))%32 == 0
}

// addBlocks adds the whole blocks of x and y, which are as long as z, and says
// how many elements those are. large: the arrays do not fit in a cache.
func addBlocks[T number](z, x, y []T, large bool) int {
	n, elements := blocksOf(z)
	if n == 0 {
		return 0
	}
	switch z := any(z).(type) {
	case []float32:
		f := addFloat32
		if past(z, large) {
			f = addFloat32Past
		}
		f(&z[0], first[float32](x), first[float32](y), n)
	case []float64:
		f := addFloat64
		if past(z, large) {
			f = addFloat64Past
		}
		f(&z[0], first[float64](x), first[float64](y), n)
	case []int32:
		f := addInt32
		if past(z, large) {
			f = addInt32Past
		}
		f(&z[0], first[int32](x), first[int32](y), n)
	default:
		return 0
	}
	return elements
}

// first is where x begins, which is a slice of S.
func first[S, T any](x []T) *S { return (*S)(unsafe.Pointer(unsafe.SliceData(x))) }

// scaleBlocks is addBlocks for y = f·x.
func scaleBlocks[T number](y, x []T, f T, large bool) int {
	n, elements := blocksOf(y)
	if n == 0 {
		return 0
	}
	factor := unsafe.Pointer(&f)
	switch y := any(y).(type) {
	case []float32:
		g := scaleFloat32
		if past(y, large) {
			g = scaleFloat32Past
		}
		g(&y[0], first[float32](x), (*float32)(factor), n)
	case []float64:
		g := scaleFloat64
		if past(y, large) {
			g = scaleFloat64Past
		}
		g(&y[0], first[float64](x), (*float64)(factor), n)
	case []int32:
		g := scaleInt32
		if past(y, large) {
			g = scaleInt32Past
		}
		g(&y[0], first[int32](x), (*int32)(factor), n)
	default:
		return 0
	}
	return elements
}

// saxpyBlocks is addBlocks for y = f·x + y.
func saxpyBlocks[T number](y, x []T, f T) int {
	n, elements := blocksOf(y)
	if n == 0 {
		return 0
	}
	factor := unsafe.Pointer(&f)
	switch y := any(y).(type) {
	case []float32:
		saxpyFloat32(&y[0], first[float32](x), (*float32)(factor), n)
	case []float64:
		saxpyFloat64(&y[0], first[float64](x), (*float64)(factor), n)
	case []int32:
		saxpyInt32(&y[0], first[int32](x), (*int32)(factor), n)
	default:
		return 0
	}
	return elements
}

// thresholdBlocks writes 255 where src is at least level, else 0.
func thresholdBlocks(dst, src []byte, level byte) int {
	n, elements := blocksOf(dst)
	if n > 0 {
		thresholdBytes(&dst[0], &src[0], level, n)
	}
	return elements
}
