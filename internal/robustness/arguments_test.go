package robustness

import (
	"fmt"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestLocalArguments: memory of work-groups has a size in the job, and what a
// device does not have is refused before the launch.
func TestLocalArguments(t *testing.T) {
	p := needOpenCL(t)
	const name = "02-local-args"
	sums := []float64{496, 1520, 2544, 3568, 4592, 5616, 6640, 7664}
	t.Run("size given", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-a.yaml")
		holds(t, dir, "sums.npy", sums...)
	})
	t.Run("no size", func(t *testing.T) {
		refused(t, folder(t, name), "job-b.yaml", "job-b.yaml:9:11:", "group_sum", "scratch", "__local", "local_bytes")
	})
	t.Run("a buffer instead", func(t *testing.T) {
		refused(t, folder(t, name), "job-c.yaml", "job-c.yaml:9:53:", "group_sum", "scratch", "__local", "got a buffer")
	})
	// The rest is about the limit of the device that is here.
	var limit int64
	device := ""
	for _, d := range p.Devices {
		if d.Backend == "opencl" {
			limit, device = d.LocalMemory, d.ID
		}
	}
	inside := limit / 4 * 3 / 4 * 4
	run := func(t *testing.T, entry string, bytes int64) (dir string, o *outcome) {
		dir = folder(t, name)
		// The kernel with memory of its own, 800000 bytes, is fitted to the limit.
		edit(t, dir, "group_sum.cl", "inner[200000]", fmt.Sprintf("inner[%d]", inside/4))
		edit(t, dir, "group_sum.cl", "inner[l * 1000]", fmt.Sprintf("inner[l * %d]", inside/4/32))
		edit(t, dir, "group_sum.cl", "inner[k * 1000]", fmt.Sprintf("inner[k * %d]", inside/4/32))
		edit(t, dir, "job-a.yaml", "entry: group_sum,", "entry: "+entry+",")
		edit(t, dir, "job-a.yaml", "local_bytes: 128", fmt.Sprintf("local_bytes: %d", bytes))
		before := contents(t, dir)
		o = tandem(t, dir, nil, "run", "job-a.yaml", "--devices", device)
		if o.code != 0 {
			unchanged(t, dir, before)
		}
		return dir, o
	}
	t.Run("just what there is", func(t *testing.T) {
		dir, o := run(t, "group_sum", limit)
		o.exits(0)
		holds(t, dir, "sums.npy", sums...)
	})
	for _, bytes := range []int64{limit + 4, 2 * limit, 1 << 40} {
		t.Run(fmt.Sprintf("%d of %d bytes", bytes, limit), func(t *testing.T) {
			_, o := run(t, "group_sum", bytes)
			o.exits(2).says(fmt.Sprintf("%s has %d bytes of local memory, group_sum needs %d", device, limit, bytes))
		})
	}
	t.Run("inside and argument", func(t *testing.T) {
		dir, o := run(t, "group_sum_two", 128)
		o.exits(0)
		holds(t, dir, "sums.npy", sums...)
	})
	t.Run("inside and argument together too much", func(t *testing.T) {
		_, o := run(t, "group_sum_two", limit/2)
		o.exits(2).says(fmt.Sprintf("%s has %d bytes of local memory, group_sum_two needs %d (%d in the kernel, %d as arguments)", device, limit, inside+limit/2, inside, limit/2))
	})
	t.Run("not added up over the kernels of a file", func(t *testing.T) {
		// group_sum shares a file with the kernel that has memory of its own.
		dir, o := run(t, "group_sum", limit-limit/8)
		o.exits(0)
		holds(t, dir, "sums.npy", sums...)
	})
	for _, arg := range []string{"{local_bytes: 0}", "{local_bytes: -4}", "{val: 128}", `{local_bytes: "128"}`} {
		t.Run(arg, func(t *testing.T) {
			dir := folder(t, name)
			edit(t, dir, "job-a.yaml", "{local_bytes: 128}", arg)
			refused(t, dir, "job-a.yaml", "job-a.yaml:9:", "steps[0].args[2]")
		})
	}
}

