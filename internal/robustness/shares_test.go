package robustness

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestColdStart: the result does not depend on who did how much, from the first
// run without any measurement on. What the shares are is a matter of the cost
// model, see the partitioner's tests of the same name.
func TestColdStart(t *testing.T) {
	needTwins(t)
	dir := folder(t, "18-cold-start-slow-device")
	cache := "TANDEM_CACHE_DIR=" + filepath.Join(t.TempDir(), "cache")
	for n := range 4 {
		ran(t, dir, "job.yaml", twins, cache)
		sameFile(t, dir, "y.npy", "want.npy")
		t.Logf("run %d", n)
	}
	for _, shares := range []string{"[1, 0]", "[0, 1]", "[0.5, 0.5]", "[0.01, 0.99]", "[0.98, 0.01, 0.01]", "[0.2, 0.3, 0.5]", "none"} {
		t.Run(shares, func(t *testing.T) {
			dir := folder(t, "18-cold-start-slow-device")
			edit(t, dir, "job.yaml", "split: auto", "split: "+shares)
			ran(t, dir, "job.yaml", twins, cache)
			sameFile(t, dir, "y.npy", "want.npy")
		})
	}
	for _, shares := range []string{"[0, 0]", "[-1, 2]", "[1, 2]", "[]", "[half, half]", "both"} {
		t.Run(shares, func(t *testing.T) {
			dir := folder(t, "18-cold-start-slow-device")
			edit(t, dir, "job.yaml", "split: auto", "split: "+shares)
			refused(t, dir, "job.yaml", "job.yaml:3:", "split")
		})
	}
}

// TestTwins: devices of the same name are told apart by ids that stay, and both
// get work.
func TestTwins(t *testing.T) {
	needTwins(t)
	const name = "13-twin-devices"
	first := probe(t, twins)
	ids := first.ids("opencl")
	names := map[string][]string{} // ids by name
	for _, d := range first.Devices {
		if d.Backend == "opencl" {
			names[d.Name] = append(names[d.Name], d.ID)
		}
	}
	var pair []string
	var twinName string
	for n, list := range names {
		if len(list) == 2 {
			twinName, pair = n, list
		}
	}
	if fmt.Sprint(ids) != "[opencl:0 opencl:1 opencl:2]" || len(pair) != 2 {
		t.Fatalf("ids %v by name %v, want three ids for two names", ids, names)
	}
	t.Run("ids stay", func(t *testing.T) {
		for range 3 {
			if again := probe(t, twins); fmt.Sprint(again.Devices) != fmt.Sprint(first.Devices) {
				t.Errorf("%v, then %v", first.Devices, again.Devices)
			}
		}
	})
	t.Run("both work", func(t *testing.T) {
		dir := folder(t, name)
		r := ran2(t, dir, "job.yaml", pair[0]+","+pair[1])
		twice(t, dir)
		if len(r.Devices) != 2 || r.items()[pair[0]] != 512 || r.items()[pair[1]] != 512 {
			t.Errorf("work-items by device: %v, want 512 for each of %v", r.items(), pair)
		}
	})
	for i, id := range ids {
		t.Run("choose "+id, func(t *testing.T) {
			dir := folder(t, name)
			r := ran2(t, dir, "job.yaml", id)
			twice(t, dir)
			if len(r.Devices) != 1 || r.items()[id] != 1024 {
				t.Errorf("work-items by device: %v, want all 1024 on %s", r.items(), id)
			}
			// By the step, among all.
			edit(t, dir, "job.yaml", "split: [0.5, 0.5]", fmt.Sprintf("device: %q", id))
			r = ran(t, dir, "job.yaml", twins)
			twice(t, dir)
			if r.items()[id] != 1024 {
				t.Errorf("device: %s: work-items by device: %v", id, r.items())
			}
			edit(t, dir, "job.yaml", fmt.Sprintf("device: %q", id), fmt.Sprintf("device: %d", i+1)) // cpu:0 comes first
			if r = ran(t, dir, "job.yaml", twins); r.items()[id] != 1024 {
				t.Errorf("device: %d: work-items by device: %v", i+1, r.items())
			}
		})
	}
	for _, c := range []struct {
		selector string
		words    []string
	}{
		{"name=" + twinName, []string{"ambiguous", pair[0], pair[1]}},
		{"name=pthread", []string{"ambiguous", pair[0], pair[1]}},
		{"opencl:3", []string{`"opencl:3"`, "0 to 2", "opencl:0", "opencl:2"}},
		{"opencl:-1", []string{`"opencl:-1"`, "0 to 2"}},
		{"opencl:99999999999999999999", []string{"opencl:0"}},
		{"cpu:1", []string{`"cpu:1"`, "index 0 only", "cpu:0"}},
		{"opencel", []string{`did you mean "opencl"?`}},
		{"!opencl,!cpu,!fpga", []string{"leaves no device"}},
		{"", nil},
	} {
		t.Run("selector "+c.selector, func(t *testing.T) {
			dir := folder(t, name)
			edit(t, dir, "job.yaml", ", split: [0.5, 0.5]", "")
			before := contents(t, dir)
			o := tandem(t, dir, []string{twins}, "run", "job.yaml", "--devices", c.selector)
			if c.selector == "" {
				o.exits(0)
				return
			}
			o.exits(2).says(c.words...)
			unchanged(t, dir, before)
			tandem(t, dir, []string{twins}, "probe", "--devices", c.selector).exits(2).says(c.words...)
			edit(t, dir, "job.yaml", "args:", fmt.Sprintf("device: %q, args:", c.selector))
			tandem(t, dir, []string{twins}, "run", "job.yaml").exits(2).says(c.words...)
		})
	}
	t.Run("position out of range", func(t *testing.T) {
		dir := folder(t, name)
		edit(t, dir, "job.yaml", "split: [0.5, 0.5]", "device: 4")
		before := contents(t, dir)
		tandem(t, dir, []string{twins}, "run", "job.yaml").exits(2).says("job.yaml:3:", "4", "0 to 3")
		unchanged(t, dir, before)
	})
}

// ran2 runs a job on the selected ones of three devices.
func ran2(t *testing.T, dir, job, selector string) *report {
	t.Helper()
	var r report
	tandem(t, dir, []string{twins}, "run", job, "--json", "--devices", selector).exits(0).document(&r)
	return &r
}

func twice(t *testing.T, dir string) {
	t.Helper()
	totals(t, dir, "out.npy", 1047552, map[int]float64{0: 0, 512: 1024, 1023: 2046})
}
