package library

import "unsafe"

//go:noescape
func escapeFloat32(n *[16]int32, cr *[16]float32, row *[2]float32, limit int)

//go:noescape
func escapeFloat64(n *[8]int64, cr *[8]float64, row *[2]float64, limit int)

// escapeRow counts the steps of the pixels of a row, whose real parts are
// left + step·(x + i), in blocks; false where that takes the loop in Go. Pixels
// that a last block lacks are computed as the last one.
func escapeRow[T real](d []uint16, left, step T, x int, ci T, limit int) bool {
	if !avx2 {
		return false
	}
	var z T
	per := 64 / int(unsafe.Sizeof(z))
	var cr [16]T
	for len(d) > 0 {
		n := min(per, len(d))
		for i := range cr[:per] {
			cr[i] = left + T(step*T(x+min(i, n-1)))
		}
		switch c := any(&cr).(type) {
		case *[16]float32:
			var steps [16]int32
			escapeFloat32(&steps, c, &[2]float32{float32(ci), 4}, limit)
			for i := range d[:n] {
				d[i] = uint16(steps[i])
			}
		case *[16]float64:
			var steps [8]int64
			escapeFloat64(&steps, (*[8]float64)(c[:]), &[2]float64{float64(ci), 4}, limit)
			for i := range d[:n] {
				d[i] = uint16(steps[i])
			}
		}
		d, x = d[n:], x+n
	}
	return true
}
