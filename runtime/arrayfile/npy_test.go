package arrayfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// The files in testdata/npy were written by gen.py beside them, with NumPy
// where NumPy writes such files.
func TestNPYVariants(t *testing.T) {
	rows := array([]int64{2, 3}, float32(1), 2, 3, 4, 5, 6)
	for name, want := range map[string]Array{
		"c_f4": rows, "f_f4": rows, "v2": rows, "v3": rows, "order_of_keys": rows, "double_quotes": rows,
		"tight": rows, "native": rows, "py2_long": rows,
		"be_f8":    array([]int64{2, 3}, 1.0, 2, 3, 4, 5, 6),
		"be_i2":    array([]int64{3}, int16(1), -2, 258),
		"scalar0d": array([]int64{}, 42.5),
		"empty03":  array[float32]([]int64{0, 3}),
		"u1":       array([]int64{3}, uint8(0), 127, 255),
		"bool":     {Header{devices.Bool, []int64{3}}, []byte{1, 0, 1}},
		"one_dim":  array([]int64{6}, float32(1), 2, 3, 4, 5, 6),
		"i8":       array([]int64{3}, int64(-1), 9007199254740993, -9223372036854775808),
		"f2":       {Header{devices.Float16, []int64{3}}, devices.AsBytes([]uint16{floatToHalf(1), floatToHalf(0.333251953125), floatToHalf(65504)})},
	} {
		check(t, name, mustRead(t, "testdata/npy/"+name+".npy", Options{}), want)
	}
	seen := 18
	for name, words := range map[string][]string{
		"c8":             {"'<c8'", "complex"},
		"struct":         {"fields id, v"},
		"object":         {"'|O'", "never unpickled"},
		"text":           {"'<U3'", "text"},
		"bad_not_tuple":  {"shape is 6, not a tuple"},
		"bad_npint":      {"np.int64(2)"},
		"bad_truncated":  {"24 bytes", "only 20"},
		"bad_trailing":   {"24 bytes", "8 too many"},
		"bad_huge_shape": {"(4611686018427387904, 8)", "64 bits"},
		"bad_negative":   {"(-2, -3)", "negative"},
		"bad_header_len": {"4000000000 bytes", "140 left"},
		"bad_no_order":   {"no key 'fortran_order'"},
		"bad_code":       {"__import__"},
		"bad_magic":      {`"NUMPY "`},
		"bad_empty":      {"empty"},
	} {
		path := "testdata/npy/" + name + ".npy"
		_, err := read(path, Options{})
		refused(t, path, err, words...)
		_, err = Stat(path, Options{})
		refused(t, path, err, words...)
		seen++
	}
	if files, _ := filepath.Glob("testdata/npy/*.npy"); len(files) != seen {
		t.Errorf("%d files, %d tested", len(files), seen)
	}
}

