package library

//go:noescape
func resizeOne(dst, top, low *byte, at *int, weights *[2]int16, channels, wy, n int)

//go:noescape
func resizeMany(dst, top, low *byte, at *int, weights *[2]int16, channels, wy, n int)

// resizeBlocks computes bytes of a row in eights and says how many those are.
// p has to have as many places as dst has bytes.
func resizeBlocks(dst, top, low []byte, p *places, channels, wy int) int {
	n := len(dst) / 8
	if !avx2 || n == 0 {
		return 0
	}
	f := resizeMany
	if channels == 1 {
		f = resizeOne
	}
	f(&dst[0], &top[0], &low[0], &p.at[0], &p.weights[0], channels, wy, n)
	return 8 * n
}
