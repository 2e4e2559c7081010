package robustness

import (
	"fmt"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestEmptyArrays: length 0 is a legal size. Steps over it succeed, shapes
// survive, and the steps behind run.
func TestEmptyArrays(t *testing.T) {
	needTwins(t)
	const name = "04-empty-arrays"
	t.Run("one dimension", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-a.yaml")
		shape(t, dir, "y.npy", devices.Float32, 0)
		holds(t, dir, "sum.npy", 0)
	})
	t.Run("two dimensions", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-b.yaml")
		shape(t, dir, "y.npy", devices.Float32, 0, 3)
		holds(t, dir, "sum.npy", 0)
	})
	for _, c := range []struct{ file, y, want string }{
		{"{file: empty.raw, dtype: float32, shape: [0]}", "[0]", "y.npy"},
		{"{file: empty.csv, dtype: float32}", "[0, 3]", "y.npy"},
		{"{file: empty.csv, dtype: float32}", "[0, 3]", "y.csv"},
		{"{file: empty.npy}", "[0]", "y.raw"},
	} {
		t.Run(c.file+" to "+c.want, func(t *testing.T) {
			dir := folder(t, name)
			edit(t, dir, "job-a.yaml", "{file: empty.npy}", c.file)
			edit(t, dir, "job-a.yaml", "shape: [0], out: y.npy", "shape: "+c.y+", out: "+c.want)
			tandem(t, dir, nil, "run", "job-a.yaml").exits(0)
			holds(t, dir, "sum.npy", 0)
			switch c.want {
			case "y.csv":
				shape(t, dir, c.want, devices.Float64, 0, 3)
			case "y.npy":
				holds(t, dir, c.want)
			}
		})
	}
	for _, shares := range []string{"[0.5, 0.5]", "[0.4, 0.3, 0.3]", "auto"} {
		t.Run("one element "+shares, func(t *testing.T) {
			dir := folder(t, name)
			edit(t, dir, "job-c.yaml", "[0.5, 0.5]", shares)
			r := ran(t, dir, "job-c.yaml", twins)
			holds(t, dir, "y.npy", 5)
			holds(t, dir, "sum.npy", 5)
			var items int64
			for _, n := range r.items() {
				items += n
			}
			if items != 2 {
				t.Errorf("%d work-items ran (%v), want one for each step", items, r.items())
			}
		})
		t.Run("no element "+shares, func(t *testing.T) {
			dir := folder(t, name)
			edit(t, dir, "job-a.yaml", "global: [0]", "global: [0]\n    split: "+shares)
			ran(t, dir, "job-a.yaml", twins)
			shape(t, dir, "y.npy", devices.Float32, 0)
			holds(t, dir, "sum.npy", 0)
		})
	}
}

// TestEmptyTypes: every element type, two dimensions with a 0 in each place,
// updates in place, and comparing what comes out.
func TestEmptyTypes(t *testing.T) {
	needOpenCL(t)
	for _, c := range []struct{ dtype, c string }{
		{"int8", "char"}, {"uint8", "uchar"}, {"int16", "short"}, {"uint16", "ushort"}, {"int32", "int"}, {"uint32", "uint"},
		{"int64", "long"}, {"uint64", "ulong"}, {"float32", "float"}, {"float64", "double"},
	} {
		t.Run(c.dtype, func(t *testing.T) {
			dir := put(t, t.TempDir(), "k.cl", fmt.Sprintf("__kernel void add(__global %s *x, int w) { x[get_global_id(1) * w + get_global_id(0)] += 1; }", c.c))
			put(t, dir, "job.yaml", fmt.Sprintf(`
buffers:
  x: {dtype: %s, shape: [5, 0], fill: 1, out: x.npy}
  y: {dtype: %s, shape: [0, 5], fill: i + j, out: y.npy}
steps:
  - {kernel: {file: k.cl, entry: add, lang: opencl}, global: [0, 5], args: [{buf: x, mode: rw}, {val: 0}]}
  - {kernel: {file: k.cl, entry: add, lang: opencl}, global: [5, 0], local: [4, 4], args: [{buf: y, mode: rw}, {val: 5}]}
`, c.dtype, c.dtype))
			ran(t, dir, "job.yaml")
			d, _ := devices.ParseDType(c.dtype)
			shape(t, dir, "x.npy", d, 5, 0)
			shape(t, dir, "y.npy", d, 0, 5)
			tandem(t, dir, nil, "compare", "x.npy", "x.npy").exits(0)
			tandem(t, dir, nil, "compare", "x.npy", "y.npy").exits(1)
		})
	}
}

// TestSplitAlignment: cuts at places that no device allows for parts of a
// buffer do not show in the result, and small arrays are shared all the same.
func TestSplitAlignment(t *testing.T) {
	needTwins(t)
	const name = "05-split-alignment"
	t.Run("1000 floats", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-a.yaml", twins)
		holds(t, dir, "y.npy", sequence(1000, func(i int) float64 { return float64(i * i) })...)
	})
	t.Run("200 floats", func(t *testing.T) {
		dir := folder(t, name)
		r := ran(t, dir, "job-b.yaml", twins)
		holds(t, dir, "y.npy", sequence(200, func(i int) float64 { return float64(i * i) })...)
		for _, id := range []string{"opencl:0", "opencl:1", "opencl:2"} {
			if r.items()[id] == 0 {
				t.Errorf("%s has no work-items: %v", id, r.items())
			}
		}
	})
	t.Run("rows of 33 bytes", func(t *testing.T) {
		dir := folder(t, name)
		r := ran(t, dir, "job-c.yaml", twins)
		sameFile(t, dir, "dst.npy", "want_pic.npy")
		if r.items()["opencl:0"] != 5 || r.items()["opencl:1"] != 5 {
			t.Errorf("work-items by device: %v, want 5 rows each", r.items())
		}
	})
	for _, c := range []struct {
		dtype, c string
		n        int
	}{
		{"uint8", "uchar", 1001}, {"int16", "short", 999}, {"uint32", "uint", 97}, {"float64", "double", 1003}, {"int64", "long", 333},
	} {
		for _, shares := range []string{"[0.334, 0.333, 0.333]", "[0.01, 0.98, 0.01]"} {
			t.Run(fmt.Sprint(c.n, " of ", c.dtype, " ", shares), func(t *testing.T) {
				dir := put(t, t.TempDir(), "k.cl", fmt.Sprintf("__kernel void add(__global const %s *x, __global %s *y) { size_t i = get_global_id(0); y[i] = (%s)(x[i] + 1); }", c.c, c.c, c.c))
				put(t, dir, "job.yaml", fmt.Sprintf(`
buffers: {x: {dtype: %s, shape: [%d], fill: "i %% 100"}, y: {dtype: %s, shape: [%d], out: y.npy}}
steps:
  - {kernel: {file: k.cl, entry: add, lang: opencl}, global: [%d], split: %s, args: [{buf: x, mode: r}, {buf: y, mode: w}]}
`, c.dtype, c.n, c.dtype, c.n, c.n, shares))
				ran(t, dir, "job.yaml", twins)
				holds(t, dir, "y.npy", sequence(c.n, func(i int) float64 { return float64(i%100 + 1) })...)
			})
		}
	}
}
