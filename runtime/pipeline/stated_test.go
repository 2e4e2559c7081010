package pipeline

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// fillModule is a SPIR-V module with a kernel "fill" that writes its second
// argument, a number of 32 bits, where its work-item's id points in the first.
func fillModule() []byte {
	const (
		void = iota + 1
		uint32T
		uint64T
		vec3
		input
		global
		function
		id
		fill
		pointer
		number
		label
		loaded
		index
		address
		bound
	)
	words := []uint32{0x07230203, 0x00010000, 0, bound, 0}
	for _, in := range [][]uint32{
		{17, 4}, {17, 6}, {17, 11}, // capabilities: addresses, kernel, int64
		{14, 2, 2}, // memory model: physical64, OpenCL
		{15, 6, fill, 'f' | 'i'<<8 | 'l'<<16 | 'l'<<24, 0, id},
		{71, id, 11, 28}, // built-in: the global invocation id
		{19, void},
		{21, uint32T, 32, 0},
		{21, uint64T, 64, 0},
		{23, vec3, uint64T, 3},
		{32, input, 1, vec3},
		{32, global, 5, uint32T},
		{33, function, void, global, uint32T},
		{59, input, id, 1},
		{54, void, fill, 0, function},
		{55, global, pointer},
		{55, uint32T, number},
		{248, label},
		{61, vec3, loaded, id, 2, 32},
		{81, uint64T, index, loaded, 0},
		{70, global, address, pointer, index},
		{62, address, number, 2, 4},
		{253},
		{56},
	} {
		words = append(words, uint32(len(in))<<16|in[0])
		words = append(words, in[1:]...)
	}
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// TestSPIRV runs a module on a device that takes it, once for each sign.
func TestSPIRV(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "fill.spv", string(fillModule()))
	text := `buffers:
  x: {dtype: uint32, shape: [101], fill: 7, out: x.npy}
  y: {dtype: int32, shape: [101], fill: 7, out: y.npy}
steps:
  - {kernel: {file: fill.spv}, global: [100], local: [16], args: [{buf: x, mode: w}, {val: 4000000000, type: uint}]}
  - {kernel: {file: fill.spv, entry: fill, lang: spirv}, global: [101], args: {arg0: y, arg1: -5}}
`
	text = strings.Replace(text, "mode: w", "mode: rw", 1) // what is left unwritten keeps its value
	p, err := Load(write(t, dir, "p.yaml", text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Steps()[0].Kernel.Signature(); !strings.HasPrefix(got, "fill(arg0 rw ") || !strings.HasSuffix(got, ", arg1 uint)") {
		t.Errorf("the first step's kernel is %s", got)
	}
	for name, want := range map[string]string{
		"type: int":   "4000000000", // does not fit
		"type: float": "float",
		"type: ulong": "ulong",
	} {
		_, err := Load(write(t, dir, "bad.yaml", strings.Replace(text, "type: uint}", name+"}", 1)), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a fault about %s", name, err, want)
		}
	}
	s := openSession(t, "")
	if !slices.ContainsFunc(s.Devices(), func(d devices.Info) bool { return slices.Contains(d.Languages, devices.LangSPIRV) }) {
		devicetest.Require(t, "sycl", devices.ErrUnavailable)
		t.Skip("no device takes SPIR-V")
	}
	run(t, s, p)
	for file, want := range map[string]float64{"x.npy": 4000000000, "y.npy": -5} {
		got, _ := numbers(t, filepath.Join(dir, file))
		for i, v := range got {
			if w := map[bool]float64{true: 7, false: want}[file == "x.npy" && i == 100]; v != w {
				t.Fatalf("%s: element %d is %v, want %v", file, i, v, w)
			}
		}
	}
}

// TestLibraryFaults holds what is said of libraries and of arguments that state
// too little. Running such functions needs a SYCL runtime: the program's
// scripts do.
func TestLibraryFaults(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil || runtime.GOOS != "linux" {
		t.Skipf("a shared library cannot be built here: %v", err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	source := write(t, dir, "f.c", "int tile(void) { return 0; }\nint turn(void) { return 0; }\nint _Zmangled(void) { return 0; }\nint data;\n")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", "libf.so", source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-DONLY", "-o", "libnone.so", write(t, dir, "g.c", "int data;\n")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile("text.so", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	const head = "buffers: {x: {dtype: float32, shape: [8], out: x.npy}}\nsteps:\n"
	for _, c := range []struct{ step, want string }{
		{"{kernel: {file: libf.so, entry: tile}, global: [8], args: [{buf: x}]}", `steps[0].args[0]: a library does not tell what its kernel does with "x"; write {buf: x, mode: r}, w or rw`},
		{"{kernel: {file: libf.so, entry: tile}, global: [8], args: [x]}", `does with "x"`},
		{"{kernel: {file: libf.so, entry: tile}, global: [8], args: [3]}", "a library does not tell the types of its kernel's values; write {val: 3, type: int}"},
		{"{kernel: {file: libf.so, entry: tiel}, global: [8]}", `libf.so has no kernel "tiel", it has tile, turn; did you mean "tile"?`},
		{"{kernel: {file: libf.so}, global: [8]}", "libf.so has 2 kernels, tile, turn: say which"},
		{"{kernel: {file: libnone.so, entry: f}, global: [8]}", "libnone.so: no function that can be called"},
		{"{kernel: {file: text.so, entry: f}, global: [8]}", "text.so: no shared library"},
		{"{kernel: {file: absent.so, entry: f}, global: [8]}", "there is no file"},
		{"{kernel: {file: libf.so, entry: tile}, args: [{buf: x, mode: r}]}", "global size"},
	} {
		_, err := Load(write(t, dir, "p.yaml", head+"  - "+c.step+"\n"), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.step, err, c.want)
		}
	}
	p, err := Load(write(t, dir, "p.yaml", head+"  - {kernel: {file: libf.so, entry: turn}, global: [8], args: [{buf: x, mode: rw}, {val: 3, type: ushort}]}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := p.Steps()[0].Kernel
	if len(k.Params) != 2 || k.Params[1].Type.Size != 2 || k.Params[0].Mode.String() != "rw" || k.Variant(devices.LangSYCLLibrary).Entry != "turn" {
		t.Errorf("the kernel is %s", k.Signature())
	}
}
