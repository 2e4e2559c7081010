package library

import "unsafe"

//go:noescape
func sumFloat32(s, x *float32, n int)

//go:noescape
func minFloat32(s, x *float32, n int)

//go:noescape
func maxFloat32(s, x *float32, n int)

//go:noescape
func minFloat32Ordered(s, x *float32, n int) (ok bool)

//go:noescape
func maxFloat32Ordered(s, x *float32, n int) (ok bool)

//go:noescape
func minInt32(s, x *int32, n int)

//go:noescape
func maxInt32(s, x *int32, n int)

//go:noescape
func sumFloat64(s, x *float64, n int)

//go:noescape
func minFloat64(s, x *float64, n int)

//go:noescape
func maxFloat64(s, x *float64, n int)

//go:noescape
func sumInt32(s *int64, x *int32, n int)

//go:noescape
func sumInt64(s, x *int64, n int)

//go:noescape
func dotFloat32(s, x, y *float32, n int)

//go:noescape
func dotFloat64(s, x, y *float64, n int)

//go:noescape
func dotInt32(s *int64, x, y *int32, n int)

// rowsOf is how many whole rows of lanes x has.
func rowsOf[T any](x []T) int {
	if !avx2 {
		return 0
	}
	return len(x) / lanes
}

// sumRows adds the whole rows of x to the lanes and says how many there are.
func sumRows[T, A number](x, _ []T, s *[lanes]A) int {
	n := rowsOf(x)
	if n == 0 {
		return 0
	}
	to := unsafe.Pointer(s)
	switch x := any(x).(type) {
	case []float32:
		sumFloat32((*float32)(to), &x[0], n)
	case []float64:
		sumFloat64((*float64)(to), &x[0], n)
	case []int32:
		sumInt32((*int64)(to), &x[0], n)
	case []int64:
		sumInt64((*int64)(to), &x[0], n)
	default:
		return 0
	}
	return n
}

// dotRows adds the products of the whole rows of x and y, which are of one
// length.
func dotRows[T, A number](x, y []T, s *[lanes]A) int {
	n := rowsOf(x)
	if n == 0 {
		return 0
	}
	to := unsafe.Pointer(s)
	switch x := any(x).(type) {
	case []float32:
		dotFloat32((*float32)(to), &x[0], first[float32](y), n)
	case []float64:
		dotFloat64((*float64)(to), &x[0], first[float64](y), n)
	case []int32:
		dotInt32((*int64)(to), &x[0], first[int32](y), n)
	default:
		return 0
	}
	return n
}

// minRows keeps the least of each lane.
func minRows[T number](x, _ []T, s *[lanes]T) int {
	n := rowsOf(x)
	if n == 0 {
		return 0
	}
	to := unsafe.Pointer(s)
	switch x := any(x).(type) {
	case []float32:
		if !minFloat32Ordered((*float32)(to), &x[0], n) {
			minFloat32((*float32)(to), &x[0], n)
		}
	case []float64:
		minFloat64((*float64)(to), &x[0], n)
	case []int32:
		minInt32((*int32)(to), &x[0], n)
	default:
		return 0
	}
	return n
}

// maxRows keeps the largest of each lane.
func maxRows[T number](x, _ []T, s *[lanes]T) int {
	n := rowsOf(x)
	if n == 0 {
		return 0
	}
	to := unsafe.Pointer(s)
	switch x := any(x).(type) {
	case []float32:
		if !maxFloat32Ordered((*float32)(to), &x[0], n) {
			maxFloat32((*float32)(to), &x[0], n)
		}
	case []float64:
		maxFloat64((*float64)(to), &x[0], n)
	case []int32:
		maxInt32((*int32)(to), &x[0], n)
	default:
		return 0
	}
	return n
}
