package arrayfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// read reads a file into heap memory.
func read(path string, o Options) (Array, error) {
	var a Array
	h, err := Read(path, o, func(h Header) ([]byte, error) {
		size, err := h.Bytes()
		if err != nil {
			return nil, err
		}
		a.Data = make([]byte, size)
		return a.Data, nil
	})
	a.Header = h
	return a, err
}

func mustRead(t *testing.T, path string, o Options) Array {
	t.Helper()
	a, err := read(path, o)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Stat(path, o)
	if err != nil {
		t.Fatalf("stat: %v", err)
	}
	if h.DType != a.DType || !slices.Equal(h.Shape, a.Shape) {
		t.Fatalf("%s: Stat says %s, Read %s", path, h, a.Header)
	}
	return a
}

func array[T devices.Number](shape []int64, v ...T) Array {
	return Array{Header{devices.DTypeOf[T](), shape}, devices.AsBytes(v)}
}

func check(t *testing.T, what string, got, want Array) {
	t.Helper()
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		t.Fatalf("%s: got %s, want %s", what, got.Header, want.Header)
	}
	if !bytes.Equal(got.Data, want.Data) {
		t.Fatalf("%s: got % x, want % x", what, got.Data, want.Data)
	}
}

// refused expects an error that names the file and contains the words.
func refused(t *testing.T, path string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one with %q", path, words)
		return
	}
	for _, w := range append(words, filepath.Base(path)) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q does not say %q", path, err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: error has several lines: %q", path, err)
	}
}

func put(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundTrips(t *testing.T) {
	rgb := make([]uint8, 5*7*3)
	for i := range rgb {
		rgb[i] = uint8(i * 37)
	}
	deep := make([]uint16, 5*7*4)
	for i := range deep {
		deep[i] = uint16(i * 4099)
	}
	opaque := []uint8{1, 2, 3, 255, 4, 5, 6, 255}
	opaqueDeep := []uint16{1, 2, 3, 65535, 4, 5, 6, 65535}
	tests := []struct {
		name string
		a    Array
		o    Options
	}{
		{"a.npy", array([]int64{2, 3}, 1.5, -2, 3, 4, 5, 6e300), Options{}},
		{"a.npy", array([]int64{}, float32(42.5)), Options{}},
		{"a.npy", array[float32]([]int64{0, 3}), Options{}},
		{"a.npy", array([]int64{2, 1, 2}, int64(-1), 1<<53+1, -1<<63, 1<<63-1), Options{}},
		{"a.npy", Array{Header{devices.Bool, []int64{3}}, []byte{1, 0, 1}}, Options{}},
		{"a.npy", Array{Header{devices.Float16, []int64{2}}, []byte{0, 0x3c, 0xff, 0x7b}}, Options{}},
		{"a.npz", array([]int64{4}, uint16(1), 2, 3, 65535), Options{}},
		{"a.npz", array([]int64{1}, int8(-7)), Options{Member: "speed"}},
		{"a.npz:x", array([]int64{1}, int8(-7)), Options{}},
		{"a.png", array([]int64{5, 7, 3}, rgb...), Options{}},
		{"a.png", array([]int64{15, 7}, rgb...), Options{}},
		{"a.png", array([]int64{7, 3, 4}, rgb[:84]...), Options{}},
		{"a.png", array([]int64{1, 2, 4}, opaque...), Options{}},
		{"a.png", array([]int64{1, 2, 4}, opaqueDeep...), Options{}},
		{"a.png", array([]int64{5, 7, 4}, deep...), Options{}},
		{"a.png", array([]int64{5, 28}, deep...), Options{}},
		{"a.png", array([]int64{5, 7, 3}, deep[:105]...), Options{}},
		{"a.pgm", array([]int64{5, 21}, rgb...), Options{}},
		{"a.pgm", array([]int64{5, 28}, deep...), Options{}},
		{"a.ppm", array([]int64{5, 7, 3}, rgb...), Options{}},
		{"a.ppm", array([]int64{5, 7, 3}, deep[:105]...), Options{}},
		{"a.csv", array([]int64{2, 3}, 0.1, -1e300, 3, 4, 5e-324, 0), Options{}},
		{"a.csv", array([]int64{3}, float32(0.1), 16777217, -3.4e38), Options{DType: devices.Float32}},
		{"a.csv", array([]int64{2}, int64(-1<<63), 1<<63-1), Options{DType: devices.Int64}},
		{"a.csv", array([]int64{2}, uint64(1<<64-1), 0), Options{DType: devices.Uint64}},
		{"a.csv", array[float64]([]int64{0, 3}), Options{}},
		{"a.csv", array[float64]([]int64{0}), Options{}},
		{"a.csv", array([]int64{1, 2}, 1.0, 2), Options{Columns: []string{"x", "a, \"b\""}}},
		{"a.csv", Array{Header{devices.Bool, []int64{3}}, []byte{1, 0, 1}}, Options{DType: devices.Bool}},
		{"a.raw", array([]int64{2, 2}, int32(1), 2, 3, 4), Options{DType: devices.Int32, Shape: []int64{2, 2}}},
		{"a.raw", array[int32]([]int64{0, 2}), Options{DType: devices.Int32, Shape: []int64{0, 2}}},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), tt.name)
		if err := CheckWritable(path); err != nil {
			t.Errorf("%s: not writable: %v", tt.name, err)
		}
		if err := CheckHeader(path, tt.a.Header); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := Write(path, tt.a.Header, tt.a.Data, tt.o); err != nil {
			t.Errorf("%s %s: %v", tt.name, tt.a.Header, err)
			continue
		}
		check(t, tt.name, mustRead(t, path, tt.o), tt.a)
	}
}

