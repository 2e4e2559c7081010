package pipeline

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/kernels"
)

func decode(t *testing.T, d devices.DType, mem []byte) []float64 {
	t.Helper()
	var out []float64
	for i := 0; i < len(mem); i += d.Size() {
		b := mem[i:]
		switch d {
		case devices.Uint8, devices.Bool:
			out = append(out, float64(b[0]))
		case devices.Int8:
			out = append(out, float64(int8(b[0])))
		case devices.Int16:
			out = append(out, float64(int16(binary.NativeEndian.Uint16(b))))
		case devices.Uint16:
			out = append(out, float64(binary.NativeEndian.Uint16(b)))
		case devices.Int32:
			out = append(out, float64(int32(binary.NativeEndian.Uint32(b))))
		case devices.Uint32:
			out = append(out, float64(binary.NativeEndian.Uint32(b)))
		case devices.Int64:
			out = append(out, float64(int64(binary.NativeEndian.Uint64(b))))
		case devices.Float16:
			out = append(out, kernels.FloatFromHalf(binary.NativeEndian.Uint16(b)))
		case devices.Float32:
			out = append(out, float64(math.Float32frombits(binary.NativeEndian.Uint32(b))))
		case devices.Float64:
			out = append(out, math.Float64frombits(binary.NativeEndian.Uint64(b)))
		default:
			t.Fatalf("no decoder for %s", d)
		}
	}
	return out
}

// TestCaseFaults holds the words of messages about jobs that people really
// wrote, and that nothing is written for them.
func TestCaseFaults(t *testing.T) {
	for _, c := range []struct{ dir, job, want string }{
		{"01-ragged-global", "job-c.yaml", "job-c.yaml:8:13: steps[0].global: kernel saxpy_fixed demands work-groups of 64 in dimension 0, and the global size 1000 is no multiple of it; make it 960 or 1024, or take reqd_work_group_size out of the source"},
		{"02-local-args", "job-b.yaml", "job-b.yaml:9:11: steps[0].args: kernel group_sum: scratch missing; a __local parameter needs a size in bytes (local_bytes)"},
		{"02-local-args", "job-c.yaml", "job-c.yaml:9:53: steps[0].args[2]: kernel group_sum: scratch is a __local pointer (float): it takes a size in bytes (local_bytes), got a buffer"},
		{"03-float3-and-struct", "job-a.yaml", "job-a.yaml:9:12: steps[0].args[0]: kernel norms: p is an array of float3, which takes 16 bytes per element; buffer p of shape (4, 3) has rows of 12 bytes: pad them to 4 numbers, or read packed data with vload3"},
		{"03-float3-and-struct", "job-e.yaml", "job-e.yaml:8:12: steps[0].args[0]: kernel read_probe: p is of type probe_t, which takes 48 bytes; got 32 bytes"},
		{"03-float3-and-struct", "job-f.yaml", "job-f.yaml:8:12: steps[0].args[0]: kernel read_probe: p is of type probe_t, which takes 48 bytes; got 25 bytes"},
		{"10-dependency-cycle", "job-a.yaml", "job-a.yaml:4:133: steps[0].after[0]: steps wait for each other in a ring: load -> blur -> sharpen -> load; an arrow leads to the step that waits; take one of the waits out"},
		{"10-dependency-cycle", "job-b.yaml", "job-b.yaml:4:115: steps[0].after[0]: step \"solo\" waits for itself"},
		{"10-dependency-cycle", "job-e.yaml", "job-e.yaml:5:133: steps[1].after[0]: step \"blur\" waits for \"laod\", and there is no step of that id; did you mean \"load\"?"},
		{"21-unknown-keys", "job-fraction.yaml", "job-fraction.yaml:7:14: steps[0].global[0]: want a whole number, got 64.5"},
		{"21-unknown-keys", "job-key-twice.yaml", "job-key-twice.yaml:8:5: steps[0]: key \"global\" stands on line 8 (again; first on line 7)"},
		{"21-unknown-keys", "job-negative.yaml", "job-negative.yaml:3:31: buffers.y.shape[0]: want at least 0, got -64"},
		{"21-unknown-keys", "job-text-for-number.yaml", "job-text-for-number.yaml:7:14: steps[0].global[0]: want a number, got text \"64\"; write 64 without quotes"},
		{"21-unknown-keys", "job-typo-at-top.yaml", "job-typo-at-top.yaml:4:1: priorty: unknown key \"priorty\" on line 4; there are version, vars, buffers, steps, limits"},
		{"21-unknown-keys", "job-typo-in-arg.yaml", "job-typo-in-arg.yaml:9:40: steps[0].args[1].moed: unknown key \"moed\" on line 9; did you mean \"mode\"?"},
		{"21-unknown-keys", "job-typo-in-step.yaml", "job-typo-in-step.yaml:8:5: steps[0].loacl: unknown key \"loacl\" on line 8; did you mean \"local\"?"},
	} {
		t.Run(c.dir+"/"+c.job, func(t *testing.T) {
			dir := caseCopy(t, c.dir)
			before := folder(t, dir)
			_, err := Load(filepath.Join(dir, c.job), Options{})
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			var f *Fault
			if !errors.As(err, &f) || f.Line == 0 || f.Column == 0 {
				t.Errorf("%#v is no fault with a place", err)
			}
			if !errors.Is(err, devices.ErrInvalid) {
				t.Error("the fault is not devices.ErrInvalid")
			}
			if after := folder(t, dir); !slices.Equal(before, after) {
				t.Errorf("files changed: %v to %v", before, after)
			}
		})
	}
}

