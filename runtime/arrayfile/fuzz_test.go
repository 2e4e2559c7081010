package arrayfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// fuzz reads content as a file: whatever it is, there is no panic, no memory
// beyond what the file can fill, Stat and Read agree, and what was read can be
// written and read again.
func fuzz(t *testing.T, ext string, content []byte, o Options) {
	path := filepath.Join(t.TempDir(), "a"+ext)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	most := int64(len(content)+8) * deflateRatio * 32
	var a Array
	h, err := Read(path, o, func(h Header) ([]byte, error) {
		size, err := h.Bytes()
		if err != nil {
			t.Fatalf("alloc called with %s: %v", h, err)
		}
		if size > most {
			t.Fatalf("%d bytes of file want %d bytes of memory", len(content), size)
		}
		a.Data = make([]byte, size)
		return a.Data, nil
	})
	stat, statErr := Stat(path, o)
	if err != nil {
		return
	}
	a.Header = h
	if statErr != nil || stat.String() != h.String() {
		t.Fatalf("Stat: %s, %v; Read: %s", stat, statErr, h)
	}
	if CheckHeader(path, h) != nil {
		return
	}
	if err := Write(path, h, a.Data, Options{}); err != nil {
		t.Fatalf("%s cannot be written: %v", h, err)
	}
	back, err := read(path, Options{DType: h.DType})
	if err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	if back.String() != h.String() || ext != ".csv" && !bytes.Equal(back.Data, a.Data) {
		t.Fatalf("wrote %s, read %s", h, back.Header)
	}
	if r, err := Compare(back, a, Tolerance{}); err != nil || !r.Equal {
		t.Fatalf("wrote and read differ: %+v %v", r, err)
	}
}

func FuzzNpy(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.npy")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzz(t, ".npy", b, Options{}) })
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "x,y\n1,2\n", "1\nnan\n", "# c\n\"1\",2", "a,b\n", "1,2\n3\n"} {
		f.Add([]byte(s), byte(devices.Float64))
		f.Add([]byte(s), byte(devices.Int16))
	}
	f.Fuzz(func(t *testing.T, b []byte, dt byte) {
		fuzz(t, ".csv", b, Options{DType: devices.DType(dt % (byte(devices.Float64) + 1))})
	})
}

func FuzzPNM(f *testing.F) {
	for _, s := range []string{"P2\n# c\n3 1\n15\n0 1 2", "P5 2 1 255\nab", "P5 1 1 999\nab", "P6 1 1 255 abc", "P3 1 1 9 1 2 3"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzz(t, ".ppm", b, Options{})
		fuzz(t, ".pgm", b, Options{})
	})
}

func FuzzPNG(f *testing.F) {
	for _, h := range []Header{{devices.Uint8, []int64{2, 3}}, {devices.Uint16, []int64{2, 2, 3}}, {devices.Uint8, []int64{1, 1, 4}}} {
		size, _ := h.Bytes()
		var b bytes.Buffer
		if err := writePNG(&b, h, make([]byte, size), Options{}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add(hugePNG(9000, 9000))
	f.Fuzz(func(t *testing.T, b []byte) { fuzz(t, ".png", b, Options{}) })
}

// FuzzNPZ reads archives, the one member or the first of several.
func FuzzNPZ(f *testing.F) {
	dir := f.TempDir()
	x, y := array([]int64{2}, float32(1), 2), array([]int64{0, 3}, int8(0))
	for name, members := range map[string][]Member{"one": {{"x", x.Header, x.Data}}, "two": {{"x", x.Header, x.Data}, {"y", y.Header, y.Data[:0]}}, "none": nil} {
		path := filepath.Join(dir, name+".npz")
		if err := WriteNPZ(path, members); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "a.npz")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Member: "x"}} {
			most := int64(len(b)+8) * deflateRatio * 32
			_, err := Read(path, o, func(h Header) ([]byte, error) {
				size, err := h.Bytes()
				if err != nil || size > most {
					t.Fatalf("%d bytes of file want %d bytes of memory, %v", len(b), size, err)
				}
				return make([]byte, size), nil
			})
			if h, statErr := Stat(path, o); err == nil && statErr != nil {
				t.Fatalf("read, but Stat says %v of %v", statErr, h)
			}
		}
	})
}
