package pipeline

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// result loads text in a folder, runs it on the cpu and returns the numbers of
// its only output.
func result(t *testing.T, text string) []float64 {
	t.Helper()
	devicetest.CheckGoroutines(t)
	s := openSession(t, "cpu")
	p, err := Load(write(t, t.TempDir(), "p.yaml", text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	outputs := run(t, s, p)
	if len(outputs) != 1 {
		t.Fatalf("%d outputs, want 1", len(outputs))
	}
	got, _ := numbers(t, outputs[0].File)
	return got
}

func equalNumbers(t *testing.T, got, want []float64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestLoopRun doubles a buffer in place n times, each round with its own factor.
func TestLoopRun(t *testing.T) {
	got := result(t, `vars: {n: 5}
buffers:
  x: {dtype: float64, shape: [4], fill: i + 1, out: x.npy}
  y: {dtype: float64, shape: [4]}
steps:
  - for: {k: [1, n + 1]}
    steps:
      - {kernel: vector.scale.f64, args: {x: x, y: y, a: k}}
      - {kernel: vector.scale.f64, args: {x: y, y: x, a: 1}}
`)
	equalNumbers(t, got, []float64{120, 240, 360, 480})
}

func TestRepeatRun(t *testing.T) {
	got := result(t, `buffers:
  x: {dtype: int32, shape: [4], fill: i}
  y: {dtype: int32, shape: [4], fill: 0, out: y.npy}
steps:
  - {kernel: vector.add.i32, args: {x: x, y: y, z: y}, repeat: 1000}
`)
	equalNumbers(t, got, []float64{0, 1000, 2000, 3000})
}

// TestComposedRun holds that after and repeat are for all parts of a composed
// kernel: the sum may not begin before x holds its last values.
func TestComposedRun(t *testing.T) {
	got := result(t, `buffers:
  x: {dtype: float32, shape: [100000], fill: 1}
  total: {dtype: float32, shape: [1]}
  acc: {dtype: float32, shape: [1], out: acc.npy}
steps:
  - for: {k: [0, 20]}
    steps:
      - {id: sum, kernel: vector.sum, args: {x: x, result: total}, repeat: 2}
      - {id: add, kernel: vector.add, args: {x: acc, y: total, z: acc}, after: [sum]}
`)
	equalNumbers(t, got, []float64{20 * 100000})
}

func TestFills(t *testing.T) {
	got := result(t, `vars: {k: 100}
buffers:
  x: {dtype: int16, shape: [2, 3], fill: "i == j ? k : 10*i + j", out: x.npy}
steps: []
`)
	equalNumbers(t, got, []float64{100, 1, 2, 10, 100, 12})
	got = result(t, "buffers:\n  x: {dtype: float16, shape: [2, 2, 2, 2], fill: i*4 + j*2 + k/2, out: x.npy}\nsteps: []\n")
	equalNumbers(t, got, []float64{0, 0, 0.5, 0.5, 2, 2, 2.5, 2.5, 4, 4, 4.5, 4.5, 6, 6, 6.5, 6.5})
	got = result(t, "buffers:\n  x: {dtype: bool, shape: [5], fill: true, out: x.npy}\nsteps: []\n")
	equalNumbers(t, got, []float64{1, 1, 1, 1, 1})
	got = result(t, "buffers:\n  x: {dtype: float32, shape: [], fill: nan, out: x.npy}\nsteps: []\n")
	if len(got) != 1 || !math.IsNaN(got[0]) {
		t.Errorf("got %v, want one NaN", got)
	}
	got = result(t, "buffers:\n  x: {dtype: uint8, shape: [1001], fill: 7, out: x.npy}\nsteps: []\n")
	equalNumbers(t, got, repeated(7, 1001))
}

// TestFillInside holds that a fill which only fails inside is a fault of Build.
func TestFillInside(t *testing.T) {
	p, err := parse("p.yaml", []byte("buffers:\n  x: {dtype: int8, shape: [9], fill: 100/(i - 4)}\nsteps: []\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := openSession(t, "cpu")
	_, err = p.Build(testContext(t), s)
	want := `p.yaml:2:38: buffers.x.fill: "100/(i - 4)" is -33.333333333333336 at [1], which does not fit in int8`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestSameBytes runs a picture's pipeline on every choice of devices.
func TestSameBytes(t *testing.T) {
	text := `vars: {h: 101, w: 67}
buffers:
  photo: {dtype: uint8, shape: [h, w, 3], fill: "(i*7 + j*13 + k*29) % 256"}
  gray: {dtype: uint8, shape: [h, w]}
  soft: {dtype: uint8, shape: [h, w]}
  edges: {dtype: uint8, shape: [h, w], out: edges.png}
steps:
  - {kernel: image.gray, args: {src: photo, dst: gray}}
  - {kernel: image.blur, args: {src: gray, dst: soft}}
  - {kernel: image.sobel, args: {src: soft, dst: edges}}
`
	hashes := map[string]string{}
	for _, selector := range []string{"cpu", "opencl", "cpu,opencl"} {
		t.Run(selector, func(t *testing.T) {
			s := openSession(t, selector)
			p, err := Load(write(t, t.TempDir(), "p.yaml", text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			hashes[selector] = run(t, s, p)[0].SHA256
			if hashes[selector] != hashes["cpu"] {
				t.Errorf("sha256 %s, on the cpu %s", hashes[selector], hashes["cpu"])
			}
		})
	}
}

func TestDevicePosition(t *testing.T) {
	s := openSession(t, "cpu")
	text := "buffers: {x: {dtype: float32, shape: [4], out: x.npy}}\nsteps:\n  - {kernel: vector.scale, args: {x: x, y: x, a: 1}, device: %d}\n"
	p, err := Load(write(t, t.TempDir(), "p.yaml", fmt.Sprintf(text, 0)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Steps()[0].Asked; got != "#0" {
		t.Errorf("asked for %q", got)
	}
	run(t, s, p)
	if got := s.Stats()[0].Tasks; got != 1 {
		t.Errorf("%d tasks on the device", got)
	}
	p, err = parse("p.yaml", []byte(strings.Replace(fmt.Sprintf(text, 7), ", out: x.npy", "", 1)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "p.yaml:3:62: steps[0].device: there is no device 7; the run has device 0, cpu:0"
	if _, err := p.Build(testContext(t), s); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestChangedInput holds that a file which changes between Load and Build is
// noticed.
func TestChangedInput(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "x.npy")
	put := func(n int) {
		h := arrayfile.Header{DType: devices.Float32, Shape: []int64{int64(n)}}
		if err := arrayfile.Write(in, h, make([]byte, 4*n), arrayfile.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	put(4)
	p, err := Load(write(t, dir, "p.yaml", "buffers: {x: {file: x.npy, out: y.npy}}\nsteps: []\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(5)
	s := openSession(t, "cpu")
	if _, err := p.Build(testContext(t), s); err == nil || !strings.Contains(err.Error(), "the file has changed since it was checked: it holds float32 (5,), it held float32 (4,)") {
		t.Error(err)
	}
}
