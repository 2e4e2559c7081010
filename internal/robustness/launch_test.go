package robustness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestRaggedGlobal: a global size that the local size does not divide runs the
// asked work-items and no other, or is refused with both numbers.
func TestRaggedGlobal(t *testing.T) {
	needOpenCL(t)
	const name = "01-ragged-global"
	t.Run("guarded", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-a.yaml")
		totals(t, dir, "y_out.npy", 1249750, map[int]float64{0: 1000, 1: 1000.5, 960: 1480, 999: 1499.5})
	})
	t.Run("unguarded", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-b.yaml")
		holds(t, dir, "y_out.npy", sequence(1024, func(i int) float64 {
			if i >= 1000 {
				return -7 // behind the range
			}
			return 1000 + float64(i)/2
		})...)
	})
	t.Run("group size of the kernel", func(t *testing.T) {
		refused(t, folder(t, name), "job-c.yaml", "job-c.yaml:8:13:", "saxpy_fixed", "64", "1000")
	})
	t.Run("two dimensions", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-d.yaml")
		holds(t, dir, "out.npy", sequence(70, func(i int) float64 { return float64(100*(i/10) + i%10) })...)
	})
}

// countKernel counts how often each work-item runs, and those out of range
// behind the others.
const countKernel = `__kernel void count(__global int *c, int w, int h, int d)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < w && y < h && z < d)
        atomic_inc(&c[(z * h + y) * w + x]);
    else
        atomic_inc(&c[w * h * d]);
}
`

// TestRaggedSizes: whatever the sizes and dimensions, on one device and cut for
// two, each work-item runs exactly once.
func TestRaggedSizes(t *testing.T) {
	needTwins(t)
	for _, c := range []struct{ global, local [3]int }{
		{[3]int{1, 1, 1}, [3]int{64, 1, 1}},
		{[3]int{10, 1, 1}, [3]int{64, 1, 1}},
		{[3]int{997, 1, 1}, [3]int{7, 1, 1}},
		{[3]int{65, 1, 1}, [3]int{64, 1, 1}},
		{[3]int{13, 11, 1}, [3]int{4, 8, 1}},
		{[3]int{3, 100, 1}, [3]int{16, 16, 1}},
		{[3]int{5, 6, 7}, [3]int{2, 4, 3}},
		{[3]int{9, 1, 5}, [3]int{4, 1, 2}},
	} {
		for _, split := range []string{"none", "[0.5, 0.5]"} {
			t.Run(fmt.Sprint(c.global, c.local, split), func(t *testing.T) {
				n := c.global[0] * c.global[1] * c.global[2]
				dir := put(t, t.TempDir(), "count.cl", countKernel)
				put(t, dir, "job.yaml", fmt.Sprintf(`
buffers: {c: {dtype: int32, shape: [%d], fill: -7, out: c.npy}}
steps:
  - kernel: {file: count.cl, entry: count, lang: opencl}
    global: [%d, %d, %d]
    local: [%d, %d, %d]
    split: %s
    args: [{buf: c, mode: rw}, {val: %d}, {val: %d}, {val: %d}]
`, n+24, c.global[0], c.global[1], c.global[2], c.local[0], c.local[1], c.local[2], split, c.global[0], c.global[1], c.global[2]))
				o := tandem(t, dir, []string{twins}, "run", "job.yaml")
				if split != "none" && o.code == 2 {
					o.says("count", "cannot be split") // atomics on cells of others: a right refusal
					return
				}
				o.exits(0)
				holds(t, dir, "c.npy", append(repeated(-6, n), repeated(-7, 24)...)...)
			})
		}
	}
}

// TestGroupSizeRefusals: group sizes that no device or not this kernel can have.
func TestGroupSizeRefusals(t *testing.T) {
	largest := int64(0)
	for _, d := range needOpenCL(t).Devices {
		if d.Backend == "opencl" {
			largest = max(largest, d.MaxWorkGroup)
		}
	}
	dir := t.TempDir()
	put(t, dir, "k.cl", `__kernel void free_size(__global int *x) { x[get_global_id(0)] = 1; }
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void fixed2(__global int *x) { x[get_global_id(1) * get_global_size(0) + get_global_id(0)] = 1; }
`)
	for _, c := range []struct {
		entry, global, local string
		words                []string
	}{
		{"free_size", "[100000]", fmt.Sprintf("[%d]", 2*largest), []string{"opencl:", fmt.Sprintf("at most %d", largest), fmt.Sprint(2 * largest)}},
		{"free_size", "[64]", "[0]", []string{"job.yaml:6:13", "local", "0"}},
		{"free_size", "[64]", "[8, 8]", []string{"job.yaml:6", "local"}},
		{"fixed2", "[20, 8]", "[8, 8]", []string{"fixed2", "8", "dimension 0", "20"}},
		{"fixed2", "[8, 20]", "[8, 8]", []string{"fixed2", "8", "dimension 1", "20"}},
		{"fixed2", "[16, 16]", "[4, 4]", []string{"fixed2"}},
	} {
		t.Run(c.entry+c.global+c.local, func(t *testing.T) {
			put(t, dir, "job.yaml", fmt.Sprintf(`buffers: {x: {dtype: int32, shape: [100000], fill: 0, out: x.npy}}
steps:
  - id: s
    kernel: {file: k.cl, entry: %s, lang: opencl}
    global: %s
    local: %s
    args: [{buf: x, mode: rw}]
`, c.entry, c.global, c.local))
			refused(t, dir, "job.yaml", c.words...)
		})
	}
}

