package cpu

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// tree is a file system with the given files.
func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return m
}

const (
	self = "proc/self/cgroup"
	root = "sys/fs/cgroup/"
)

// v2 is a version 2 hierarchy in which the process is in /pod/box.
func v2(files map[string]string) fstest.MapFS {
	m := tree(files)
	m[self] = &fstest.MapFile{Data: []byte("0::/pod/box\n")}
	return m
}

func TestCgroupCPUs(t *testing.T) {
	for _, c := range []struct {
		name     string
		fs       fstest.MapFS
		of64     int // CPUs with an affinity mask of 64
		of8      int
		warnings int
	}{
		{"unlimited", v2(map[string]string{root + "pod/box/cpu.max": "max 100000"}), 64, 8, 0},
		{"quota of 2", v2(map[string]string{root + "pod/box/cpu.max": "200000 100000"}), 2, 2, 0},
		{"half a CPU", v2(map[string]string{root + "pod/box/cpu.max": "50000 100000"}), 1, 1, 0},
		{"3.99 CPUs", v2(map[string]string{root + "pod/box/cpu.max": "399000 100000"}), 4, 4, 0},
		{"cpuset", v2(map[string]string{root + "pod/box/cpu.max": "max 100000", root + "pod/box/cpuset.cpus.effective": "0-1"}), 2, 2, 0},
		{"parent's quota", v2(map[string]string{root + "pod/cpu.max": "200000 100000", root + "pod/box/cpu.max": "max 100000"}), 2, 2, 0},
		{"quota and cpuset", v2(map[string]string{root + "pod/box/cpu.max": "800000 100000", root + "pod/box/cpuset.cpus.effective": "0,4-5"}), 3, 3, 0},
		{"short period", v2(map[string]string{root + "pod/box/cpu.max": "30000 10000"}), 3, 3, 0},
		{"no files", v2(nil), 64, 8, 0},
		{"garbled", v2(map[string]string{root + "pod/box/cpu.max": "two cpus"}), 64, 8, 1},
		{"garbled three times", v2(map[string]string{root + "pod/box/cpu.max": "1 2 3", root + "pod/cpu.max": "0 100000",
			root + "pod/cpuset.cpus.effective": "5-3"}), 64, 8, 3},
		{"garbled beside a limit", v2(map[string]string{root + "pod/box/cpu.max": "x", root + "pod/cpu.max": "300000 100000"}), 3, 3, 1},
		{"period 0", v2(map[string]string{root + "cpu.max": "100000 0"}), 64, 8, 1},
		{"huge quota", v2(map[string]string{root + "cpu.max": "9223372036854775807 1"}), 64, 8, 0},
		{"more than there is", v2(map[string]string{root + "cpu.max": "1600000 100000"}), 16, 8, 0},
		{"version 1", tree(map[string]string{self: "4:cpu,cpuacct:/docker/abc\n3:cpuset:/docker/abc",
			root + "cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "150000", root + "cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000"}), 2, 2, 0},
		{"version 1, off", tree(map[string]string{self: "4:cpu,cpuacct:/docker/abc",
			root + "cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "-1", root + "cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000"}), 64, 8, 0},
		{"version 1, the host's path in a container", tree(map[string]string{self: "4:cpu,cpuacct:/docker/abc\n3:cpuset:/docker/abc",
			root + "cpu/cpu.cfs_quota_us": "500000", root + "cpu/cpu.cfs_period_us": "100000", root + "cpuset/cpuset.cpus": "1,3,5,7-8"}), 5, 5, 0},
		{"version 1, garbled", tree(map[string]string{self: "4:cpu:/", root + "cpu/cpu.cfs_quota_us": "many", root + "cpu/cpu.cfs_period_us": "100000"}), 64, 8, 1},
		{"both versions", tree(map[string]string{self: "1:cpu:/\n0::/box", root + "unified/box/cpu.max": "700000 100000",
			root + "cpu/cpu.cfs_quota_us": "600000", root + "cpu/cpu.cfs_period_us": "100000"}), 6, 6, 0},
		{"a group outside", tree(map[string]string{self: "0::/../../other", root + "cpu.max": "200000 100000"}), 2, 2, 0},
		{"no proc", tree(nil), 64, 8, 0},
		{"lines that are none", tree(map[string]string{self: "0\n::\n:"}), 64, 8, 0},
	} {
		for affinity, want := range map[int]int{64: c.of64, 8: c.of8} {
			g := &cgroups{fs: c.fs}
			if got := g.cpus(affinity); got != want {
				t.Errorf("%s: %d CPUs of %d, want %d", c.name, got, affinity, want)
			}
			if len(g.garbled) != c.warnings || (g.warning() != "") != (c.warnings > 0) || strings.Contains(g.warning(), "\n") {
				t.Errorf("%s: %d files were not understood, want %d; the warning is %q", c.name, len(g.garbled), c.warnings, g.warning())
			}
		}
	}
}

func TestCgroupMemory(t *testing.T) {
	const gib = int64(1 << 30)
	for _, c := range []struct {
		name      string
		fs        fstest.MapFS
		lim, used int64
	}{
		{"none", v2(nil), 64 * gib, 0},
		{"max", v2(map[string]string{root + "pod/box/memory.max": "max"}), 64 * gib, 0},
		{"tightest of two", v2(map[string]string{
			root + "pod/box/memory.max": fmt.Sprint(8 * gib), root + "pod/box/memory.current": fmt.Sprint(gib),
			root + "pod/memory.max": fmt.Sprint(4 * gib), root + "pod/memory.current": fmt.Sprint(3 * gib)}), 4 * gib, 3 * gib},
		{"version 1 without limit", tree(map[string]string{self: "9:memory:/a", root + "memory/a/memory.limit_in_bytes": "9223372036854771712"}), 64 * gib, 0},
		{"version 1", tree(map[string]string{self: "9:memory:/a", root + "memory/a/memory.limit_in_bytes": fmt.Sprint(gib),
			root + "memory/a/memory.usage_in_bytes": "5"}), gib, 5},
	} {
		g := &cgroups{fs: c.fs}
		if lim, used := g.memory(64 * gib); lim != c.lim || used != c.used {
			t.Errorf("%s: limit %d, used %d; want %d, %d", c.name, lim, used, c.lim, c.used)
		}
	}
}

func TestWorkersOverride(t *testing.T) {
	system, _ := systemBudget()
	for _, c := range []struct {
		env     string
		field   int
		want    int
		warning bool
	}{
		{"", 0, system, false},
		{"", 100, 100, false}, // also more than there are
		{"", -1, system, false},
		{"200", 0, 200, false},
		{"200", 3, 200, false},
		{" 1 ", 3, 1, false},
		{"0", 3, 3, true},
		{"-2", 0, system, true},
		{"all", 0, system, true},
		{"1e9", 0, system, true},
		{"999999999", 0, system, true},
	} {
		t.Setenv(EnvWorkers, c.env)
		n, warning := Driver{Workers: c.field}.workers()
		if n != c.want || (warning != "") != c.warning {
			t.Errorf("%s=%q, Workers %d: %d workers, warning %q; want %d, %v", EnvWorkers, c.env, c.field, n, warning, c.want, c.warning)
		}
		if c.warning && !strings.Contains(warning, fmt.Sprintf("%q", c.env)) {
			t.Errorf("the warning %q does not name the value %q", warning, c.env)
		}
	}
	t.Setenv(EnvWorkers, "7")
	if n, warning := Budget(); n != 7 || warning != "" {
		t.Errorf("Budget is %d, %q with 7 in the environment", n, warning)
	}
}

// FuzzCgroup feeds any text to every reader: it must neither panic nor leave
// the range from 1 to what the affinity mask allows.
func FuzzCgroup(f *testing.F) {
	f.Add("0::/a", "max 100000", "0-3,5")
	f.Add("4:cpu,cpuacct:/x", "100000 100000", "")
	f.Add("0::/../..", "-1 -1", "9-1")
	f.Fuzz(func(t *testing.T, proc, quota, set string) {
		files := map[string]string{self: proc}
		for _, dir := range []string{"", "a/", "cpu/", "cpu,cpuacct/x/"} {
			files[root+dir+"cpu.max"] = quota
			files[root+dir+"cpu.cfs_quota_us"] = quota
			files[root+dir+"cpu.cfs_period_us"] = "100000"
			files[root+dir+"cpuset.cpus.effective"] = set
			files[root+dir+"memory.max"] = quota
		}
		g := &cgroups{fs: tree(files)}
		if n := g.cpus(8); n < 1 || n > 8 {
			t.Errorf("%d CPUs of 8", n)
		}
		if lim, _ := g.memory(100); lim < 1 || lim > 100 {
			t.Errorf("a limit of %d bytes out of 100", lim)
		}
	})
}
