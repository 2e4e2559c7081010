package library

//go:noescape
func priceEight(call, put, spot, strike, years *float32, n int, volatility, growth, minusRate float32)

//go:noescape
func attractEight(b *eightBodies, pos *[4]float32, n int, soft float32)

// priceBlocks prices options in eights and says how many those are; the slices
// are as long as call.
func priceBlocks(call, put, spot, strike, years []float32, rate, volatility float32) int {
	n := len(call) / 8
	if !avx2 || n == 0 {
		return 0
	}
	put, spot, strike, years = put[:len(call)], spot[:len(call)], strike[:len(call)], years[:len(call)]
	priceEight(&call[0], &put[0], &spot[0], &strike[0], &years[0], n, volatility, growth(rate, volatility), -rate)
	return n * 8
}

// attractions computes what bodies pull on each of eight places; false where
// that takes the loop in Go.
func attractions(b *eightBodies, pos [][4]float32, soft float32) bool {
	if !avx2 || len(pos) == 0 {
		return false
	}
	attractEight(b, &pos[0], len(pos), soft)
	return true
}