// TestRaggedBarrier: a kernel with a barrier in groups that are not full.
func TestRaggedBarrier(t *testing.T) {
	needOpenCL(t)
	dir := folder(t, "02-local-args")
	save(t, dir, "x.npy", devices.Float32, []int64{250}, floats32(250)...)
	put(t, dir, "sum.cl", `__kernel void sum(__global const float *x, __global float *sums, __local float *scratch)
{
    size_t l = get_local_id(0), n = get_local_size(0);
    scratch[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        float t = 0.0f;
        for (size_t i = 0; i < n; i++)
            t += scratch[i];
        sums[get_group_id(0)] = t;
    }
}
`)
	put(t, dir, "job.yaml", `
buffers: {x: {file: x.npy}, sums: {dtype: float32, shape: [8], out: sums.npy}}
steps:
  - {kernel: {file: sum.cl, entry: sum, lang: opencl}, global: [250], local: [32], args: [{buf: x, mode: r}, {buf: sums, mode: w}, {local_bytes: 128}]}
`)
	ran(t, dir, "job.yaml")
	holds(t, dir, "sums.npy", 496, 1520, 2544, 3568, 4592, 5616, 6640, 6149) // the last group has 26
}

func floats32(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i)
	}
	return v
}

// TestSplitIndices: kernels that look at their index, group or grid size give
// the same bits on several devices as on one, or are refused with the reason.
func TestSplitIndices(t *testing.T) {
	needTwins(t)
	const name = "19-split-and-indices"
	for _, c := range []struct{ job, out, want string }{
		{"job-a.yaml", "out.npy", "want_noise.npy"},
		{"job-c.yaml", "out.npy", "want_groups.npy"},
		{"job-d.yaml", "y.npy", "want_smooth.npy"},
	} {
		for _, shares := range []string{"[0.5, 0.5]", "[0.2, 0.8]", "[0.3, 0.3, 0.4]", "[0, 1]", "auto", "none"} {
			t.Run(c.job+" "+shares, func(t *testing.T) {
				dir := folder(t, name)
				edit(t, dir, c.job, "split: [0.5, 0.5]", "split: "+shares)
				r := ran(t, dir, c.job, twins)
				sameFile(t, dir, c.out, c.want)
				busy := 0
				for _, n := range r.items() {
					if n > 0 {
						busy++
					}
				}
				// Group sizes limit where a range may be cut, 0 is no share.
				if want := strings.Count(shares, ",") + 1 - strings.Count(shares, "[0,"); strings.HasPrefix(shares, "[") && busy != want {
					t.Errorf("work-items by device %v: want work on %d", r.items(), want)
				}
			})
		}
	}
	t.Run("strides of the whole grid", func(t *testing.T) {
		dir := folder(t, name)
		before := contents(t, dir)
		tandem(t, dir, []string{twins}, "run", "job-b.yaml").exits(2).says("stride_add", "cannot be split")
		unchanged(t, dir, before)
		// With one device to choose from there is nothing to divide.
		ran2(t, dir, "job-b.yaml", "opencl:1")
		holds(t, dir, "x.npy", repeated(1, 4096)...)
		dir = folder(t, name)
		edit(t, dir, "job-b.yaml", "split: [0.5, 0.5]", "split: auto") // then it is not, and runs
		ran(t, dir, "job-b.yaml", twins)
		holds(t, dir, "x.npy", repeated(1, 4096)...)
	})
}

// TestReadOnlyInput: an input that nobody may write into may be an output of
// the same name, and keeps its permissions.
func TestReadOnlyInput(t *testing.T) {
	needOpenCL(t)
	dir := folder(t, "19-split-and-indices")
	edit(t, dir, "job-b.yaml", "split: [0.5, 0.5]", "split: none")
	for range 2 {
		protect(t, dir, "x.npy")
		ran(t, dir, "job-b.yaml")
		holds(t, dir, "x.npy", repeated(1, 4096)...)
		protected(t, dir, "x.npy")
	}
}
