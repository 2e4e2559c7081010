package sycl

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// assemble makes a SPIR-V module of instructions: operation, operands.
func assemble(bound uint32, instructions ...[]uint32) []byte {
	words := []uint32{0x07230203, 0x00010000, 0, bound, 0}
	for _, in := range instructions {
		words = append(words, uint32(len(in))<<16|in[0])
		words = append(words, in[1:]...)
	}
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// name is a SPIR-V string literal.
func name(s string) []uint32 {
	b := append([]byte(s), 0)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	var words []uint32
	for ; len(b) > 0; b = b[4:] {
		words = append(words, binary.LittleEndian.Uint32(b))
	}
	return words
}

// fillModule is a kernel "sevens" that writes 7 where its work-item's id points.
func fillModule() []byte {
	const (
		void = iota + 1
		uint32T
		uint64T
		vec3
		input
		global
		function
		seven
		id
		main
		pointer
		label
		loaded
		index
		address
		bound
	)
	return assemble(bound,
		[]uint32{17, 4}, []uint32{17, 6}, []uint32{17, 11}, // capabilities: addresses, kernel, int64
		[]uint32{14, 2, 2}, // memory model: physical64, OpenCL
		append([]uint32{15, 6, main}, append(name("sevens"), id)...),
		[]uint32{71, id, 11, 28}, // built-in: the global invocation id
		[]uint32{19, void},
		[]uint32{21, uint32T, 32, 0},
		[]uint32{21, uint64T, 64, 0},
		[]uint32{23, vec3, uint64T, 3},
		[]uint32{32, input, 1, vec3},
		[]uint32{32, global, 5, uint32T},
		[]uint32{33, function, void, global},
		[]uint32{43, uint32T, seven, 7},
		[]uint32{59, input, id, 1},
		[]uint32{54, void, main, 0, function},
		[]uint32{55, global, pointer},
		[]uint32{248, label},
		[]uint32{61, vec3, loaded, id, 2, 32},
		[]uint32{81, uint64T, index, loaded, 0},
		[]uint32{70, global, address, pointer, index},
		[]uint32{62, address, seven, 2, 4},
		[]uint32{253},
		[]uint32{56},
	)
}

func TestSPIRV(t *testing.T) {
	d := open(t)
	if !slices.Contains(d.info.Languages, devices.LangSPIRV) {
		t.Skipf("%s takes no SPIR-V", d.info.ID)
	}
	p := compile(t, d, &devices.Source{Name: "sevens.spv", Language: devices.LangSPIRV, Text: fillModule()})
	if !slices.Equal(p.built.entries, []string{"sevens"}) {
		t.Errorf("entries %v", p.built.entries)
	}
	q, k := newQueue(t, d), kernelOf(t, p, "sevens")
	out := filled(t, q, make([]uint32, 103))
	launch(t, q, k, line(101, 16), devices.Arg{Buffer: out})
	for i, got := range contents[uint32](t, q, out) {
		if want := map[bool]uint32{true: 7}[i < 101]; got != want {
			t.Fatalf("cell %d holds %d, want %d", i, got, want)
		}
	}
}
