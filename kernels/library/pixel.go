package library

import (
	"encoding/binary"

	"github.com/tandemrun/tandem/devices"
)

func grayGo(r devices.Range, a *devices.Args) {
	src, dst := a.Bytes(0), a.Bytes(1)
	width, channels := int(devices.Value[int32](a, 2)), int(devices.Value[int32](a, 3))
	for y := r.Lo[1]; y < r.Hi[1]; y++ {
		lo, hi := y*width+r.Lo[0], y*width+r.Hi[0]
		s, d := src[lo*channels:hi*channels], dst[lo:hi]
		n := grayBlocks(d, s, channels)
		s, d = s[n*channels:], d[n:]
		switch channels {
		case 3:
			for len(d) >= 4 && len(s) >= 12 {
				p, q := (*[12]byte)(s), (*[4]byte)(d)
				q[0], q[1] = luma(p[0], p[1], p[2]), luma(p[3], p[4], p[5])
				q[2], q[3] = luma(p[6], p[7], p[8]), luma(p[9], p[10], p[11])
				s, d = s[12:], d[4:]
			}
			for i := range d {
				d[i] = luma(s[3*i], s[3*i+1], s[3*i+2])
			}
		case 4:
			for len(d) >= 4 && len(s) >= 16 {
				p, q := (*[16]byte)(s), (*[4]byte)(d)
				q[0], q[1] = luma(p[0], p[1], p[2]), luma(p[4], p[5], p[6])
				q[2], q[3] = luma(p[8], p[9], p[10]), luma(p[12], p[13], p[14])
				s, d = s[16:], d[4:]
			}
			for i := range d {
				d[i] = luma(s[4*i], s[4*i+1], s[4*i+2])
			}
		default:
			copy(d, s)
		}
	}
}

func luma(r, g, b byte) byte {
	return byte((77*uint32(r) + 150*uint32(g) + 29*uint32(b) + 128) >> 8)
}

// Four bytes in the lanes of a word, 16 bits each: the even bytes of a word of
// eight, or the odd ones.
const (
	evenBytes = 0x00ff00ff00ff00ff
	laneOnes  = 0x0001000100010001
)

func thresholdGo(r devices.Range, a *devices.Args) {
	lo, hi := r.Lo[0], r.Hi[0]
	s, d := a.Bytes(0)[lo:hi], a.Bytes(1)[lo:hi]
	level := uint64(min(max(devices.Value[int32](a, 2), 0), 256))
	if level < 256 {
		n := thresholdBlocks(d, s, byte(level))
		s, d = s[n:], d[n:]
	}
	// v + 256 - level has bit 8 set where v ≥ level; times 255 fills a byte.
	add := (256 - level) * laneOnes
	for len(s) >= 8 && len(d) >= 8 {
		w := binary.LittleEndian.Uint64(s)
		even := ((w&evenBytes + add) >> 8 & laneOnes) * 255
		odd := ((w>>8&evenBytes + add) >> 8 & laneOnes) * 255
		binary.LittleEndian.PutUint64(d, even|odd<<8)
		s, d = s[8:], d[8:]
	}
	for i, v := range s {
		d[i] = 0
		if uint64(v) >= level {
			d[i] = 255
		}
	}
}
