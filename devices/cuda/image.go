package cuda

import (
	"encoding/binary"
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// The driver is handed the address of an image and takes its size from the
// image's own header. What a truncated or made-up header says must therefore be
// checked before: otherwise the driver reads beyond the end.

const fatbinMagic = 0xBA55ED50

// checkImage looks whether a cubin or fatbin is whole.
func checkImage(image []byte) error {
	le := binary.LittleEndian
	switch {
	case len(image) >= 16 && le.Uint32(image) == fatbinMagic:
		header, size := uint64(le.Uint16(image[6:])), le.Uint64(image[8:])
		if header < 16 || size > uint64(len(image)) || header+size > uint64(len(image)) {
			return fmt.Errorf("a fatbin of %d bytes whose header speaks of %d: it is truncated: %w", len(image), header+size, devices.ErrInvalid)
		}
		return nil
	case len(image) >= 64 && string(image[:4]) == "\x7fELF":
		return checkELF(image)
	}
	return fmt.Errorf("%d bytes that are neither a cubin nor a fatbin: %w", len(image), devices.ErrInvalid)
}

// checkELF checks that all sections and segments of a 64-bit little-endian ELF
// file for CUDA lie within it.
func checkELF(b []byte) error {
	const class64, littleEndian, machineCUDA, noBits = 2, 1, 190, 8
	le := binary.LittleEndian
	if b[4] != class64 || b[5] != littleEndian || le.Uint16(b[18:]) != machineCUDA {
		return fmt.Errorf("an ELF file that is not one of machine code for NVIDIA GPUs: %w", devices.ErrInvalid)
	}
	total := uint64(len(b))
	within := func(at, size uint64) bool { return at <= total && size <= total-at }
	wrong := func(what string, i uint64) error {
		return fmt.Errorf("a cubin of %d bytes whose %s %d lies outside: it is truncated: %w", total, what, i, devices.ErrInvalid)
	}
	sections, size, count := le.Uint64(b[40:]), uint64(le.Uint16(b[58:])), uint64(le.Uint16(b[60:]))
	if count > 0 && (size < 64 || !within(sections, size*count)) {
		return wrong("table of sections, entry", count)
	}
	for i := range count {
		s := b[sections+i*size:]
		if le.Uint32(s[4:]) != noBits && !within(le.Uint64(s[24:]), le.Uint64(s[32:])) {
			return wrong("section", i)
		}
	}
	segments, size, count := le.Uint64(b[32:]), uint64(le.Uint16(b[54:])), uint64(le.Uint16(b[56:]))
	if count > 0 && (size < 56 || !within(segments, size*count)) {
		return wrong("table of segments, entry", count)
	}
	for i := range count {
		s := b[segments+i*size:]
		if !within(le.Uint64(s[8:]), le.Uint64(s[32:])) {
			return wrong("segment", i)
		}
	}
	return nil
}