// TestLayout: vectors of three and structs are laid out for the device or
// refused with both sizes.
func TestLayout(t *testing.T) {
	needOpenCL(t)
	const name = "03-float3-and-struct"
	fields := []float64{48, 16, 32, 40, 7, 15, 35, 9, 1234567890123}
	t.Run("packed triples for float3", func(t *testing.T) {
		refused(t, folder(t, name), "job-a.yaml", "job-a.yaml:9:12:", "norms", "float3", "16 bytes", "(4, 3)", "12 bytes", "vload3")
	})
	for _, c := range []struct {
		job, out string
		want     []float64
	}{
		{"job-b.yaml", "norms.npy", []float64{5, 3, 7, 9}},
		{"job-c.yaml", "norms.npy", []float64{5, 3, 7, 9}},
		{"job-d.yaml", "out.npy", fields},
		{"job-g.yaml", "out.npy", fields},
	} {
		t.Run(c.job, func(t *testing.T) {
			dir := folder(t, name)
			ran(t, dir, c.job)
			holds(t, dir, c.out, c.want...)
		})
	}
	t.Run("struct of 32 bytes", func(t *testing.T) {
		refused(t, folder(t, name), "job-e.yaml", "job-e.yaml:8:12:", "read_probe", "probe_t", "48 bytes", "32 bytes")
	})
	t.Run("struct of 25 bytes", func(t *testing.T) {
		refused(t, folder(t, name), "job-f.yaml", "job-f.yaml:8:12:", "read_probe", "probe_t", "48 bytes", "25 bytes")
	})
	for _, c := range []struct{ name, from, to, word string }{
		{"field missing", ", {stamp: 1234567890123, type: long}", "", "stamp"},
		{"field misspelt", "{flag: 9", "{flga: 9", "flga"},
		{"field too large", "{flag: 9", "{flag: 256", "256"},
		{"field too long", "[1.5, 2.5, 3.5]", "[1.5, 2.5, 3.5, 4.5]", "float3"},
		{"field too short", "[1.5, 2.5, 3.5]", "[1.5, 2.5]", "float3"},
		{"field of another type", "{id: 7, type: int}", "{id: 7, type: float}", "float"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, name)
			edit(t, dir, "job-g.yaml", c.from, c.to)
			refused(t, dir, "job-g.yaml", "job-g.yaml:", c.word)
		})
	}
}

// TestVectorsOfThree: all element types, and arrays of one dimension.
func TestVectorsOfThree(t *testing.T) {
	needOpenCL(t)
	for _, c := range []struct {
		c     string
		dtype devices.DType
		size  int
	}{
		{"char", devices.Int8, 1}, {"uchar", devices.Uint8, 1}, {"short", devices.Int16, 2}, {"uint", devices.Uint32, 4},
		{"float", devices.Float32, 4}, {"double", devices.Float64, 8}, {"long", devices.Int64, 8},
	} {
		t.Run(c.c+"3", func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "k.cl", fmt.Sprintf(`__kernel void first(__global const %s3 *p, __global int *out) { size_t i = get_global_id(0); out[i] = (int)p[i].x + (int)p[i].z; }`, c.c))
			for _, s := range []string{"[4, 3]", "[4, 4]", "[4, 2]", "[2, 8]"} {
				put(t, dir, "job.yaml", fmt.Sprintf(`
buffers: {p: {dtype: %s, shape: %s, fill: j + 1}, out: {dtype: int32, shape: [4], out: out.npy}}
steps:
  - {kernel: {file: k.cl, entry: first, lang: opencl}, global: [4], args: [{buf: p, mode: r}, {buf: out, mode: w}]}
`, c.dtype, s))
				if s == "[4, 4]" {
					ran(t, dir, "job.yaml")
					holds(t, dir, "out.npy", 4, 4, 4, 4)
				} else if s != "[2, 8]" {
					refused(t, dir, "job.yaml", "job.yaml:4:", c.c+"3", fmt.Sprintf("%d bytes", 4*c.size))
				}
			}
		})
	}
}
