package robustness

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDependencyCycle: rings are found when the job is read, in under a second
// and spelled out; no step runs. What is no ring runs.
func TestDependencyCycle(t *testing.T) {
	const name = "10-dependency-cycle"
	for _, c := range []struct {
		job   string
		words []string
	}{
		{"job-a.yaml", []string{"job-a.yaml:4:133:", "load -> blur -> sharpen -> load"}},
		{"job-b.yaml", []string{"job-b.yaml:4:115:", `"solo" waits for itself`}},
		{"job-e.yaml", []string{"job-e.yaml:5:133:", `"blur"`, `"laod"`, `did you mean "load"?`}},
	} {
		t.Run(c.job, func(t *testing.T) {
			if o := refused(t, folder(t, name), c.job, c.words...); o.wall > time.Second && !testing.Short() {
				t.Errorf("took %v, want less than a second", o.wall)
			}
		})
	}
	t.Run("long ring", func(t *testing.T) {
		const n = 500
		var b strings.Builder
		b.WriteString("buffers: {x: {dtype: float32, shape: [4], fill: 0, out: x.npy}}\nsteps:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {id: s%d, kernel: {file: id.cl, entry: bump, lang: opencl}, global: [4], args: [{buf: x, mode: rw}], after: [s%d]}\n", i, (i+1)%n)
		}
		dir := put(t, folder(t, name), "job.yaml", b.String())
		refused(t, dir, "job.yaml", "job.yaml:", "ring", "s1 -> s0")
	})
	t.Run("ring through a loop", func(t *testing.T) {
		dir := put(t, folder(t, name), "job.yaml", `buffers: {x: {dtype: float32, shape: [4], fill: 0, out: x.npy}}
steps:
  - for: {k: [0, 3]}
    steps:
      - {id: one, kernel: {file: id.cl, entry: bump, lang: opencl}, global: [4], args: [{buf: x, mode: rw}], after: [two]}
      - {id: two, kernel: {file: id.cl, entry: bump, lang: opencl}, global: [4], args: [{buf: x, mode: rw}], after: [one]}
`)
		refused(t, dir, "job.yaml", "job.yaml:", "ring", "one", "two")
	})
	t.Run("through data only", func(t *testing.T) {
		// Data flow in the order of the file: ping reads the zeros that b begins
		// with.
		needOpenCL(t)
		dir := folder(t, name)
		tandem(t, dir, nil, "run", "job-c.yaml").exits(0).says("warning: job-c.yaml:3:44:", "b", "zeros")
		holds(t, dir, "b.npy", 2, 2, 2, 2)
	})
	t.Run("diamond", func(t *testing.T) {
		needOpenCL(t)
		dir := folder(t, name)
		ran(t, dir, "job-d.yaml")
		holds(t, dir, "y.npy", 4, 5, 6, 7)
	})
}

// TestWriteAfterRead: a buffer is not written again before its reader is done,
// on one device and across devices; two readers may overlap.
func TestWriteAfterRead(t *testing.T) {
	needTwins(t)
	rounds := 20
	if testing.Short() {
		rounds = 2
	}
	for _, c := range []struct {
		name     string
		from, to []string // replaced in the job
	}{
		{"one device", nil, nil},
		{"writer and reader on two devices", []string{"entry: fill, lang: opencl}", "entry: slow_read, lang: opencl}"},
			[]string{"entry: fill, lang: opencl}, device: \"opencl:1\"", "entry: slow_read, lang: opencl}, device: \"opencl:2\""}},
		{"parts on two devices", []string{"entry: slow_read, lang: opencl}"}, []string{"entry: slow_read, lang: opencl}, split: [0, 0.5, 0.5]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, "11-write-after-read")
			for _, job := range []string{"job-a.yaml", "job-b.yaml"} {
				for i := range c.from {
					edit(t, dir, job, c.from[i], c.to[i])
				}
			}
			for n := range rounds {
				if n == 1 { // the full length once, then shorter and more often
					edit(t, dir, "job-a.yaml", "{val: 3000000, type: uint}", "{val: 300000, type: uint}")
					edit(t, dir, "job-b.yaml", "{val: 3000000, type: uint}", "{val: 300000, type: uint}")
				}
				ran(t, dir, "job-a.yaml", twins)
				for i := 1; i <= 6; i++ {
					holds(t, dir, fmt.Sprintf("o%d.npy", i), repeated(float64(10*i), 64)...)
				}
				ran(t, dir, "job-b.yaml", twins)
				holds(t, dir, "o1.npy", repeated(1, 64)...)
				holds(t, dir, "o2.npy", repeated(1, 64)...)
				holds(t, dir, "o3.npy", repeated(3, 64)...)
				holds(t, dir, "buf.npy", repeated(3, 64)...)
			}
		})
	}
}
