package arrayfile

import (
	"encoding/binary"
	"math"

	"github.com/tandemrun/tandem/devices"
)

// getBits is an element's bytes as a number, without regard to its type.
func getBits(mem []byte) uint64 {
	switch len(mem) {
	case 1:
		return uint64(mem[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(mem))
	case 4:
		return uint64(binary.NativeEndian.Uint32(mem))
	}
	return binary.NativeEndian.Uint64(mem)
}

// setBits is the way back.
func setBits(mem []byte, bits uint64) {
	switch len(mem) {
	case 1:
		mem[0] = byte(bits)
	case 2:
		binary.NativeEndian.PutUint16(mem, uint16(bits))
	case 4:
		binary.NativeEndian.PutUint32(mem, uint32(bits))
	default:
		binary.NativeEndian.PutUint64(mem, bits)
	}
}

// elementFloat is the value of an element of a floating-point type.
func elementFloat(t devices.DType, mem []byte) float64 {
	bits := getBits(mem)
	switch t {
	case devices.Float16:
		return halfToFloat(uint16(bits))
	case devices.Float32:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// elementInt is the value of an element of a signed type.
func elementInt(t devices.DType, mem []byte) int64 {
	unused := 64 - 8*t.Size()
	return int64(getBits(mem)) << unused >> unused
}