func TestEmptyArrays(t *testing.T) {
	check(t, "empty.npy", mustRead(t, "testdata/empty/empty.npy", Options{}), array[float32]([]int64{0}))
	check(t, "empty_rows.npy", mustRead(t, "testdata/empty/empty_rows.npy", Options{}), array[float32]([]int64{0, 3}))
	check(t, "empty.csv", mustRead(t, "testdata/empty/empty.csv", Options{DType: devices.Float32}), array[float32]([]int64{0, 3}))
	check(t, "empty.raw", mustRead(t, "testdata/empty/empty.raw", Options{DType: devices.Float32, Shape: []int64{0}}), array[float32]([]int64{0}))
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	gray := Header{devices.Uint8, []int64{2, 2}}
	for _, tt := range []struct {
		err   error
		file  string
		words []string
	}{
		{Write(dir+"/a.jpg", gray, make([]byte, 4), Options{}), "a.jpg", []string{"not written", ".png"}},
		{CheckWritable(dir + "/a.jpg"), "a.jpg", []string{"not written"}},
		{CheckWritable(dir + "/a.tiff"), "a.tiff", []string{`".tiff"`, ".npy"}},
		{CheckWritable(dir + "/a"), "a", []string{"no extension"}},
		{CheckWritable(dir + "/no/a.npy"), "a.npy", []string{"no folder", "create it"}},
		{CheckWritable(dir + "/a.npz:"), "a.npz", []string{"no name"}},
		{Write(dir+"/a.npy", gray, make([]byte, 3), Options{}), "a.npy", []string{"4 bytes", "got 3"}},
		{CheckHeader("a.png", Header{devices.Float32, []int64{2, 2}}), "a.png", []string{"uint8 or uint16", "float32"}},
		{CheckHeader("a.png", Header{devices.Uint8, []int64{2, 2, 2}}), "a.png", []string{"(height, width), (height, width, 3) or (height, width, 4)", "(2, 2, 2)"}},
		{CheckHeader("a.pgm", Header{devices.Uint8, []int64{2, 2, 3}}), "a.pgm", []string{"(height, width)"}},
		{CheckHeader("a.png", Header{devices.Uint8, []int64{0, 2}}), "a.png", []string{"at least one pixel"}},
		{CheckHeader("a.csv", Header{devices.Uint8, []int64{1, 1, 1}}), "a.csv", []string{"one or two dimensions"}},
		{CheckHeader("a.csv", Header{devices.Uint8, []int64{2, 0}}), "a.csv", []string{"at least one column"}},
		{CheckHeader("a.npy", Header{devices.Uint8, []int64{1 << 62, 8}}), "a.npy", []string{"64 bits"}},
		{CheckHeader("a.npy", Header{devices.Uint8, make([]int64, 65)}), "a.npy", []string{"65 dimensions"}},
		{CheckHeader("a.npy", Header{Shape: []int64{1}}), "a.npy", []string{"no dtype"}},
	} {
		refused(t, tt.file, tt.err, tt.words...)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("refused writes left %v", entries)
	}
	_, err := Stat(dir+"/none.npy", Options{})
	if refused(t, "none.npy", err); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	_, err = Stat(dir, Options{})
	refused(t, dir, err, "no extension")
	if err := os.Mkdir(dir+"/d.npy", 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Stat(dir+"/d.npy", Options{})
	refused(t, "d.npy", err, "not a regular file")
	refused(t, "d.npy", CheckWritable(dir+"/d.npy"), "is a folder")
}

func TestAllocIsHeldToItsWord(t *testing.T) {
	path := put(t, "a.raw", make([]byte, 8))
	o := Options{DType: devices.Uint8, Shape: []int64{8}}
	_, err := Read(path, o, func(Header) ([]byte, error) { return make([]byte, 9), nil })
	refused(t, path, err, "got 9 bytes, need 8")
	_, err = Read(path, o, func(Header) ([]byte, error) { return nil, devices.ErrOutOfMemory })
	if refused(t, path, err, "uint8 (8,)"); !errors.Is(err, devices.ErrOutOfMemory) {
		t.Errorf("cause is lost: %v", err)
	}
}

func TestRaw(t *testing.T) {
	path := put(t, "a.raw", make([]byte, 10))
	_, err := read(path, Options{DType: devices.Int32, Shape: []int64{3}})
	refused(t, path, err, "12 bytes", "has 10")
	_, err = read(path, Options{DType: devices.Int32})
	refused(t, path, err, "dtype and a shape")
	_, err = read(path, Options{DType: devices.Int32, Shape: []int64{-1}})
	refused(t, path, err, "negative")
}

func TestReplaceKeepsTheOldFileOnFailure(t *testing.T) {
	path := put(t, "a.txt", []byte("old"))
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no more numbers")
	err := Replace(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return broken
	})
	if refused(t, path, err, "no more numbers"); !errors.Is(err, broken) {
		t.Errorf("cause is lost: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file changed: %q", got[:3])
	}
	if err := Replace(path, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "new" {
		t.Errorf("got %q, want new", got)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("permissions became %v", info.Mode())
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestReplaceReadOnlyFile replaces a file that nobody may write into, as an
// input copied from a read-only place is: the folder decides. The permissions
// stay, and do not stand in the way of the next run.
func TestReplaceReadOnlyFile(t *testing.T) {
	path := put(t, "x.npy", []byte("old"))
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	a := array([]int64{3}, float32(1), float32(2), float32(3))
	for range 2 {
		if err := CheckWritable(path); err != nil {
			t.Error(err)
		}
		if err := Write(path, a.Header, a.Data, Options{}); err != nil {
			t.Fatal(err)
		}
		check(t, "x.npy", mustRead(t, path, Options{}), a)
		if info, _ := os.Stat(path); info.Mode().Perm() != 0o444 {
			t.Errorf("permissions became %v, want 0444", info.Mode())
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestReplaceDoesNotFollowLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/target.npy", []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target.npy", dir+"/link.npy"); err != nil {
		t.Skip("no symbolic links:", err)
	}
	a := array([]int64{1}, uint8(7))
	if err := Write(dir+"/link.npy", a.Header, a.Data, Options{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(dir + "/target.npy"); string(got) != "keep" {
		t.Errorf("the link's target changed to %q", got)
	}
	check(t, "link.npy", mustRead(t, dir+"/link.npy", Options{}), a)
}

func TestFormats(t *testing.T) {
	r, w := Formats()
	if want := []string{".csv", ".jpeg", ".jpg", ".npy", ".npz", ".pgm", ".png", ".ppm", ".raw"}; !slices.Equal(r, want) {
		t.Errorf("read %v, want %v", r, want)
	}
	if want := []string{".csv", ".npy", ".npz", ".pgm", ".png", ".ppm", ".raw"}; !slices.Equal(w, want) {
		t.Errorf("written %v, want %v", w, want)
	}
}
