package robustness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sample is what a program holds at one moment.
type sample struct {
	rss            int64 // bytes
	threads, files int
}

func take(pid int) (s sample, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return s, false
	}
	value := func(key string) int {
		_, rest, _ := strings.Cut(string(b), key+":")
		f := strings.Fields(rest)
		if len(f) == 0 {
			return 0
		}
		n, _ := strconv.Atoi(f[0]) // the kernel writes numbers
		return n
	}
	s.rss, s.threads = int64(value("VmRSS"))<<10, value("Threads")
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	s.files = len(fds)
	return s, err == nil && s.rss > 0
}

// TestLongRun: memory, threads and open files do not depend on the number of
// launches already done, with one device and with several to choose from.
func TestLongRun(t *testing.T) {
	needTwins(t)
	launches := 200_000
	if testing.Short() {
		launches = 60_000
	}
	for _, c := range []struct {
		name     string
		settings []string
		args     []string
		job      string
	}{
		{"one device", nil, []string{"--devices", "opencl"}, ""},
		{"every device", nil, nil, ""},
		{"three devices", []string{twins}, nil, ""},
		{"two buffers in turn", nil, nil, `
buffers: {x: {file: x.npy, out: x_out.npy}, y: {dtype: float32, shape: [256], fill: 0}}
steps:
  - for: {k: [0, 8]}
    steps:
      - {kernel: {file: turn.cl, entry: turn, lang: opencl}, global: [256], args: [{buf: x, mode: r}, {buf: y, mode: w}, {val: 0}], repeat: REPEAT}
      - {kernel: {file: turn.cl, entry: turn, lang: opencl}, global: [256], args: [{buf: y, mode: r}, {buf: x, mode: w}, {val: 1}], repeat: REPEAT}
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, "06-handle-leak")
			if c.job != "" {
				put(t, dir, "turn.cl", "__kernel void turn(__global const float *x, __global float *y, int n) { size_t i = get_global_id(0); y[i] = x[i] + n; }")
				put(t, dir, "job.yaml", c.job)
			} else {
				edit(t, dir, "job.yaml", "repeat: 200000", "repeat: REPEAT")
				if len(c.settings) > 0 { // the same one in both runs
					edit(t, dir, "job.yaml", "    global:", "    device: opencl:1\n    global:")
				}
			}
			repeat := func(n int) []string {
				b, err := os.ReadFile(filepath.Join(dir, "job.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				name := fmt.Sprintf("job-%d.yaml", n)
				put(t, dir, name, strings.ReplaceAll(string(b), "REPEAT", fmt.Sprint(n)))
				return append([]string{"run", name, "--quiet"}, c.args...)
			}
			n, want := launches, float64(launches)
			if c.job != "" {
				n, want = launches/16, 8
			}
			// A compiler in the same process takes a hundred megabytes: not in the
			// run that is looked at.
			tandem(t, dir, c.settings, repeat(1)...).exits(0)
			r := start(t, dir, c.settings, repeat(n)...)
			tick := time.NewTicker(5 * time.Millisecond)
			defer tick.Stop()
			var all []sample
			for !r.over() {
				if s, ok := take(r.cmd.Process.Pid); ok {
					all = append(all, s)
				}
				<-tick.C
			}
			if code := r.cmd.ProcessState.ExitCode(); code != 0 {
				t.Fatalf("exit code %d\n%s", code, &r.stderr)
			}
			holds(t, dir, "x_out.npy", repeated(want, 256)...)
			if len(all) < 20 {
				t.Fatalf("only %d samples: the run was too short", len(all))
			}
			// The first part is start-up and the first launches, the last outputs
			// and the end. The middle sample of a stretch is free of the collector's
			// ups and downs; the two are half of the launches apart.
			early, late := all[len(all)*3/10:len(all)/2], all[len(all)*8/10:len(all)*98/100]
			base, most := early[0], early[0]
			for _, s := range all[len(all)*3/10:] {
				most.threads, most.files = max(most.threads, s.threads), max(most.files, s.files)
			}
			from, to := middle(early), middle(late)
			t.Logf("%d launches: resident %d, later %d bytes; threads %d, at most %d; files %d, at most %d", launches, from, to, base.threads, most.threads, base.files, most.files)
			// 200,000 launches are some seconds: the Go heap still finds its size
			// then (it is level over 3 million), and differs by a few megabytes
			// between two runs. A launch that leaves 100 bytes behind shows.
			if grown := to - from; grown > 8<<20 {
				t.Errorf("resident memory grew by %d bytes over half of the launches", grown)
			}
			if most.threads > base.threads+4 || most.files > base.files+4 { // outputs are written at the end
				t.Errorf("%d threads and %d files became %d and %d", base.threads, base.files, most.threads, most.files)
			}
		})
	}
}

// middle is the median of what was resident.
func middle(list []sample) int64 {
	var rss []int64
	for _, s := range list {
		rss = append(rss, s.rss)
	}
	slices.Sort(rss)
	return rss[len(rss)/2]
}
