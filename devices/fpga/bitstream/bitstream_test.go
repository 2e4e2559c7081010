package bitstream

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func realGBS(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/nlb_400.gbs")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	realInterface   = "69528db6eb31577a8c3668f9faa081f6"
	realAccelerator = "d8424dc4a4a3c413f89e433683f9040b"
)

func TestGBS(t *testing.T) {
	f, err := Read(realGBS(t))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{Format: GBS, Version: "1", InterfaceID: realInterface,
		Accelerators: []Accelerator{{"nlb_400", realAccelerator, 1}},
		Sections:     []Section{{"metadata", 20, 405}, {"bitstream", 425, 1}}}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("got %+v, want %+v", f, want)
	}
	if err := f.Fits("69528DB6-EB31-577A-8C36-68F9FAA081F6\n"); err != nil {
		t.Errorf("the right board: %v", err)
	}
	err = f.Fits("aaaaaaaa-eb31-577a-8c36-68f9faa081f6")
	var m *MismatchError
	if !errors.As(err, &m) || m.Image != realInterface || m.Board != "aaaaaaaaeb31577a8c3668f9faa081f6" || !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("another board: %v", err)
	}
}

// elfFile makes an ELF file (64 bits, little-endian) of named sections.
func elfFile(sections map[string][]byte, order ...string) []byte {
	le := binary.LittleEndian
	names := []byte{0}
	var body []byte
	type place struct{ name, at, size int }
	var places []place
	for _, n := range append(order, ".shstrtab") {
		data := sections[n]
		p := place{name: len(names), at: 64 + len(body)}
		names = append(append(names, n...), 0)
		if n == ".shstrtab" {
			data = names
		}
		p.size = len(data)
		body = append(body, data...)
		places = append(places, p)
	}
	b := make([]byte, 64)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 1)  // relocatable
	le.PutUint16(b[18:], 62) // x86-64
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[40:], uint64(64+len(body)))
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[58:], 64)
	le.PutUint16(b[60:], uint16(len(places)+1))
	le.PutUint16(b[62:], uint16(len(places)))
	b = append(append(b, body...), make([]byte, 64)...)
	for i, p := range places {
		h := make([]byte, 64)
		le.PutUint32(h, uint32(p.name))
		le.PutUint32(h[4:], 1)
		if i == len(places)-1 {
			le.PutUint32(h[4:], 3)
		}
		le.PutUint64(h[24:], uint64(p.at))
		le.PutUint64(h[32:], uint64(p.size))
		b = append(b, h...)
	}
	return b
}

func aocx(fpga []byte) []byte {
	return elfFile(map[string][]byte{
		".acl.board": []byte("pac_a10\x00"), ".acl.target": []byte("fpga"), ".acl.version": []byte("19.4.0.64"),
		".acl.kernel_arg_info.xml": []byte(`<?xml version="1.0"?><board><kernel name="vadd"><argument name="x" type_name="float*" address_qualifier="1" size="8"/>` +
			`<argument name="n" type_name="int"/></kernel><kernel name="idle"/></board>`),
		".acl.quartus_report.txt": []byte("ALUTs: 1000\nActual clock freq: 312.5\n"),
		".acl.fpga.bin":           fpga,
	}, ".acl.board", ".acl.target", ".acl.version", ".acl.kernel_arg_info.xml", ".acl.quartus_report.txt", ".acl.fpga.bin")
}

func TestAOCX(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(realGBS(t)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, fpga := range map[string][]byte{
		"plain":  realGBS(t),
		"packed": elfFile(map[string][]byte{".acl.gbs.gz": packed.Bytes()}, ".acl.gbs.gz"),
	} {
		f, err := Read(aocx(fpga))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if f.Format != AOCX || f.Board != "pac_a10" || f.Target != "fpga" || f.Version != "19.4.0.64" || f.InterfaceID != realInterface || len(f.Sections) != 6 {
			t.Errorf("%s: %+v", name, f)
		}
		want := []Kernel{{"vadd", []Arg{{"x", "float*", "1", 8}, {"n", "int", "", 0}}}, {"idle", nil}}
		if !reflect.DeepEqual(f.Kernels, want) {
			t.Errorf("%s: kernels %+v, want %+v", name, f.Kernels, want)
		}
		if !reflect.DeepEqual(f.ClocksMHz, []Clock{{"kernel", 312.5}}) || len(f.Accelerators) != 1 || f.Accelerators[0].ID != realAccelerator {
			t.Errorf("%s: clocks %v, accelerators %v", name, f.ClocksMHz, f.Accelerators)
		}
	}
	if f, err := Read(aocx(nil)); err != nil || f.InterfaceID != "" || f.Fits("12") != nil {
		t.Errorf("an AOCX without a bitstream: %+v, %v", f, err)
	}
}

// xclbin makes an xclbin file of sections by kind.
func xclbin(kinds []uint32, bodies ...[]byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, xclbinHead+sectionHead*len(bodies))
	copy(b, xclbinMagic)
	b[xclbinMajor], b[xclbinMinor] = 2, 14
	le.PutUint16(b[xclbinPatch:], 354)
	copy(b[xclbinVBNV:], "xilinx_u250_gen3x16_xdma_4_1")
	for i := range 16 {
		b[xclbinROM+i], b[xclbinUUID+i] = byte(0x10+i), byte(0xa0+i)
	}
	le.PutUint32(b[xclbinSections:], uint32(len(bodies)))
	for i, body := range bodies {
		h := b[xclbinHead+sectionHead*i:]
		le.PutUint32(h, kinds[i])
		copy(h[4:20], "part")
		le.PutUint64(h[24:], uint64(len(b)))
		le.PutUint64(h[32:], uint64(len(body)))
		b = append(b, body...)
	}
	return b
}

