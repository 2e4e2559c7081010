package library

import "github.com/tandemrun/tandem/kernels"

func sumOf[T, A number](e, result element) *kernels.Kernel {
	one := []string{"x"}
	first := roundOf("vector.sum", "sum", one, e, result, A(0), sumLanes[T, A], plus[A])
	rest := first
	if e.dtype != result.dtype {
		rest = roundOf("vector.sum", "sum", one, result, result, A(0), sumLanes[A, A], plus[A])
	}
	return reduction("vector.sum", "sum of all elements", one, e, result, first, rest, true)
}

func dotOf[T, A number](e, result element) *kernels.Kernel {
	two := []string{"x", "y"}
	first := roundOf("vector.dot", "dot", two, e, result, A(0), dotLanes[T, A], plus[A])
	rest := roundOf("vector.dot.sum", "sum", two[:1], result, result, A(0), sumLanes[A, A], plus[A])
	return reduction("vector.dot", "sum of all x·y, product and sum each rounded", two, e, result, first, rest, true)
}

func minOf[T number](e element, highest T) *kernels.Kernel {
	one := []string{"x"}
	r := roundOf("vector.min", "min", one, e, e, highest, minLanes[T], smaller[T])
	return reduction("vector.min", "least element; NaN if there is one", one, e, e, r, r, false)
}

func maxOf[T number](e element, lowest T) *kernels.Kernel {
	one := []string{"x"}
	r := roundOf("vector.max", "max", one, e, e, lowest, maxLanes[T], larger[T])
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

// The folds keep the eight lanes in registers; the elements of a last, short
// row go to the lanes that they fall in.

func sumLanes[T, A number](x, _ []T, at, end int, s *[lanesItem]A) {
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	for ; at+lanesItem <= end; at += lanes {
		v := (*[lanesItem]T)(x[at:])
		s0, s1, s2, s3 = s0+A(v[0]), s1+A(v[1]), s2+A(v[2]), s3+A(v[3])
		s4, s5, s6, s7 = s4+A(v[4]), s5+A(v[5]), s6+A(v[6]), s7+A(v[7])
	}
	*s = [lanesItem]A{s0, s1, s2, s3, s4, s5, s6, s7}
	for j := 0; at+j < end; j++ {
		s[j] += A(x[at+j])
	}
}

func dotLanes[T, A number](x, y []T, at, end int, s *[lanesItem]A) {
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	for ; at+lanesItem <= end; at += lanes {
		v, w := (*[lanesItem]T)(x[at:]), (*[lanesItem]T)(y[at:])
		s0, s1 = s0+A(A(v[0])*A(w[0])), s1+A(A(v[1])*A(w[1]))
		s2, s3 = s2+A(A(v[2])*A(w[2])), s3+A(A(v[3])*A(w[3]))
		s4, s5 = s4+A(A(v[4])*A(w[4])), s5+A(A(v[5])*A(w[5]))
		s6, s7 = s6+A(A(v[6])*A(w[6])), s7+A(A(v[7])*A(w[7]))
	}
	*s = [lanesItem]A{s0, s1, s2, s3, s4, s5, s6, s7}
	for j := 0; at+j < end; j++ {
		s[j] += A(A(x[at+j]) * A(y[at+j]))
	}
}

func minLanes[T number](x, _ []T, at, end int, s *[lanesItem]T) {
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	for ; at+lanesItem <= end; at += lanes {
		v := (*[lanesItem]T)(x[at:])
		s0, s1, s2, s3 = smaller(s0, v[0]), smaller(s1, v[1]), smaller(s2, v[2]), smaller(s3, v[3])
		s4, s5, s6, s7 = smaller(s4, v[4]), smaller(s5, v[5]), smaller(s6, v[6]), smaller(s7, v[7])
	}
	*s = [lanesItem]T{s0, s1, s2, s3, s4, s5, s6, s7}
	for j := 0; at+j < end; j++ {
		s[j] = smaller(s[j], x[at+j])
	}
}

func maxLanes[T number](x, _ []T, at, end int, s *[lanesItem]T) {
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	for ; at+lanesItem <= end; at += lanes {
		v := (*[lanesItem]T)(x[at:])
		s0, s1, s2, s3 = larger(s0, v[0]), larger(s1, v[1]), larger(s2, v[2]), larger(s3, v[3])
		s4, s5, s6, s7 = larger(s4, v[4]), larger(s5, v[5]), larger(s6, v[6]), larger(s7, v[7])
	}
	*s = [lanesItem]T{s0, s1, s2, s3, s4, s5, s6, s7}
	for j := 0; at+j < end; j++ {
		s[j] = larger(s[j], x[at+j])
	}
}
