package library

import (
	"encoding/binary"

	"github.com/tandemrun/tandem/devices"
)

// blurChunk is how many bytes of a row are blurred at a time: their column
// sums stay in the first-level cache.
const blurChunk = 1024

// A blurBuffer holds the column sums of a chunk of a row and of two pixels of
// up to four channels on either side.
type blurBuffer [blurChunk + 4*4]uint16

// blurGo sums columns first and then along the row, four sums in a 64-bit
// word: each fits in 16 bits (255·256 + 128 = 65408).
func blurGo(r devices.Range, a *devices.Args) {
	src, dst := a.Bytes(0), a.Bytes(1)
	width, height, channels := int(devices.Value[int32](a, 2)), int(devices.Value[int32](a, 3)), int(devices.Value[int32](a, 4))
	n := width * channels
	lo, hi := r.Lo[0]*itemBytes, min(r.Hi[0]*itemBytes, n)
	if lo >= hi {
		return
	}
	var sums blurBuffer
	for y := r.Lo[1]; y < r.Hi[1]; y++ {
		var rows [5][]byte
		for i := range rows {
			at := min(max(y+i-2, 0), height-1) * n
			rows[i] = src[at : at+n]
		}
		out := dst[y*n : y*n+n]
		if blurBlocks(&rows, out, lo, hi, channels, &sums) {
			continue
		}
		// Where all neighbours lie inside the row, whole words; else bytes.
		from := min(max(lo, 2*channels), hi)
		to := max(min(hi, n-2*channels), from)
		to = from + (to-from)/8*8
		for x := lo; x < from; x++ {
			out[x] = blurByte(&rows, x, width, channels)
		}
		for x := from; x < to; x += blurChunk {
			blurWords(&rows, out[x:min(x+blurChunk, to)], x, channels)
		}
		for x := to; x < hi; x++ {
			out[x] = blurByte(&rows, x, width, channels)
		}
	}
}

// blurByte blurs one byte of a row, at the edges too.
func blurByte(rows *[5][]byte, i, width, channels int) byte {
	x, c := i/channels, i%channels
	var v [5]uint32
	for d := range v {
		at := min(max(x+d-2, 0), width-1)*channels + c
		v[d] = uint32(rows[0][at]) + uint32(rows[4][at]) + 4*(uint32(rows[1][at])+uint32(rows[3][at])) + 6*uint32(rows[2][at])
	}
	return byte((v[0] + v[4] + 4*(v[1]+v[3]) + 6*v[2] + 128) >> 8)
}

// blurWords blurs the bytes from x on of a row into out, whose length is a
// multiple of 8 and at most blurChunk.
func blurWords(rows *[5][]byte, out []byte, x, channels int) {
	// Column sums of the bytes from x-2·channels on, those at even places and
	// those at odd places apart, 16 bits each.
	const room = blurChunk + 4*4 + 8
	var even, odd [room]byte
	base, total := x-2*channels, len(out)+4*channels
	r0, r1, r2 := rows[0][base:][:total], rows[1][base:][:total], rows[2][base:][:total]
	r3, r4 := rows[3][base:][:total], rows[4][base:][:total]
	for k := 0; k < total; k += 8 {
		at := min(k, total-8) // the last word may overlap the one before; total is even
		w, v := word(r0, at), word(r4, at)
		e, o := w&evenBytes+v&evenBytes, w>>8&evenBytes+v>>8&evenBytes
		w, v = word(r1, at), word(r3, at)
		e, o = e+4*(w&evenBytes+v&evenBytes), o+4*(w>>8&evenBytes+v>>8&evenBytes)
		w = word(r2, at)
		e, o = e+6*(w&evenBytes), o+6*(w>>8&evenBytes)
		binary.LittleEndian.PutUint64(even[at:at+8:at+8], e)
		binary.LittleEndian.PutUint64(odd[at:at+8:at+8], o)
	}
	// The neighbours of an even byte at a distance of channels are odd bytes
	// where channels is odd. Byte 2·j from base is sum j of even, at byte 2·j
	// of it; the first output byte is 2·channels from base.
	c := 2 * channels
	evenLeft, evenRight, oddLeft, oddRight := even[:], even[:], even[:], even[:]
	el, er, ol, or := c-channels, c+channels, c-channels, c+channels
	if channels%2 == 1 {
		evenLeft, evenRight = odd[:], odd[:]
		el, er = c-channels-1, c+channels-1
		ol, or = c-channels+1, c+channels+1
	} else {
		oddLeft, oddRight = odd[:], odd[:]
	}
	const half = 128 * laneOnes
	for k := 0; k+8 <= len(out); k += 8 {
		e := word(even[:], k) + word(even[:], k+2*c) + 6*word(even[:], k+c) + 4*(word(evenLeft, k+el)+word(evenRight, k+er)) + half
		o := word(odd[:], k) + word(odd[:], k+2*c) + 6*word(odd[:], k+c) + 4*(word(oddLeft, k+ol)+word(oddRight, k+or)) + half
		binary.LittleEndian.PutUint64(out[k:k+8:k+8], e>>8&evenBytes|o&^evenBytes)
	}
}

// word reads eight bytes. The constant capacity saves the compiler a guard
// against pointers behind the end.
func word(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at : at+8 : at+8]) }
