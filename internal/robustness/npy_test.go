package robustness

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestNpyRead: what is well defined is read, whoever wrote it.
func TestNpyRead(t *testing.T) {
	dir := folder(t, "20-npy-variants")
	for _, name := range []string{"c_f4", "f_f4", "v2", "v3", "order_of_keys", "double_quotes", "tight", "native", "py2_long"} {
		shape(t, dir, name+".npy", devices.Float32, 2, 3)
		holds(t, dir, name+".npy", 1, 2, 3, 4, 5, 6)
		tandem(t, dir, nil, "compare", name+".npy", "c_f4.npy").exits(0)
	}
	for _, c := range []struct {
		name  string
		dtype devices.DType
		shape []int64
		want  []float64
	}{
		{"be_f8", devices.Float64, []int64{2, 3}, []float64{1, 2, 3, 4, 5, 6}},
		{"be_i2", devices.Int16, []int64{3}, []float64{1, -2, 258}},
		{"scalar0d", devices.Float64, []int64{}, []float64{42.5}},
		{"empty03", devices.Float32, []int64{0, 3}, nil},
		{"u1", devices.Uint8, []int64{3}, []float64{0, 127, 255}},
		{"bool", devices.Bool, []int64{3}, []float64{1, 0, 1}},
		{"one_dim", devices.Float32, []int64{6}, []float64{1, 2, 3, 4, 5, 6}},
		{"f2", devices.Float16, []int64{3}, []float64{1, 0.333251953125, 65504}},
	} {
		t.Run(c.name, func(t *testing.T) {
			shape(t, dir, c.name+".npy", c.dtype, c.shape...)
			holds(t, dir, c.name+".npy", c.want...)
			tandem(t, dir, nil, "compare", c.name+".npy", c.name+".npy").exits(0)
		})
	}
	t.Run("i8", func(t *testing.T) { // exact, which float64 is not
		if got, want := devices.View[int64](array(t, dir, "i8.npy").Data), []int64{-1, 1<<53 + 1, math.MinInt64}; !slices.Equal(got, want) {
			t.Errorf("%d, want %d", got, want)
		}
	})
}

// TestNpyRefused: the rest is refused by name, without evaluating anything and
// before any memory is taken, by compare as by run.
func TestNpyRefused(t *testing.T) {
	dir := folder(t, "20-npy-variants")
	for name, words := range map[string][]string{
		"c8":             {"'<c8'"},
		"struct":         {"id, v"},
		"object":         {"'|O'", "never unpickled"},
		"text":           {"'<U3'"},
		"bad_not_tuple":  {"shape is 6, not a tuple"},
		"bad_npint":      {"np.int64(2)"},
		"bad_truncated":  {"24 bytes", "only 20"},
		"bad_trailing":   {"24 bytes", "8 too many"},
		"bad_huge_shape": {"(4611686018427387904, 8)", "64 bits"},
		"bad_negative":   {"(-2, -3)", "negative"},
		"bad_header_len": {"4000000000"},
		"bad_no_order":   {"fortran_order"},
		"bad_code":       {"__import__"},
		"bad_magic":      {"no .npy file"},
		"bad_empty":      {"empty"},
	} {
		t.Run(name, func(t *testing.T) {
			file := name + ".npy"
			words := append([]string{file}, words...)
			tandem(t, dir, nil, "compare", file, file).exits(2).says(words...)
			job := put(t, folder(t, "20-npy-variants"), "job.yaml", fmt.Sprintf(`buffers: {x: {file: %s}, s: {dtype: float32, shape: [2], out: s.npy}}
steps:
  - {kernel: {file: rows.cl, entry: row_sum, lang: opencl}, global: [2], args: [{buf: x, mode: r}, {buf: s, mode: w}, {val: 3, type: int}]}
`, file))
			refused(t, job, "job.yaml", append([]string{"job.yaml:1:"}, words...)...)
		})
	}
}

// TestNpyOrder: rows stay rows through a kernel, whatever order, byte order and
// version the file has, and what is written is what others read.
func TestNpyOrder(t *testing.T) {
	needOpenCL(t)
	for _, name := range []string{"c_f4", "f_f4", "v2", "v3", "order_of_keys", "double_quotes", "tight", "native", "py2_long"} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, "20-npy-variants")
			edit(t, dir, "job-c_f4.yaml", "c_f4.npy}", name+".npy, out: copy.npy}")
			ran(t, dir, "job-c_f4.yaml")
			holds(t, dir, "s.npy", 6, 15)
			for file, dims := range map[string]string{"s.npy": "(2,)", "copy.npy": "(2, 3)"} {
				written(t, filepath.Join(dir, file), "<f4", dims)
			}
		})
	}
	for _, c := range []struct{ name, descr, dims string }{
		{"be_f8", "<f8", "(2, 3)"}, {"be_i2", "<i2", "(3,)"}, {"scalar0d", "<f8", "()"}, {"empty03", "<f4", "(0, 3)"},
		{"u1", "|u1", "(3,)"}, {"bool", "|b1", "(3,)"}, {"i8", "<i8", "(3,)"}, {"f2", "<f2", "(3,)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := put(t, folder(t, "20-npy-variants"), "job.yaml", fmt.Sprintf(`
buffers: {x: {file: %s.npy, out: copy.npy}, s: {dtype: float32, shape: [2], out: s.npy}, a: {file: c_f4.npy}}
steps:
  - {kernel: {file: rows.cl, entry: row_sum, lang: opencl}, global: [2], args: [{buf: a, mode: r}, {buf: s, mode: w}, {val: 3, type: int}]}
`, c.name))
			ran(t, dir, "job.yaml")
			written(t, filepath.Join(dir, "copy.npy"), c.descr, c.dims)
			a, b := array(t, dir, c.name+".npy"), array(t, dir, "copy.npy")
			if a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) || !bytes.Equal(a.Data, b.Data) {
				t.Errorf("%v became %v", a, b)
			}
		})
	}
}

// written checks a file's header the way numpy reads it, and with numpy where
// that is installed.
func written(t *testing.T, path, descr, dims string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) < 10 || string(b[:8]) != "\x93NUMPY\x01\x00" {
		t.Fatalf("%s begins with %q", path, b[:min(len(b), 10)])
	}
	n := int(b[8]) | int(b[9])<<8
	header := string(b[10 : 10+n])
	if want := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, dims); strings.TrimRight(header, " \n") != want {
		t.Errorf("%s: header %q, want %q", path, header, want)
	}
	if (10+n)%64 != 0 || header[n-1] != '\n' {
		t.Errorf("%s: the data begin at byte %d, behind %q", path, 10+n, header[n-1:])
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import numpy").Run() != nil {
		return
	}
	if out, err := exec.Command(python, "-c", "import numpy, sys; a = numpy.load(sys.argv[1]); assert str(a.shape) == sys.argv[2], a.shape", path, dims).CombinedOutput(); err != nil {
		t.Errorf("numpy.load: %v\n%s", err, out)
	}
}
