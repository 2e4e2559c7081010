package library

import "github.com/tandemrun/tandem/kernels"

// whole is the band of an array that every work-item may read all of. Saying so
// is better than saying nothing: a nil Band reads as "not known".
func whole(param string) kernels.BandFunc {
	return func(c *kernels.Call) (kernels.Band, error) {
		return kernels.Band{Dim: 0, Stride: 0, Low: 0, High: c.Array(param).Elements()}, nil
	}
}

// rowBlocks is the band of a kernel whose work-items of index y in dimension
// dim touch the n rows from y·n on. A row is everything but the first
// dimension of the shape.
func rowBlocks(param string, dim int, n int64) kernels.BandFunc {
	return func(c *kernels.Call) (kernels.Band, error) {
		a := c.Array(param)
		row := int64(1)
		for _, d := range a.Shape[min(1, len(a.Shape)):] {
			row *= d
		}
		return kernels.Band{Dim: dim, Stride: n * row, High: n * row}, nil
	}
}
