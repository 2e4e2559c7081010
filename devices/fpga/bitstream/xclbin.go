package bitstream

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// An xclbin file begins with a head of fixed layout (struct axlf of XRT), whose
// last field is the number of section heads that follow.
const xclbinMagic = "xclbin2\x00"

const (
	xclbinMajor    = 330
	xclbinMinor    = 331
	xclbinPatch    = 328
	xclbinMode     = 332
	xclbinROM      = 336 // 16 bytes: the interface
	xclbinVBNV     = 352 // 64 bytes: vendor, board, name, version
	xclbinUUID     = 416 // 16 bytes: the image
	xclbinSections = 448
	xclbinHead     = 456
	sectionHead    = 40
	maxSections    = 4096
)

// xclbinKinds are the kinds of sections.
var xclbinKinds = []string{"BITSTREAM", "CLEARING_BITSTREAM", "EMBEDDED_METADATA", "FIRMWARE", "DEBUG_DATA", "SCHED_FIRMWARE",
	"MEM_TOPOLOGY", "CONNECTIVITY", "IP_LAYOUT", "DEBUG_IP_LAYOUT", "DESIGN_CHECK_POINT", "CLOCK_FREQ_TOPOLOGY", "MCS", "BMC",
	"BUILD_METADATA", "KEYVALUE_METADATA", "USER_METADATA", "DNA_CERTIFICATE", "PDI", "BITSTREAM_PARTIAL_PDI", "PARTITION_METADATA",
	"EMULATION_DATA", "SYSTEM_METADATA", "SOFT_KERNEL", "ASK_FLASH", "AIE_METADATA", "ASK_GROUP_TOPOLOGY", "ASK_GROUP_CONNECTIVITY"}

var xclbinTargets = map[uint16]string{0: "hw", 1: "hw", 2: "hw_emu", 3: "sw_emu", 4: "hw", 5: "hw"}

func readXclbin(data []byte) (*File, error) {
	head, err := part(data, "xclbin: head", 0, xclbinHead)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	f := &File{
		Format:      XCLBIN,
		Version:     fmt.Sprintf("%d.%d.%d", head[xclbinMajor], head[xclbinMinor], le.Uint16(head[xclbinPatch:])),
		Board:       word(head[xclbinVBNV : xclbinVBNV+64]),
		Target:      xclbinTargets[le.Uint16(head[xclbinMode:])],
		InterfaceID: hex.EncodeToString(head[xclbinROM : xclbinROM+16]),
		ID:          hex.EncodeToString(head[xclbinUUID : xclbinUUID+16]),
	}
	if f.InterfaceID == "00000000000000000000000000000000" {
		f.InterfaceID = ""
	}
	n := le.Uint32(head[xclbinSections:])
	if n > maxSections {
		return nil, fmt.Errorf("xclbin: %d sections: %w", n, devices.ErrInvalid)
	}
	for i := range uint64(n) {
		at := xclbinHead + i*sectionHead
		h, err := part(data, fmt.Sprintf("xclbin: head of section %d", i), at, sectionHead)
		if err != nil {
			return nil, err
		}
		kind := le.Uint32(h)
		name := fmt.Sprintf("SECTION_%d", kind)
		if int(kind) < len(xclbinKinds) && kind < maxSections {
			name = xclbinKinds[kind]
		}
		if own := word(h[4:20]); own != "" {
			name += " " + own
		}
		offset, size := le.Uint64(h[24:]), le.Uint64(h[32:])
		body, err := part(data, "xclbin: section "+name, offset, size)
		if err != nil {
			return nil, err
		}
		f.Sections = append(f.Sections, Section{name, int64(offset), int64(size)})
		if err := f.xclbinSection(kind, body); err != nil {
			return nil, fmt.Errorf("xclbin: section %s: %w", name, err)
		}
	}
	return f, nil
}

// xclbinSection reads a section of a kind that says something of kernels or
// clocks.
func (f *File) xclbinSection(kind uint32, body []byte) error {
	switch kind {
	case 2: // EMBEDDED_METADATA
		k, err := kernelXML(word(body))
		if err != nil {
			return fmt.Errorf("%v: %w", err, devices.ErrInvalid)
		}
		f.Kernels = k
	case 11: // CLOCK_FREQ_TOPOLOGY
		const size = 136
		if len(body) < 2 {
			return fmt.Errorf("%d bytes: %w", len(body), devices.ErrInvalid)
		}
		for i := range uint64(binary.LittleEndian.Uint16(body)) {
			c, err := part(body, fmt.Sprintf("clock %d", i), 2+i*size, size)
			if err != nil {
				return err
			}
			f.ClocksMHz = append(f.ClocksMHz, Clock{word(c[8:]), float64(binary.LittleEndian.Uint16(c))})
		}
	}
	return nil
}
