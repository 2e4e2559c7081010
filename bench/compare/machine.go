package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	goruntime "runtime"
	"strings"
	"time"
)

// machine is where and with what the figures were taken.
type machine struct {
	Date     string    `json:"date"` // RFC 3339
	System   string    `json:"system"`
	CPU      string    `json:"cpu"`
	Cores    int       `json:"cores"`
	Workers  int       `json:"workers"`
	Tandem   string    `json:"tandem"` // commit
	Go       string    `json:"go"`
	Devices  []string  `json:"devices"`
	Versions []version `json:"versions"`
	Quick    bool      `json:"quick"`
	Load     string    `json:"load_before"` // load averages
	platform string    // of the first OpenCL device
}

type version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// look describes the machine; what cannot be found out stays empty.
func look(ctx context.Context, root, tandem string, workers int, now time.Time) machine {
	ask := func(name string, args ...string) string {
		out, err := output(ctx, name, args...)
		if err != nil {
			return ""
		}
		first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		return first
	}
	m := machine{Date: now.Format(time.RFC3339), System: goruntime.GOOS + "/" + goruntime.GOARCH, CPU: cpuName(), Cores: goruntime.NumCPU(),
		Workers: workers, Tandem: ask("git", "-C", root, "describe", "--always", "--dirty"), Go: goruntime.Version()}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		f := strings.Fields(string(b))
		m.Load = strings.Join(f[:min(3, len(f))], " ")
	}
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
