package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	goruntime "runtime"
	"strings"
)

// machine is where and with what the figures were taken.
type machine struct {
	System   string    `json:"system"`
	CPU      string    `json:"cpu"`
	Cores    int       `json:"cores"`
	Workers  int       `json:"workers"`
	Go       string    `json:"go"`
	Devices  []string  `json:"devices"`
	Versions []version `json:"versions"`
	platform string    // of the first OpenCL device
}

type version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// look describes the machine; what cannot be found out stays empty.
func look(ctx context.Context, tandem string, workers int) machine {
	ask := func(name string, args ...string) string { return firstLine(ctx, name, args...) }
	m := machine{System: goruntime.GOOS + "/" + goruntime.GOARCH, CPU: cpuName(), Cores: goruntime.NumCPU(),
		Workers: workers, Go: goruntime.Version()}
	if s := ask("uname", "-sr"); s != "" {
		m.System = s + " " + goruntime.GOARCH
	}
	for _, v := range []version{
		{"gcc", ask("cc", "--version")},
		{"StarPU", ask("pkg-config", "--modversion", "starpu-1.3")},
		{"oneTBB", ask("pkg-config", "--modversion", "tbb")},
		{"OpenBLAS", ask("pkg-config", "--modversion", "openblas")},
	} {
		if v.Version != "" {
			m.Versions = append(m.Versions, v)
		}
	}
	out, err := output(ctx, tandem, "probe", "--json")
	if err != nil {
		return m
	}
	var doc struct {
		Devices []struct {
			ID       string `json:"id"`
			Backend  string `json:"backend"`
			Name     string `json:"name"`
			Platform string `json:"platform"`
			Driver   string `json:"driver_version"`
		} `json:"devices"`
	}
	if json.Unmarshal([]byte(out), &doc) != nil {
		return m
	}
	for _, d := range doc.Devices {
		m.Devices = append(m.Devices, strings.TrimSpace(d.ID+" "+d.Name+" "+d.Platform+" "+d.Driver))
		if d.Backend == "opencl" && m.platform == "" {
			m.platform = d.Platform
		}
	}
	return m
}

// same reports whether figures of both may stand on one page.
func (m *machine) same(n *machine) bool {
	return m.System == n.System && m.CPU == n.CPU && m.Cores == n.Cores && m.Workers == n.Workers
}

// firstLine is what a command says first, empty if it fails.
func firstLine(ctx context.Context, name string, args ...string) string {
	out, err := output(ctx, name, args...)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return first
}

// describe is the commit of a repository.
func describe(ctx context.Context, root string) string {
	return firstLine(ctx, "git", "-C", root, "describe", "--always", "--dirty")
}

// loadAverages are those of the last 1, 5 and 15 minutes, "unknown" where the
// system does not tell.
func loadAverages() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	f := strings.Fields(string(b))
	return strings.Join(f[:min(3, len(f))], " ")
}

// cpuName is what Linux calls the processor.
func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
