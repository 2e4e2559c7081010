package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/health"
)

// healthTimeout bounds the time that NVML may take to answer.
const healthTimeout = 10 * time.Second

// nvidiaJSON is what probe knows of NVIDIA's GPUs beyond what devices say.
type nvidiaJSON struct {
	health.Report
	// Visible says what CUDA_VISIBLE_DEVICES hides; "" for nothing.
	Visible string `json:"visible_devices,omitempty"`
}

// readHealth reads the state of NVIDIA's GPUs; nil on a machine without one.
func (a *app) readHealth(ctx context.Context) *nvidiaJSON {
	bounded, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r := health.Reader{Root: os.Getenv(rootVariable)}
	doc := &nvidiaJSON{Report: r.Read(bounded)}
	if len(doc.GPUs) == 0 {
		return nil
	}
	value, set := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	doc.Visible = cuda.ReadSelection(value, set, os.Getenv("CUDA_DEVICE_ORDER") == "PCI_BUS_ID", doc.UUIDs()).Problem
	return doc
}

// printHealth writes the state of NVIDIA's GPUs for people.
func printHealth(w io.Writer, doc *nvidiaJSON) {
	fmt.Fprintf(w, "\nNVIDIA GPUs (driver %s)\n", orUnknown(doc.DriverVersion))
	if !doc.NVML.Used {
		fmt.Fprintf(w, "  %s; to have it: %s\n", doc.NVML.Reason, doc.NVML.Hint)
	}
	if doc.Visible != "" {
		fmt.Fprintf(w, "  warning: %s\n", doc.Visible)
	}
	for i := range doc.GPUs {
		g := &doc.GPUs[i]
		fmt.Fprintf(w, "  %s  %s  %s\n", orUnknown(g.UUID), g.Name, g.PCI)
		if line := strings.Join(stateOf(g), ", "); line != "" {
			fmt.Fprintf(w, "     %s\n", line)
		}
		if g.MIG != nil {
			for _, p := range g.MIG.Instances {
				fmt.Fprintf(w, "     part %d/%d  %s\n", p.GPUInstance, p.ComputeInstance, strings.Join(nonEmpty(p.UUID, p.Name), "  "))
			}
		}
		for _, c := range g.Complaints {
			fmt.Fprintf(w, "     warning: %s\n", c)
		}
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
}

// stateOf is what a GPU is doing, in short.
func stateOf(g *health.GPU) []string {
	var list []string
	if u := g.Utilization; u != nil {
		list = append(list, fmt.Sprintf("%d %% busy", u.Compute))
	}
	if m := g.Memory; m != nil {
		list = append(list, fmt.Sprintf("%s of %s in use", byteText(m.Used), byteText(m.Total)))
	}
	if g.Temperature != nil {
		list = append(list, fmt.Sprintf("%d °C", *g.Temperature))
	}
	if p := g.Power; p != nil {
		list = append(list, fmt.Sprintf("%.0f of %.0f W", p.Draw, p.Limit))
	}
	if c := g.Clocks; c != nil {
		list = append(list, fmt.Sprintf("%d MHz", c.SM))
	}
	if p := g.PCIe; p != nil {
		list = append(list, fmt.Sprintf("PCIe %d x%d (%s)", p.Generation, p.Width, rateText(p.BytesPS, "B")))
	}
	up := 0
	for _, l := range g.NVLinks {
		if l.Active {
			up++
		}
	}
	if up > 0 {
		list = append(list, fmt.Sprintf("%d NVLinks", up))
	}
	if n := len(g.Processes); n > 0 {
		list = append(list, fmt.Sprintf("%d process(es)", n))
	}
	return list
}