// folder lists the files below dir.
func folder(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func repeated(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func sequence(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// TestCaseResults runs the jobs that are right on OpenCL devices.
func TestCaseResults(t *testing.T) {
	devicetest.CheckGoroutines(t)
	s := openSession(t, "opencl")
	saxpy := func(i int) float64 { return 1000 + 0.5*float64(i) }
	probe := []float64{48, 16, 32, 40, 7, 15, 35, 9, 1234567890123}
	sums := sequence(8, func(i int) float64 { return 496 + 1024*float64(i) })
	type outputs map[string]any // []float64, or the name of a file with the same
	for _, c := range []struct {
		dir, job string
		devices  int // needed; 0: 1
		want     outputs
	}{
		{"01-ragged-global", "job-a.yaml", 0, outputs{"y_out.npy": sequence(1000, saxpy)}},
		{"01-ragged-global", "job-b.yaml", 0, outputs{"y_out.npy": slices.Concat(sequence(1000, saxpy), repeated(-7, 24))}},
		{"01-ragged-global", "job-d.yaml", 0, outputs{"out.npy": sequence(70, func(i int) float64 { return float64(100*(i/10) + i%10) })}},
		{"02-local-args", "job-a.yaml", 0, outputs{"sums.npy": sums}},
		{"03-float3-and-struct", "job-b.yaml", 0, outputs{"norms.npy": []float64{5, 3, 7, 9}}},
		{"03-float3-and-struct", "job-c.yaml", 0, outputs{"norms.npy": []float64{5, 3, 7, 9}}},
		{"03-float3-and-struct", "job-d.yaml", 0, outputs{"out.npy": probe}},
		{"03-float3-and-struct", "job-g.yaml", 0, outputs{"out.npy": probe}},
		{"04-empty-arrays", "job-a.yaml", 0, outputs{"y.npy": []float64(nil), "sum.npy": []float64{0}}},
		{"04-empty-arrays", "job-b.yaml", 0, outputs{"y.npy": []float64(nil), "sum.npy": []float64{0}}},
		{"05-split-alignment", "job-a.yaml", 3, outputs{"y.npy": sequence(1000, func(i int) float64 { return float64(i * i) })}},
		{"05-split-alignment", "job-b.yaml", 3, outputs{"y.npy": sequence(200, func(i int) float64 { return float64(i * i) })}},
		{"05-split-alignment", "job-c.yaml", 2, outputs{"dst.npy": "want_pic.npy"}},
		{"07-include-and-build-log", "job-a.yaml", 0, outputs{"y.npy": []float64{3.5, 6.5, 9.5, 12.5}}},
		{"09-nan", "job-a.yaml", 0, outputs{"y.npy": "want_marked.npy", "m.npy": []float64{math.Inf(1), 3}}},
		{"10-dependency-cycle", "job-c.yaml", 0, outputs{"b.npy": []float64{2, 2, 2, 2}}},
		{"10-dependency-cycle", "job-d.yaml", 0, outputs{"y.npy": []float64{4, 5, 6, 7}}},
		{"11-write-after-read", "job-a.yaml", 0, outputs{"o1.npy": repeated(10, 64), "o2.npy": repeated(20, 64), "o3.npy": repeated(30, 64),
			"o4.npy": repeated(40, 64), "o5.npy": repeated(50, 64), "o6.npy": repeated(60, 64)}},
		{"11-write-after-read", "job-b.yaml", 0, outputs{"buf.npy": repeated(3, 64), "o1.npy": repeated(1, 64), "o2.npy": repeated(1, 64), "o3.npy": repeated(3, 64)}},
		{"13-twin-devices", "job.yaml", 2, outputs{"out.npy": sequence(1024, func(i int) float64 { return float64(2 * i) })}},
		{"16-interrupted-runs", "job-short.yaml", 0, outputs{"result.npy": "want_1000.npy"}},
		{"19-split-and-indices", "job-a.yaml", 2, outputs{"out.npy": "want_noise.npy"}},
		{"19-split-and-indices", "job-c.yaml", 2, outputs{"out.npy": "want_groups.npy"}},
		{"19-split-and-indices", "job-d.yaml", 2, outputs{"y.npy": "want_smooth.npy"}},
		{"20-npy-variants", "job-c_f4.yaml", 0, outputs{"s.npy": []float64{6, 15}}},
		{"20-npy-variants", "job-f_f4.yaml", 0, outputs{"s.npy": []float64{6, 15}}},
		{"21-unknown-keys", "job-good.yaml", 0, outputs{"y.npy": sequence(64, func(i int) float64 { return 2 * float64(i) })}},
		{"21-unknown-keys", "job-number-for-list.yaml", 0, outputs{"y.npy": sequence(64, func(i int) float64 { return 2 * float64(i) })}},
	} {
		t.Run(c.dir+"/"+c.job, func(t *testing.T) {
			if n := len(s.Devices()); n < c.devices {
				t.Skipf("the split needs %d devices, there are %d", c.devices, n)
			}
			dir := caseCopy(t, c.dir)
			p, err := Load(filepath.Join(dir, c.job), Options{})
			if err != nil {
				t.Fatal(err)
			}
			outputs := run(t, s, p)
			if len(outputs) != len(c.want) {
				t.Errorf("%d outputs, want %d", len(outputs), len(c.want))
			}
			for file, want := range c.want {
				got, _ := numbers(t, filepath.Join(dir, file))
				values, ok := want.([]float64)
				if !ok {
					values, _ = numbers(t, filepath.Join(dir, want.(string)))
				}
				same := slices.EqualFunc(got, values, func(a, b float64) bool {
					return a == b && math.Signbit(a) == math.Signbit(b)
				})
				if !same {
					t.Errorf("%s is %v, want %v", file, got, values)
				}
			}
		})
	}
}

// TestCaseShapes holds that a shape with a 0 survives.
func TestCaseShapes(t *testing.T) {
	dir := caseCopy(t, "04-empty-arrays")
	p, err := Load(filepath.Join(dir, "job-b.yaml"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Buffers()[1]; !slices.Equal(got.Shape, []int64{0, 3}) || got.DType != devices.Float32 || got.Bytes != 0 {
		t.Errorf("y is %+v", got)
	}
	text := "buffers:\n  r: {file: empty.raw, dtype: float32, shape: [0]}\n  c: {file: empty.csv}\nsteps: []\n"
	p, err = Load(write(t, dir, "files.yaml", text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b := p.Buffers(); !slices.Equal(b[0].Shape, []int64{0}) || !slices.Equal(b[1].Shape, []int64{0, 3}) {
		t.Errorf("shapes %v and %v", b[0].Shape, b[1].Shape)
	}
}
