package spirv

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// assemble makes a module of instructions: operation, operands.
func assemble(order binary.ByteOrder, instructions ...[]uint32) []byte {
	words := []uint32{0x07230203, 0x00010000, 0, 100, 0}
	for _, in := range instructions {
		words = append(words, uint32(len(in))<<16|in[0])
		words = append(words, in[1:]...)
	}
	b := make([]byte, 4*len(words))
	for i, w := range words {
		order.PutUint32(b[4*i:], w)
	}
	return b
}

// text is a string literal.
func text(s string) []uint32 {
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

func with(words []uint32, more ...uint32) []uint32 { return append(words, more...) }

// sample is a module with two kernels and one function that is none.
func sample(order binary.ByteOrder) []byte {
	return assemble(order,
		[]uint32{opCapability, capabilityDouble},
		with(append([]uint32{opEntryPoint, modelKernel, 50}, text("scale")...)),
		with(append([]uint32{opEntryPoint, modelKernel, 60}, text("other")...)),
		[]uint32{opExecutionMode, 60, modeLocalSize, 8, 4, 1},
		append([]uint32{opName, 51}, text("x")...),
		append([]uint32{opName, 53}, text("factor")...),
		[]uint32{opDecorate, 52, decorationParam, attributeNoWrite},
		[]uint32{opDecorate, 56, decorationParam, attributeByValue},
		[]uint32{opTypeInt, 1, 32, 0},
		[]uint32{opTypeFloat, 2, 64},
		[]uint32{opTypeVector, 3, 1, 3},
		[]uint32{opConstant, 1, 4, 5},
		[]uint32{opTypeArray, 5, 1, 4},
		[]uint32{opTypeStruct, 6, 1, 2, 5},
		[]uint32{opTypePointer, 7, classGlobal, 1},
		[]uint32{opTypePointer, 8, classWorkgroup, 1},
		[]uint32{opTypePointer, 9, classFunction, 6},
		[]uint32{opFunction, 1, 50, 0, 10},
		[]uint32{opFunctionParam, 7, 51}, []uint32{opFunctionParam, 7, 52}, []uint32{opFunctionParam, 2, 53},
		[]uint32{opFunctionParam, 3, 54}, []uint32{opFunctionParam, 8, 55}, []uint32{opFunctionParam, 9, 56},
		[]uint32{opFunctionEnd},
		[]uint32{opFunction, 1, 70, 0, 10}, []uint32{opFunctionParam, 1, 71}, []uint32{opFunctionEnd},
		[]uint32{opFunction, 1, 60, 0, 10}, []uint32{opFunctionEnd},
	)
}

func TestEntries(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		path := filepath.Join(t.TempDir(), "k.spv")
		if err := os.WriteFile(path, sample(order), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := Entries(path)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d kernels, %v", len(list), err)
		}
		k := list[0]
		if len(k.Params) != 6 || k.Name != "scale" || k.NoSplit == "" {
			t.Fatalf("%+v", k)
		}
		for i, want := range []struct {
			name string
			kind kernels.ParamKind
			mode kernels.Access
			size int
		}{
			{"x", kernels.Buffer, kernels.ReadWrite, 0}, {"arg1", kernels.Buffer, kernels.Read, 0}, {"factor", kernels.Value, 0, 8},
			{"arg3", kernels.Value, 0, 16}, {"arg4", kernels.Local, 0, 0}, {"arg5", kernels.Value, 0, 40},
		} {
			if p := k.Params[i]; p.Name != want.name || p.Kind != want.kind || p.Mode != want.mode || p.Type.Size != want.size {
				t.Errorf("parameter %d is %+v, want %+v", i, p, want)
			}
		}
		v := list[1].Variant(devices.LangSPIRV)
		if v.FixedLocal != [3]int{8, 4, 1} || v.Entry != "other" || len(list[1].Params) != 0 || v.Source.Name != "k.spv" {
			t.Errorf("the second kernel: %+v", v)
		}
		if missing := v.Needs.Missing(devices.Info{}); len(missing) != 1 || !strings.Contains(missing[0], "Float64") {
			t.Errorf("it needs %q", missing)
		}
	}
}

func TestFaults(t *testing.T) {
	entryOf := func(typ []uint32, class ...uint32) []byte {
		param := typ[1]
		list := [][]uint32{append([]uint32{opEntryPoint, modelKernel, 50}, text("k")...), typ}
		if len(class) > 0 {
			list, param = append(list, []uint32{opTypePointer, 90, class[0], typ[1]}), 90
		}
		return assemble(binary.LittleEndian, append(list, []uint32{opFunction, 1, 50, 0, 10}, []uint32{opFunctionParam, param, 51}, []uint32{opFunctionEnd})...)
	}
	whole := sample(binary.LittleEndian)
	for name, c := range map[string]struct {
		module []byte
		words  string
	}{
		"empty":         {nil, "no SPIR-V module"},
		"text":          {[]byte("__kernel void k(__global int *x) {}"), "no SPIR-V module"},
		"odd length":    {whole[:len(whole)-1], "no SPIR-V module"},
		"cut":           {whole[:len(whole)-20], "is damaged at byte"},
		"no kernel":     {assemble(binary.LittleEndian, []uint32{opCapability, 1}), "has no kernel"},
		"short":         {assemble(binary.LittleEndian, []uint32{opTypeInt, 1}), "operation 21 has 1 operands"},
		"unknown type":  {entryOf([]uint32{25, 1}), "neither a number nor a pointer"},
		"odd integer":   {entryOf([]uint32{opTypeInt, 1, 24, 0}), "is not one of numbers"},
		"private":       {entryOf([]uint32{opTypeInt, 1, 32, 0}, classFunction), "points to private memory"},
		"generic":       {entryOf([]uint32{opTypeInt, 1, 32, 0}, 8), "memory of class 8"},
		"of itself":     {entryOf([]uint32{opTypeStruct, 1, 1}), "is not one of numbers"},
		"vector of two": {entryOf([]uint32{opTypeVector, 1, 1, 2}), "is not one of numbers"},
	} {
		list, err := Parse("k.spv", c.module)
		if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.words) || !strings.HasPrefix(err.Error(), "k.spv: ") {
			t.Errorf("%s: %d kernels, %v, want %q", name, len(list), err, c.words)
		}
	}
	if _, err := Entries(filepath.Join(t.TempDir(), "absent.spv")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample(binary.LittleEndian))
	f.Add(sample(binary.BigEndian))
	f.Add([]byte{3, 2, 0x23, 7})
	f.Fuzz(func(t *testing.T, module []byte) {
		list, err := Parse("k.spv", module)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%d kernels, %v", len(list), err)
		}
		for _, k := range list {
			_ = k.Signature()
		}
	})
}
