package library

import "github.com/tandemrun/tandem/kernels"

func sumOf[T, A number](e, result element) *kernels.Kernel {
	one := []string{"x"}
	first := roundOf("vector.sum", "sum", one, e, result, A(0), fold[T, A]{sumRows[T, A], sumLanes[T, A]}, plus[A])
	rest := first
	if e.dtype != result.dtype {
		rest = roundOf("vector.sum", "sum", one, result, result, A(0), fold[A, A]{sumRows[A, A], sumLanes[A, A]}, plus[A])
	}
	return reduction("vector.sum", "sum of all elements", one, e, result, first, rest, true)
}

func dotOf[T, A number](e, result element) *kernels.Kernel {
	two := []string{"x", "y"}
	first := roundOf("vector.dot", "dot", two, e, result, A(0), fold[T, A]{dotRows[T, A], dotLanes[T, A]}, plus[A])
	rest := roundOf("vector.dot.sum", "sum", two[:1], result, result, A(0), fold[A, A]{sumRows[A, A], sumLanes[A, A]}, plus[A])
	return reduction("vector.dot", "sum of all x·y, product and sum each rounded", two, e, result, first, rest, true)
}

func minOf[T number](e element, highest T) *kernels.Kernel {
	one := []string{"x"}
	r := roundOf("vector.min", "min", one, e, e, highest, fold[T, T]{minRows[T], minLanes[T]}, smaller[T])
	return reduction("vector.min", "least element; NaN if there is one", one, e, e, r, r, false)
}

func maxOf[T number](e element, lowest T) *kernels.Kernel {
	one := []string{"x"}
	r := roundOf("vector.max", "max", one, e, e, lowest, fold[T, T]{maxRows[T], maxLanes[T]}, larger[T])
	return reduction("vector.max", "largest element; NaN if there is one", one, e, e, r, r, false)
}

func plus[A number](a, b A) A { return a + b }

// smaller and larger are comparisons that NaN wins and that keep a, the first,
// of equals.
func smaller[A number](a, b A) A {
	if b < a || b != b {
		return b
	}
	return a
}

func larger[A number](a, b A) A {
	if b > a || b != b {
		return b
	}
	return a
}

// laneGroup is how many lanes a fold keeps in registers: with two rows of them
// at a time the compiler spills none. The elements of a last, short row go to
// the lanes that they fall in.
const laneGroup = 4

// lanesOf is the part of x that a group of lanes starts with: from at to end.
func lanesOf[T any](x []T, at, end int) []T {
	if at >= end {
		return nil
	}
	return x[at:end]
}

func sumLanes[T, A number](x, _ []T, at, end int, s *[laneGroup]A) {
	x = lanesOf(x, at, end)
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for len(x) >= lanes+laneGroup {
		v := (*[lanes + laneGroup]T)(x)
		s0 = (s0 + A(v[0])) + A(v[lanes+0])
		s1 = (s1 + A(v[1])) + A(v[lanes+1])
		s2 = (s2 + A(v[2])) + A(v[lanes+2])
		s3 = (s3 + A(v[3])) + A(v[lanes+3])
		x = x[min(2*lanes, len(x)):]
	}
	if len(x) >= laneGroup {
		v := (*[laneGroup]T)(x)
		s0, s1, s2, s3 = s0+A(v[0]), s1+A(v[1]), s2+A(v[2]), s3+A(v[3])
		x = x[min(lanes, len(x)):]
	}
	*s = [laneGroup]A{s0, s1, s2, s3}
	for j, v := range x {
		s[j&3] += A(v)
	}
}

func dotLanes[T, A number](x, y []T, at, end int, s *[laneGroup]A) {
	x, y = lanesOf(x, at, end), lanesOf(y, at, end)
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for len(x) >= lanes+laneGroup && len(y) >= lanes+laneGroup {
		v, w := (*[lanes + laneGroup]T)(x), (*[lanes + laneGroup]T)(y)
		s0 = (s0 + A(A(v[0])*A(w[0]))) + A(A(v[lanes+0])*A(w[lanes+0]))
		s1 = (s1 + A(A(v[1])*A(w[1]))) + A(A(v[lanes+1])*A(w[lanes+1]))
		s2 = (s2 + A(A(v[2])*A(w[2]))) + A(A(v[lanes+2])*A(w[lanes+2]))
		s3 = (s3 + A(A(v[3])*A(w[3]))) + A(A(v[lanes+3])*A(w[lanes+3]))
		x, y = x[min(2*lanes, len(x)):], y[min(2*lanes, len(y)):]
	}
	if len(x) >= laneGroup && len(y) >= laneGroup {
		v, w := (*[laneGroup]T)(x), (*[laneGroup]T)(y)
		s0, s1, s2, s3 = s0+A(A(v[0])*A(w[0])), s1+A(A(v[1])*A(w[1])), s2+A(A(v[2])*A(w[2])), s3+A(A(v[3])*A(w[3]))
		x, y = x[min(lanes, len(x)):], y[min(lanes, len(y)):]
	}
	*s = [laneGroup]A{s0, s1, s2, s3}
	for j, v := range x {
		s[j&3] += A(A(v) * A(y[j]))
	}
}

func minLanes[T number](x, _ []T, at, end int, s *[laneGroup]T) {
	x = lanesOf(x, at, end)
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for len(x) >= lanes+laneGroup {
		v := (*[lanes + laneGroup]T)(x)
		s0 = smaller(smaller(s0, v[0]), v[lanes+0])
		s1 = smaller(smaller(s1, v[1]), v[lanes+1])
		s2 = smaller(smaller(s2, v[2]), v[lanes+2])
		s3 = smaller(smaller(s3, v[3]), v[lanes+3])
		x = x[min(2*lanes, len(x)):]
	}
	if len(x) >= laneGroup {
		v := (*[laneGroup]T)(x)
		s0, s1, s2, s3 = smaller(s0, v[0]), smaller(s1, v[1]), smaller(s2, v[2]), smaller(s3, v[3])
		x = x[min(lanes, len(x)):]
	}
	*s = [laneGroup]T{s0, s1, s2, s3}
	for j, v := range x {
		s[j&3] = smaller(s[j&3], v)
	}
}

func maxLanes[T number](x, _ []T, at, end int, s *[laneGroup]T) {
	x = lanesOf(x, at, end)
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for len(x) >= lanes+laneGroup {
		v := (*[lanes + laneGroup]T)(x)
		s0 = larger(larger(s0, v[0]), v[lanes+0])
		s1 = larger(larger(s1, v[1]), v[lanes+1])
		s2 = larger(larger(s2, v[2]), v[lanes+2])
		s3 = larger(larger(s3, v[3]), v[lanes+3])
		x = x[min(2*lanes, len(x)):]
	}
	if len(x) >= laneGroup {
		v := (*[laneGroup]T)(x)
		s0, s1, s2, s3 = larger(s0, v[0]), larger(s1, v[1]), larger(s2, v[2]), larger(s3, v[3])
		x = x[min(lanes, len(x)):]
	}
	*s = [laneGroup]T{s0, s1, s2, s3}
	for j, v := range x {
		s[j&3] = larger(s[j&3], v)
	}
}
