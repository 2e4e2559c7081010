package robustness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices/devicetest"
)

// vendorLibrary is the source of OpenCL vendor libraries that break: the entry
// point of the loader does what HOW says, 5 breaks while it is loaded.
const vendorLibrary = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int ask(unsigned n, void **p, unsigned *count)
{
#if HOW == 1
    *(volatile int *)8 = 1;
#elif HOW == 2
    for (;;) pause();
#elif HOW == 3
    _exit(0);
#elif HOW == 4
    abort();
#endif
    return -1001;
}
#if HOW == 5
__attribute__((constructor)) static void loaded(void) { *(volatile int *)8 = 1; }
#elif HOW == 6
__attribute__((constructor)) static void loaded(void) { exit(7); }
#endif
void *clGetExtensionFunctionAddress(const char *name) { return strcmp(name, "clIcdGetPlatformIDsKHR") ? 0 : (void *)ask; }
int clIcdGetPlatformIDsKHR(unsigned n, void **p, unsigned *count) { return ask(n, p, count); }
int clGetPlatformInfo(void *p, unsigned i, size_t s, void *v, size_t *r) { return -30; }
`

// vendors makes a folder of vendor entries for the loader.
func vendors(t *testing.T, entries map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, library := range entries {
		put(t, dir, name, library+"\n")
	}
	return "OCL_ICD_VENDORS=" + dir
}

// broken builds a vendor library.
func broken(t *testing.T, name string, how int) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		devicetest.Require(t, "cc", err)
	}
	dir := put(t, t.TempDir(), "vendor.c", vendorLibrary)
	lib := filepath.Join(dir, name)
	if out, err := exec.Command(cc, "-shared", "-fPIC", fmt.Sprintf("-DHOW=%d", how), "-o", lib, filepath.Join(dir, "vendor.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return lib
}

// pocl is the path of PoCL's library.
func pocl(t *testing.T) string {
	t.Helper()
	needTwins(t)
	entries, err := filepath.Glob("/etc/OpenCL/vendors/*pocl*.icd")
	if err != nil || len(entries) == 0 {
		devicetest.Require(t, "opencl", fmt.Errorf("no vendor entry of PoCL: %v", err))
	}
	b, err := os.ReadFile(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// leftBehind are processes that still run the program.
func leftBehind(t *testing.T) (pids []string) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range list {
		if target, err := os.Readlink(exe); err == nil && target == program {
			pids = append(pids, filepath.Base(filepath.Dir(exe)))
		}
	}
	return pids
}

// TestBrokenVendorLibrary: a vendor library that breaks while it is asked is
// left out and named once; the good ones work, and nobody waits for ever.
func TestBrokenVendorLibrary(t *testing.T) {
	good := pocl(t)
	for _, c := range []struct {
		name string
		how  int
		says string
	}{
		{"crash", 1, "signal 11"}, {"hang", 2, "no answer within"}, {"exit", 3, "ended the process"}, {"abort", 4, "signal 6"},
		{"crash-at-load", 5, "signal 11"}, {"exit-at-load", 6, "exit status 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lib := broken(t, "lib"+c.name+".so", c.how)
			cache := "TANDEM_CACHE_DIR=" + filepath.Join(t.TempDir(), "cache")
			entries := vendors(t, map[string]string{"a_first.icd": lib, "z_pocl.icd": good})
			for n := range 2 { // the second time from the kept verdict
				var p probed
				o := tandem(t, t.TempDir(), []string{entries, cache}, "probe", "--json").exits(0).document(&p)
				if most := []time.Duration{10, 5}[n] * time.Second; o.wall > most {
					t.Errorf("probe %d took %v, want at most %v", n, o.wall, most)
				}
				if got := p.ids("opencl"); len(got) != 1 {
					t.Fatalf("OpenCL devices %v, want PoCL's one\n%s", got, o.stderr)
				}
				if w := p.warnings("opencl"); len(w) != 1 || !strings.Contains(w[0], lib) || !strings.Contains(w[0], c.says) {
					t.Errorf("warnings %q, want one about %s that says %q", w, lib, c.says)
				}
			}
			dir := folder(t, "01-ragged-global")
			o := tandem(t, dir, []string{entries, cache}, "run", "job-a.yaml").exits(0).says("warning", lib, c.says)
			if n := strings.Count(o.stderr, lib); n != 1 {
				t.Errorf("the library is named %d times:\n%s", n, o.stderr)
			}
			totals(t, dir, "y_out.npy", 1249750, nil)
			if pids := leftBehind(t); len(pids) > 0 {
				t.Errorf("processes %v are left behind", pids)
			}
		})
		t.Run(c.name+" alone", func(t *testing.T) {
			lib := broken(t, "lib"+c.name+".so", c.how)
			settings := []string{vendors(t, map[string]string{"only.icd": lib}), "TANDEM_CACHE_DIR=" + filepath.Join(t.TempDir(), "cache")}
			p := probe(t, settings...)
			if len(p.ids("cpu")) != 1 || len(p.ids("opencl")) != 0 || len(p.warnings("opencl")) != 1 || !strings.Contains(p.warnings("opencl")[0], c.says) {
				t.Errorf("devices %v, warnings %q", p.Devices, p.warnings("opencl"))
			}
			dir := folder(t, "01-ragged-global")
			before := contents(t, dir)
			tandem(t, dir, settings, "run", "job-a.yaml").exits(2).says(lib, c.says)
			unchanged(t, dir, before)
		})
	}
	t.Run("missing", func(t *testing.T) {
		settings := []string{vendors(t, map[string]string{
			"a_first.icd": "/nonexistent/libvendor.so", "b_blank.icd": "", "c_text.icd": "this is no library", "z_pocl.icd": good,
		}), "TANDEM_CACHE_DIR=" + filepath.Join(t.TempDir(), "cache")}
		p := probe(t, settings...)
		all := strings.Join(p.warnings("opencl"), "\n")
		if len(p.ids("opencl")) != 1 || len(p.warnings("opencl")) != 3 {
			t.Errorf("devices %v, warnings %q", p.Devices, all)
		}
		for _, w := range []string{"/nonexistent/libvendor.so", "b_blank.icd", "this is no library"} {
			if !strings.Contains(all, w) {
				t.Errorf("warnings %q do not name %q", all, w)
			}
		}
	})
	t.Run("one library twice", func(t *testing.T) {
		settings := []string{twins, vendors(t, map[string]string{"a.icd": good, "b.icd": good}), "TANDEM_CACHE_DIR=" + filepath.Join(t.TempDir(), "cache")}
		p := probe(t, settings...)
		if w := p.warnings("opencl"); len(p.ids("opencl")) != 3 || len(w) != 1 || !strings.Contains(w[0], "twice") {
			t.Errorf("devices %v, warnings %q; want each device once and one warning", p.ids("opencl"), w)
		}
	})
}

// node is a stand-in for a device node.
type node struct {
	path string
	gid  int
	mode os.FileMode
}

// TestNodePermission: a graphics processor that exists and may not be opened is
// told apart from none, with path, group and remedy; other devices are listed
// all the same.
func TestNodePermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("making nodes of other groups takes root")
	}
	const render, plain = "root:x:0:\nvideo:x:44:\nrender:x:105:\nusers:x:1000:\n", "root:x:0:\nvideo:x:44:\nusers:x:1000:\n"
	for _, c := range []struct {
		name, groups string
		nodes        []node
		verdict      string
		warnings     []string // what each says, "|" between words in order
		never        string
		usable       []string
	}{
		{"no permission", render, []node{{"dri/renderD128", 105, 0o660}, {"dri/card0", 44, 0o660}}, "exists but may not be opened",
			[]string{"/dev/dri/renderD128|group 105 (render)|usermod -aG render|--group-add 105"}, "", nil},
		{"group without a name", plain, []node{{"dri/renderD128", 105, 0o660}}, "exists but may not be opened",
			[]string{"/dev/dri/renderD128|gid 105|--group-add 105"}, "()", nil},
		{"no node", render, nil, "no GPU node", nil, "group", nil},
		{"twin by path", render, []node{{"dri/renderD128", 0, 0o666}, {"dri/by-path/pci-0000:00:02.0-render", 992, 0o660}}, "1 may not",
			[]string{"by-path/pci-0000:00:02.0-render|992"}, "", []string{"/dev/dri/renderD128"}},
		{"other vendors", render, []node{{"nvidia0", 0, 0o600}, {"nvidiactl", 0, 0o600}, {"kfd", 0, 0o600}}, "may not be opened",
			[]string{"/dev/kfd", "/dev/nvidiactl", "/dev/nvidia0"}, "usermod", nil},
		{"one of two", render, []node{{"dri/renderD128", 0, 0o660}, {"dri/renderD129", 0, 0o666}}, "1 may not",
			[]string{"/dev/dri/renderD128"}, "", []string{"/dev/dri/renderD129"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Everybody has to get there.
			root, err := os.MkdirTemp(scratch, "root")
			if err != nil {
				t.Fatal(err)
			}
			put(t, root, "etc/group", c.groups)
			put(t, root, "dev/null", "")
			for _, n := range c.nodes {
				put(t, root, "dev/"+n.path, "")
				path := filepath.Join(root, "dev", n.path)
				if err := os.Chown(path, 0, n.gid); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, n.mode); err != nil {
					t.Fatal(err)
				}
			}
			home := filepath.Join(root, "home")
			if err := os.Mkdir(home, 0o700); err != nil {
				t.Fatal(err)
			}
			for path, mode := range map[string]os.FileMode{scratch: 0o755, root: 0o755, filepath.Join(root, "etc/group"): 0o644, home: 0o777} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			for _, uid := range []uint32{65534, 0} {
				cmd := exec.Command(program, "probe", "--json")
				cmd.Dir = home
				cmd.Env = environment("TANDEM_DEVICE_ROOT="+root, "HOME="+home, "TANDEM_CACHE_DIR="+filepath.Join(home, fmt.Sprint(uid)), "POCL_CACHE_DIR="+filepath.Join(home, fmt.Sprint("pocl", uid)))
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("as %d: %v\n%s", uid, err, out)
				}
				var p probed
				(&outcome{t: t, stdout: string(out)}).document(&p)
				if len(p.ids("cpu")) != 1 {
					t.Errorf("as %d: no CPU device among %v", uid, p.Devices)
				}
				warnings, verdict := c.warnings, c.verdict
				if uid == 0 { // may open all
					warnings, verdict = nil, ""
				}
				if len(p.Nodes.Warnings) != len(warnings) || !strings.Contains(p.Nodes.Verdict, verdict) {
					t.Errorf("as %d: verdict %q, warnings %q; want %q and %d", uid, p.Nodes.Verdict, p.Nodes.Warnings, verdict, len(warnings))
					continue
				}
				for i, w := range warnings {
					inOrder(t, "the warning", p.Nodes.Warnings[i], strings.Split(w, "|")...)
				}
				if text := p.Nodes.Verdict + strings.Join(p.Nodes.Warnings, ""); uid != 0 && c.never != "" && strings.Contains(text, c.never) {
					t.Errorf("%q says %q", text, c.never)
				}
				for _, n := range p.Nodes.Nodes {
					if uid != 0 && n.Usable != slices.Contains(c.usable, n.Path) {
						t.Errorf("%s: usable is %v", n.Path, n.Usable)
					}
				}
			}
		})
	}
}

// units are the compute units of the first device of each backend.
func units(p *probed) map[string]int {
	m := map[string]int{}
	for _, d := range p.Devices {
		if m[d.Backend] == 0 && !strings.HasPrefix(d.Name, "basic") {
			m[d.Backend] = d.ComputeUnits
		}
	}
	return m
}

// TestCPUBudget: workers, and the threads of an OpenCL driver for the host's
// cores, are as many as the process may keep busy; the user's own number wins.
func TestCPUBudget(t *testing.T) {
	needTwins(t)
	for _, c := range []struct {
		name     string
		settings []string
		cpu, cl  int
	}{
		{"more than there are", []string{"TANDEM_CPU_WORKERS=5"}, 5, 5},
		{"one", []string{"TANDEM_CPU_WORKERS=1"}, 1, 1},
		{"the driver's own setting stays", []string{"TANDEM_CPU_WORKERS=1", "POCL_MAX_PTHREAD_COUNT=3"}, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := units(probe(t, c.settings...)); got["cpu"] != c.cpu || got["opencl"] != c.cl {
				t.Errorf("compute units %v, want %d and %d", got, c.cpu, c.cl)
			}
			dir := folder(t, "01-ragged-global")
			ran(t, dir, "job-a.yaml", c.settings...)
			totals(t, dir, "y_out.npy", 1249750, nil)
		})
	}
	t.Run("no number", func(t *testing.T) {
		want := units(probe(t))
		p := probe(t, "TANDEM_CPU_WORKERS=many")
		if got := units(p); got["cpu"] != want["cpu"] {
			t.Errorf("%d workers, want %d", got["cpu"], want["cpu"])
		}
		if w := p.warnings("cpu"); len(w) != 1 || !strings.Contains(w[0], `TANDEM_CPU_WORKERS="many"`) {
			t.Errorf("warnings %q", w)
		}
	})
	t.Run("affinity", func(t *testing.T) {
		within(t, 1, 1, "taskset", "-c", firstCPU(t))
	})
}

// firstCPU is one of the CPUs that this process may run on.
func firstCPU(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(b), "Cpus_allowed_list:")
	list = strings.TrimSpace(list)
	end := strings.IndexFunc(list, func(r rune) bool { return r < '0' || r > '9' })
	if _, err := strconv.Atoi(list[:max(end, 0)]); err != nil {
		t.Skipf("one CPU only: %.20q", list)
	}
	return list[:end]
}

// within probes under a command that limits what it runs.
func within(t *testing.T, cpu, cl int, command ...string) {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(command[0], append(command[1:], program, "probe", "--json")...)
	cmd.Env = environment()
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("%v: %v", command, err)
	}
	var p probed
	(&outcome{t: t, stdout: string(out)}).document(&p)
	if got := units(&p); got["cpu"] != cpu || got["opencl"] != cl {
		t.Errorf("compute units %v, want %d and %d", got, cpu, cl)
	}
}

// TestControlGroups: quotas of control groups, from stand-ins mounted in the
// place of the system's for the program alone.
func TestControlGroups(t *testing.T) {
	p := needOpenCL(t)
	if os.Getuid() != 0 {
		t.Skip("mounting takes root")
	}
	if err := exec.Command("unshare", "-m", "true").Run(); err != nil {
		t.Skip("no mount namespace to be had: ", err)
	}
	all := units(p)["cpu"]
	own := "0::/pod/box\n"
	for _, c := range []struct {
		name, self string
		files      map[string]string
		want       int
		warnings   int
	}{
		{"unlimited", own, map[string]string{"pod/box/cpu.max": "max 100000"}, all, 0},
		{"half a CPU", own, map[string]string{"pod/box/cpu.max": "50000 100000"}, 1, 0},
		{"quota of the parent", own, map[string]string{"pod/cpu.max": "100000 100000", "pod/box/cpu.max": "max 100000"}, 1, 0},
		{"a short period", own, map[string]string{"pod/box/cpu.max": "10000 10000"}, 1, 0},
		{"nearly two", own, map[string]string{"pod/box/cpu.max": "199000 100000"}, min(all, 2), 0},
		{"cpuset of one", own, map[string]string{"pod/box/cpu.max": "max 100000", "pod/box/cpuset.cpus.effective": "1"}, 1, 0},
		{"garbled", own, map[string]string{"pod/box/cpu.max": "two cpus"}, all, 1},
		{"nothing", own, nil, all, 0},
		{"version 1", "4:cpu,cpuacct:/docker/abc\n3:cpuset:/docker/abc\n",
			map[string]string{"cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "90000", "cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000"}, 1, 0},
		{"version 1, off", "4:cpu,cpuacct:/docker/abc\n",
			map[string]string{"cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "-1", "cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000"}, all, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := put(t, t.TempDir(), "self", c.self)
			put(t, dir, "sys/none", "")
			for name, text := range c.files {
				put(t, filepath.Join(dir, "sys"), name, text+"\n")
			}
			cmd := exec.Command("unshare", "-m", "sh", "-c",
				`mount --bind self /proc/$$/cgroup && mount --bind sys /sys/fs/cgroup && exec "$0" probe --json`, program)
			cmd.Dir, cmd.Env = dir, environment()
			out, err := cmd.Output()
			if err != nil {
				t.Skipf("mounting: %v", err)
			}
			var p probed
			(&outcome{t: t, stdout: string(out)}).document(&p)
			got := units(&p)
			if got["cpu"] != c.want || len(p.ids("opencl")) > 0 && got["opencl"] != c.want {
				t.Errorf("compute units %v, want %d", got, c.want)
			}
			if w := p.warnings("cpu"); len(w) != c.warnings {
				t.Errorf("warnings %q, want %d", w, c.warnings)
			}
		})
	}
}
