package cpu

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// EnvWorkers is the environment variable that sets the number of workers. It
// wins over everything, also when it asks for more than there are cores.
const EnvWorkers = "TANDEM_CPU_WORKERS"

// maxWorkers is beyond any machine; a larger wish is a typing error.
const maxWorkers = 1 << 14

// Budget is the number of cores that this process may keep busy: what the
// environment variable TANDEM_CPU_WORKERS says, or the least of the affinity
// mask, the cpusets and the quotas (quota / period, rounded up) of every
// cgroup from the process's own to the root; at least 1. Whatever else
// computes on the host's cores in this process, such as an OpenCL runtime for
// CPUs, should keep to the same number. The warning, "" for none, says what
// could not be understood and was left out of account.
func Budget() (n int, warning string) {
	n, _, warning = budget()
	return n, warning
}

func budget() (n int, explicit bool, warning string) {
	text := os.Getenv(EnvWorkers)
	if text == "" {
		n, warning = systemBudget()
		return n, false, warning
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err == nil && n >= 1 && n <= maxWorkers {
		return n, true, ""
	}
	n, warning = systemBudget()
	mine := fmt.Sprintf("%s=%q is not a number from 1 to %d: using %d workers", EnvWorkers, text, maxWorkers, n)
	if warning != "" {
		mine += "; " + warning
	}
	return n, false, mine
}

// cgroups reads the limits of a process's control groups, versions 1 and 2,
// from a file system that holds proc/self/cgroup and sys/fs/cgroup.
type cgroups struct {
	fs      fs.FS
	garbled []string // what could not be understood
}

// cpus is the least of n and what the control groups allow, at least 1.
func (g *cgroups) cpus(n int) int {
	if own, ok := g.unified(); ok {
		for _, level := range levels(own) {
			n = min(n, g.quotaV2(level+"/cpu.max"), g.cpuset(level+"/cpuset.cpus.effective"))
		}
	}
	for _, own := range g.legacy("cpu") {
		for _, level := range levels(own) {
			n = min(n, g.quotaV1(level+"/cpu.cfs_quota_us", level+"/cpu.cfs_period_us"))
		}
	}
	for _, own := range g.legacy("cpuset") {
		for _, level := range levels(own) {
			n = min(n, g.cpuset(level+"/cpuset.effective_cpus"), g.cpuset(level+"/cpuset.cpus"))
		}
	}
	return max(n, 1)
}

// memory is the least of limit and what the control groups allow, and what of
// the tightest of them is used.
func (g *cgroups) memory(limit int64) (lim, used int64) {
	lim = limit
	look := func(own dir, limitFile, usedFile string) {
		for _, level := range levels(own) {
			if v, ok := g.number(level + "/" + limitFile); ok && v > 0 && v < lim {
				lim = v
				used, _ = g.number(level + "/" + usedFile)
			}
		}
	}
	if own, ok := g.unified(); ok {
		look(own, "memory.max", "memory.current")
	}
	for _, own := range g.legacy("memory") {
		look(own, "memory.limit_in_bytes", "memory.usage_in_bytes")
	}
	return lim, used
}

// warning is one line about everything that was not understood.
func (g *cgroups) warning() string {
	if len(g.garbled) == 0 {
		return ""
	}
	return "CPU limits left out of account: " + strings.Join(g.garbled, ", ")
}

// A dir is a control group's folder: where its hierarchy is mounted, and its
// path below that.
type dir struct{ mount, path string }

// levels are the folders from d's own to the root of its hierarchy. In a
// container the path may name folders of the host that are not there; the
// root is then the container's own group.
func levels(d dir) []string {
	var l []string
	for p := path.Clean("/" + d.path); ; p = path.Dir(p) {
		l = append(l, strings.TrimSuffix(d.mount+p, "/"))
		if p == "/" {
			return l
		}
	}
}

const cgroupMount = "sys/fs/cgroup"

// lines are the entries of /proc/self/cgroup: hierarchy, controllers, path.
func (g *cgroups) lines() [][]string {
	text, err := fs.ReadFile(g.fs, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var all [][]string
	for line := range strings.Lines(string(text)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			all = append(all, f)
		}
	}
	return all
}

// unified is the folder of the version 2 hierarchy, which is mounted beside
// the others on a machine that has both versions.
func (g *cgroups) unified() (dir, bool) {
	for _, f := range g.lines() {
		if f[0] == "0" && f[1] == "" {
			mount := cgroupMount
			if _, err := fs.Stat(g.fs, mount+"/unified"); err == nil {
				mount += "/unified"
			}
			return dir{mount, f[2]}, true
		}
	}
	return dir{}, false
}

// legacy are the folders in which a controller of version 1 may be mounted.
func (g *cgroups) legacy(controller string) []dir {
	for _, f := range g.lines() {
		for name := range strings.SplitSeq(f[1], ",") {
			if name != controller {
				continue
			}
			dirs := []dir{{cgroupMount + "/" + f[1], f[2]}}
			if f[1] != controller {
				dirs = append(dirs, dir{cgroupMount + "/" + controller, f[2]})
			}
			return dirs
		}
	}
	return nil
}

// text is a file's contents without blanks around them, "" if it is not there.
func (g *cgroups) text(name string) string {
	b, err := fs.ReadFile(g.fs, strings.TrimPrefix(path.Clean("/"+name), "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number reads a file of one number; "max" and a missing file are none.
func (g *cgroups) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(g.text(name), 10, 64)
	return n, err == nil
}

func (g *cgroups) bad(name, text string) int {
	g.garbled = append(g.garbled, fmt.Sprintf("/%s says %.60q", name, text))
	return maxWorkers
}

// quotaV2 reads "QUOTA PERIOD" or "max PERIOD".
func (g *cgroups) quotaV2(name string) int {
	text := g.text(name)
	f := strings.Fields(text)
	if len(f) == 0 || f[0] == "max" {
		return maxWorkers
	}
	if len(f) != 2 {
		return g.bad(name, text)
	}
	return g.ratio(name, text, f[0], f[1])
}

func (g *cgroups) quotaV1(quotaFile, periodFile string) int {
	quota, period := g.text(quotaFile), g.text(periodFile)
	if quota == "" || quota == "-1" || period == "" {
		return maxWorkers
	}
	return g.ratio(quotaFile, quota+" of "+period, quota, period)
}

func (g *cgroups) ratio(name, text, quota, period string) int {
	q, err1 := strconv.ParseInt(quota, 10, 64)
	p, err2 := strconv.ParseInt(period, 10, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return g.bad(name, text)
	}
	n := q / p
	if q%p != 0 {
		n++
	}
	return int(min(n, maxWorkers))
}

// cpuset counts a list such as "0,4-5".
func (g *cgroups) cpuset(name string) int {
	text := g.text(name)
	if text == "" {
		return maxWorkers
	}
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		lo, err1 := strconv.Atoi(first)
		hi, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || lo < 0 || hi < lo || hi > 1<<20 {
			return g.bad(name, text)
		}
		n += hi - lo + 1
	}
	return n
}
