package builtin

import (
	"hash/crc32"

	"github.com/tandemrun/tandem/devices"
)

func conv3x3Go(r devices.Range, a *devices.Args) {
	src, dst := a.Bytes(0), a.Bytes(1)
	width := int(devices.Value[int32](a, 2))
	var k [9]int32
	for i := range k {
		k[i] = int32(devices.Value[int16](a, 3+i))
	}
	shift := devices.Value[uint8](a, 12)
	if width == 0 {
		return
	}
	height := len(src) / width
	for y := r.Lo[1]; y < r.Hi[1]; y++ {
		for x := r.Lo[0]; x < min(r.Hi[0], width); x++ {
			sum := int32(0)
			for i, w := range k {
				row := min(max(y+i/3-1, 0), height-1)
				col := min(max(x+i%3-1, 0), width-1)
				sum += w * int32(src[row*width+col])
			}
			dst[y*width+x] = byte(min(max(sum>>shift, 0), 255))
		}
	}
}

// The two below need all of their input for any of their output: they run as
// one piece, whose first work-item does it all.

func histogramGo(r devices.Range, a *devices.Args) {
	if r.Lo[0] != 0 {
		return
	}
	bins := devices.Slice[uint32](a, 1)
	clear(bins)
	for _, v := range a.Bytes(0)[:r.Global[0]] {
		bins[v]++
	}
}

func crc32Go(r devices.Range, a *devices.Args) {
	if r.Lo[0] != 0 {
		return
	}
	devices.Slice[uint32](a, 1)[0] = crc32.ChecksumIEEE(a.Bytes(0)[:r.Global[0]])
}

func firGo(r devices.Range, a *devices.Args) {
	x, y := devices.Slice[int16](a, 0), devices.Slice[int32](a, 1)
	shift := devices.Value[uint8](a, 10)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		sum := int64(0)
		for t := 0; t < 8 && t <= i; t++ {
			sum += int64(devices.Value[int16](a, 2+t)) * int64(x[i-t])
		}
		y[i] = int32(sum >> shift)
	}
}

func matvecGo(r devices.Range, a *devices.Args) {
	m, x, y := devices.Slice[int16](a, 0), devices.Slice[int16](a, 1), devices.Slice[int32](a, 2)
	cols, shift := int(devices.Value[int32](a, 3)), devices.Value[uint8](a, 4)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		sum := int64(0)
		for j, v := range m[i*cols : (i+1)*cols] {
			sum += int64(v) * int64(x[j])
		}
		y[i] = int32(sum << 16 >> 16 >> shift)
	}
}