func TestXclbin(t *testing.T) {
	clocks := make([]byte, 2+2*136)
	binary.LittleEndian.PutUint16(clocks, 2)
	for i, c := range []Clock{{"DATA_CLK", 300}, {"KERNEL_CLK", 500}} {
		binary.LittleEndian.PutUint16(clocks[2+136*i:], uint16(c.MHz))
		copy(clocks[2+136*i+8:], c.Name)
	}
	meta := []byte(`<project><platform><device><core><kernel name="vadd"><port name="M_AXI"/><arg name="a" addressQualifier="1" id="0" size="0x8" type="int*"/></kernel></core></device></platform></project>`)
	f, err := Read(xclbin([]uint32{0, 2, 11, 77}, []byte("bits"), meta, clocks, nil))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{Format: XCLBIN, Version: "2.14.354", Board: "xilinx_u250_gen3x16_xdma_4_1", Target: "hw",
		InterfaceID: "101112131415161718191a1b1c1d1e1f", ID: "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
		Kernels: []Kernel{{"vadd", []Arg{{"a", "int*", "1", 8}}}}, ClocksMHz: []Clock{{"DATA_CLK", 300}, {"KERNEL_CLK", 500}}}
	got := *f
	got.Sections = nil
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("got %+v, want %+v", &got, want)
	}
	var names []string
	for _, s := range f.Sections {
		names = append(names, s.Name)
	}
	if s := strings.Join(names, ","); s != "BITSTREAM part,EMBEDDED_METADATA part,CLOCK_FREQ_TOPOLOGY part,SECTION_77 part" {
		t.Errorf("sections %s", s)
	}
}

func TestDamaged(t *testing.T) {
	gbs := realGBS(t)
	long := bytes.Clone(gbs)
	binary.LittleEndian.PutUint32(long[16:], 1<<31)
	cut := xclbin([]uint32{0}, []byte("bits"))
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"empty":           {nil, "no FPGA image"},
		"text":            {[]byte("hello"), `begins with "hello"`},
		"gbs head":        {gbs[:18], "GBS: head: 20 bytes at 0 are outside of the 18"},
		"gbs metadata":    {long, "2147483648 bytes at 20 are outside of the 426"},
		"gbs json":        {append(append([]byte(gbsMagic), 3, 0, 0, 0), "{]}"...), "GBS: metadata of 3 bytes"},
		"gbs id":          {append(append([]byte(gbsMagic), 2, 0, 0, 0), "{}"...), "is no id"},
		"elf":             {[]byte("\x7fELF\x02\x01\x01"), "AOCX:"},
		"elf of others":   {elfFile(map[string][]byte{".text": {1}}, ".text"), "without sections .acl"},
		"xclbin head":     {cut[:400], "xclbin: head: 456 bytes"},
		"xclbin section":  {cut[:len(cut)-1], "4 bytes at 496 are outside of the 499"},
		"xclbin sections": {cut[:470], "head of section 0"},
		"xclbin xml":      {xclbin([]uint32{2}, []byte("<kernel")), "EMBEDDED_METADATA"},
		"xclbin clocks":   {xclbin([]uint32{11}, []byte{9, 0}), "clock 0"},
	} {
		f, err := Read(c.data)
		if err == nil || f != nil || !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v; want an error that says %q", name, f, err, c.says)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(realGBS(f))
	f.Add(aocx(realGBS(f)))
	f.Add(xclbin([]uint32{2, 11}, []byte(`<kernel name="k"/>`), []byte{0, 0}))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(data)
		if (file == nil) == (err == nil) {
			t.Fatalf("%v, %v", file, err)
		}
		if err != nil && !errors.Is(err, devices.ErrInvalid) {
			t.Fatalf("%v wraps no sentinel", err)
		}
		if file != nil {
			for _, s := range file.Sections {
				if s.Offset < 0 || s.Bytes < 0 || s.Offset+s.Bytes > int64(len(data)) {
					t.Fatalf("section %+v of %d bytes", s, len(data))
				}
			}
		}
	})
}