// npyFile builds a version 1 file with a header of the test's own.
func npyFile(header string, data []byte) []byte {
	b := append([]byte(npyMagic+"\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(b[8:], uint16(len(header)))
	return append(append(b, header...), data...)
}

func TestNPYHostileHeaders(t *testing.T) {
	with := func(descr, order, shape string) string {
		return fmt.Sprintf("{'descr': %s, 'fortran_order': %s, 'shape': %s}\n", descr, order, shape)
	}
	for header, want := range map[string]string{
		with("'<f4'", "False", "(99999999999999999999,)"):                 "does not fit into 64 bits",
		with("'<f4'", "False", "(0, 4611686018427387904, 8)"):             "64 bits",
		with("'<f4'", "False", "[0]"):                                     "shape is [0], not a tuple",
		with("'<f4'", "False", "('a',)"):                                  "no number",
		with("'<f4'", "False", "(0, -1)"):                                 "negative",
		with("'<f4'", "0", "(0,)"):                                        "fortran_order is 0",
		with("'<f16'", "False", "(0,)"):                                   "another size",
		with("''", "False", "(0,)"):                                       "dtype ''",
		with("'>'", "False", "(0,)"):                                      "dtype '>'",
		with("'<M8[ns]'", "False", "(0,)"):                                "dates",
		with("('<f4', (2,))", "False", "(0,)"):                            "dtype ('<f4', (2,))",
		with("'<f4'", "False", "(0,)") + "x":                              `"x"`,
		with("'<f4'", "False", "(0,)")[:40]:                               "header",
		with("'<f4\n", "False", "(0,)"):                                   "string",
		strings.Repeat("(", 60000):                                        "nested too deeply",
		"{'descr': '<f4', 'descr': '<f4'}":                                "twice",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (0,), 'x': 1}": "unknown key 'x'",
		"": "ends where a value",
		"{'descr': '<f4' 'fortran_order': False}": "comma",
		"(1, 2)": "not a dictionary",
	} {
		path := put(t, "a.npy", npyFile(header, nil))
		_, err := read(path, Options{})
		refused(t, path, err, want)
	}
	path := put(t, "a.npy", []byte(npyMagic+"\x09\x00\x00\x00"))
	_, err := read(path, Options{})
	refused(t, path, err, "version 9.0")
	for n := range 12 {
		path := put(t, "a.npy", []byte(npyMagic + "\x02\x00\x01\x00\x00\x00")[:n])
		_, err := read(path, Options{})
		refused(t, path, err)
	}
}

func TestNPYFortranInChunks(t *testing.T) {
	// More than one chunk, in three dimensions, of every element size.
	for _, dt := range []devices.DType{devices.Uint8, devices.Uint16, devices.Float32, devices.Int64} {
		shape, size := []int64{61, 53, 97}, dt.Size()
		want := make([]byte, 61*53*97*size)
		var file []byte
		for k := range 97 {
			for j := range 53 {
				for i := range 61 {
					at := ((i*53+j)*97 + k) * size
					for b := range size {
						want[at+b] = byte(at*31 + b*7)
					}
					file = append(file, want[at:at+size]...)
				}
			}
		}
		descr := map[devices.DType]string{devices.Uint8: "|u1", devices.Uint16: "<u2", devices.Float32: "<f4", devices.Int64: "<i8"}[dt]
		path := put(t, "a.npy", npyFile("{'descr': '"+descr+"', 'fortran_order': True, 'shape': (61, 53, 97)}", file))
		check(t, dt.String(), mustRead(t, path, Options{}), Array{Header{dt, shape}, want})
	}
}

func TestNPYBoolIsZeroOrOne(t *testing.T) {
	path := put(t, "a.npy", npyFile("{'descr': '?', 'fortran_order': False, 'shape': (4,)}", []byte{0, 1, 2, 255}))
	check(t, "bool", mustRead(t, path, Options{}), Array{Header{devices.Bool, []int64{4}}, []byte{0, 1, 1, 1}})
}

func TestNPYWhatIsWritten(t *testing.T) {
	for _, h := range []Header{
		{devices.Float32, []int64{4}}, {devices.Uint8, []int64{}}, {devices.Bool, []int64{2, 3}},
		{devices.Int64, []int64{1 << 40, 0, 1, 1, 1, 1, 1, 1, 1, 1}}, {devices.Float16, []int64{1000000, 0}},
	} {
		pre := npyPreamble(h)
		if len(pre)%64 != 0 {
			t.Errorf("%s: elements start at %d", h, len(pre))
		}
		if got := int(binary.LittleEndian.Uint16(pre[8:])); got != len(pre)-10 {
			t.Errorf("%s: header length %d, is %d", h, got, len(pre)-10)
		}
	}
	got := string(npyPreamble(Header{devices.Float32, []int64{4}}))
	want := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }"
	if want += strings.Repeat(" ", 127-len(want)) + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNumPyLoadsWhatIsWritten asks NumPy itself where it is installed.
func TestNumPyLoadsWhatIsWritten(t *testing.T) {
	if err := exec.Command("python3", "-c", "import numpy").Run(); err != nil {
		t.Skip("python3 with numpy is not here:", err)
	}
	dir := t.TempDir()
	a := array([]int64{2, 3}, 1.5, 2, 3, 4, 5, -6)
	f16 := Array{Header{devices.Float16, []int64{1}}, []byte{0, 0x3e}}
	zero := array([]int64{}, int32(-9))
	for name, x := range map[string]Array{"a.npy": a, "z.npy": zero, "h.npy": f16} {
		if err := Write(filepath.Join(dir, name), x.Header, x.Data, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteNPZ(filepath.Join(dir, "m.npz"), []Member{{"a", a.Header, a.Data}, {"z", zero.Header, zero.Data}}); err != nil {
		t.Fatal(err)
	}
	script := `import numpy as np
a, z, h, m = (np.load(f) for f in ("a.npy", "z.npy", "h.npy", "m.npz"))
print(a.dtype, a.shape, a.sum(), z.dtype, z.shape, z, h.dtype, h, sorted(m), m["a"].sum(), m["z"])
np.savez_compressed("c.npz", x=np.arange(1000, dtype="i4").reshape(10, 100, order="F"), y=np.zeros(1 << 20, "u1"))`
	cmd := exec.Command("python3", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "float64 (2, 3) 9.5 int32 () -9 float16 [1.5] ['a', 'z'] 9.5 -9\n"; string(out) != want {
		t.Errorf("got %s, want %s", out, want)
	}
	x := mustRead(t, dir+"/c.npz:x", Options{})
	if v := devices.View[int32](x.Data); x.Shape[0] != 10 || v[0] != 0 || v[1] != 10 || v[100] != 1 {
		t.Errorf("column by column: %s %v", x.Header, v[:3])
	}
	if y := mustRead(t, dir+"/c.npz:y", Options{}); len(y.Data) != 1<<20 {
		t.Errorf("y has %d bytes", len(y.Data))
	}
}

func TestNPZMembers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.npz")
	x, y := array([]int64{2}, float32(1), 2), array([]int64{1}, int8(3))
	if err := WriteNPZ(path, []Member{{"x", x.Header, x.Data}, {"y", y.Header, y.Data}}); err != nil {
		t.Fatal(err)
	}
	check(t, "x", mustRead(t, path+":x", Options{}), x)
	check(t, "y", mustRead(t, path, Options{Member: "y"}), y)
	check(t, "y.npy", mustRead(t, path, Options{Member: "y.npy"}), y)
	_, err := read(path, Options{})
	refused(t, path, err, "which member", "x, y")
	_, err = read(path+":z", Options{})
	refused(t, path, err, `no member "z"`, "x, y")
	_, err = read(path+":x", Options{Member: "y"})
	refused(t, "a.npz:x", err, "given twice")
	first, _ := os.ReadFile(path)
	if err := WriteNPZ(path, []Member{{"x", x.Header, x.Data}, {"y", y.Header, y.Data}}); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(path); !bytes.Equal(first, again) {
		t.Error("equal arrays made different files")
	}
	refused(t, path, WriteNPZ(path, []Member{{"../x", x.Header, x.Data}}), "no name")
	refused(t, path, WriteNPZ(path, []Member{{"x", x.Header, x.Data}, {"x", x.Header, x.Data}}), "twice")
	refused(t, path, WriteNPZ(path, []Member{{"x", x.Header, x.Data[:7]}}), "8 bytes, got 7")
	refused(t, "a.npy", WriteNPZ(dir+"/a.npy", nil), ".npz")
	if again, _ := os.ReadFile(path); !bytes.Equal(first, again) {
		t.Error("a refused write changed the file")
	}
}

func TestNPZHostile(t *testing.T) {
	path := put(t, "a.npz", []byte("PK\x03\x04 not really"))
	_, err := read(path, Options{})
	refused(t, path, err, "no .npz file")

	// A member that claims 4 GB inside of a small archive.
	content := npyFile("{'descr': '|u1', 'fortran_order': False, 'shape': (4000000000,)}", nil)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: "x.npy", Method: zip.Store, CRC32: crc32.ChecksumIEEE(content),
		CompressedSize64: uint64(len(content)), UncompressedSize64: uint64(len(content)) + 4000000000,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path = put(t, "a.npz", b.Bytes())
	_, err = read(path, Options{})
	refused(t, path, err, "4000000", "cannot hold")

	// A flipped bit is found by the checksum.
	x := array([]int64{4}, float32(1), 2, 3, 4)
	if err := Write(path, x.Header, x.Data, Options{}); err != nil {
		t.Fatal(err)
	}
	damaged, _ := os.ReadFile(path)
	i := bytes.Index(damaged, x.Data)
	damaged[i] ^= 1
	path = put(t, "b.npz", damaged)
	_, err = read(path, Options{})
	refused(t, path, err, "checksum")
}
