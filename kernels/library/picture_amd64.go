package library

// pictureBlock is how many bytes of a picture the loops of picture_amd64.s
// write at a time.
const pictureBlock = 32

//go:noescape
func grayThree(dst, src *byte, n int)

//go:noescape
func grayFour(dst, src *byte, n int)

//go:noescape
func blurColumns(sums *uint16, r0, r1, r2, r3, r4 *byte, n int)

//go:noescape
func blurRow(dst *byte, sums *uint16, channels, n int)

//go:noescape
func sobelPixels(dst, top, mid, low *byte, n int)

// grayBlocks makes whole blocks of pixels of three or four channels gray and
// says how many pixels those are.
func grayBlocks(dst, src []byte, channels int) int {
	n := len(dst) / pictureBlock
	if channels == 3 {
		// The last four pixels of a block are read with four bytes of the next.
		n = min(n, (len(src)-4)/(3*pictureBlock))
	}
	if !avx2 || n <= 0 {
		return 0
	}
	_ = src[n*pictureBlock*channels-1]
	switch channels {
	case 3:
		grayThree(&dst[0], &src[0], n)
	case 4:
		grayFour(&dst[0], &src[0], n)
	default:
		return 0
	}
	return n * pictureBlock
}

// sobelBlocks computes pixels that begin one after the first of the rows; none,
// and false, where they are less than a block.
func sobelBlocks(dst, top, mid, low []byte) bool {
	n, size := len(dst)/pictureBlock, len(dst)
	if !avx2 || n == 0 {
		return false
	}
	top, mid, low = top[:size+2], mid[:size+2], low[:size+2]
	sobelPixels(&dst[0], &top[0], &mid[0], &low[0], n)
	if at := size - pictureBlock; size%pictureBlock != 0 { // ends with the last pixel and overlaps the block before
		sobelPixels(&dst[at], &top[at], &mid[at], &low[at], 1)
	}
	return true
}

// blurColumnsStep is how many columns blurColumns sums at a time.
const blurColumnsStep = 16

// blurBlocks blurs the bytes from lo to hi of a row into out, whose first is
// the row's; nothing, and false, where they are less than a block. The contents
// of sums are lost.
func blurBlocks(rows *[5][]byte, out []byte, lo, hi, channels int, sums *blurBuffer) bool {
	if !avx2 || hi-lo < pictureBlock {
		return false
	}
	for at := lo; at+pictureBlock <= hi; at += blurChunk {
		n := min(blurChunk, hi-at) / pictureBlock * pictureBlock
		blurSpan(rows, out, at, at+n, channels, sums)
	}
	if (hi-lo)%pictureBlock != 0 { // a block that ends with the last byte and overlaps the one before
		blurSpan(rows, out, hi-pictureBlock, hi, channels, sums)
	}
	return true
}

// blurSpan blurs whole blocks, at most blurChunk bytes. Beyond the ends of the
// row the sums of the outermost pixel repeat.
func blurSpan(rows *[5][]byte, out []byte, lo, hi, channels int, sums *blurBuffer) {
	from, to := max(lo-2*channels, 0), min(hi+2*channels, len(out))
	left := from - (lo - 2*channels)
	all := sums[:hi-lo+4*channels]
	inside := all[left : left+to-from]
	whole := len(inside) / blurColumnsStep * blurColumnsStep
	blurSums(rows, inside[:whole], from)
	if rest := len(inside) - blurColumnsStep; whole < len(inside) { // overlaps as above
		blurSums(rows, inside[rest:], from+rest)
	}
	for i := left - 1; i >= 0; i-- {
		all[i] = all[i+channels]
	}
	for i := left + len(inside); i < len(all); i++ {
		all[i] = all[i-channels]
	}
	blurRow(&out[lo], &all[0], channels, (hi-lo)/pictureBlock)
}

// blurSums are the sums of the columns of five rows from x on, a multiple of
// blurColumnsStep.
func blurSums(rows *[5][]byte, sums []uint16, x int) {
	end := x + len(sums)
	r0, r1, r2, r3, r4 := rows[0][x:end], rows[1][x:end], rows[2][x:end], rows[3][x:end], rows[4][x:end]
	blurColumns(&sums[0], &r0[0], &r1[0], &r2[0], &r3[0], &r4[0], len(sums)/blurColumnsStep)
}
