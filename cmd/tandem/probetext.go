package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// printProbe writes what probe found for people.
func printProbe(w io.Writer, doc *probeJSON) {
	fmt.Fprintln(w, "Backends")
	for _, b := range doc.Backends {
		if b.Available {
			from := strings.TrimSpace(b.Library + "  " + b.Version)
			fmt.Fprintf(w, "  %-8s %d device(s)   %s\n", b.Name, b.Count, from)
		} else {
			fmt.Fprintf(w, "  %-8s not available: %s\n", b.Name, b.Reason)
			if len(b.Tried) > 0 {
				fmt.Fprintf(w, "  %-8s looked for: %s\n", "", strings.Join(b.Tried, ", "))
			}
			if b.Hint != "" {
				fmt.Fprintf(w, "  %-8s to have it: %s\n", "", b.Hint)
			}
		}
		for _, warning := range b.Warnings {
			fmt.Fprintf(w, "  %-8s warning: %s\n", "", warning)
		}
		for _, note := range b.Notes {
			fmt.Fprintf(w, "  %-8s note: %s\n", "", note)
		}
	}
	printed := map[string]bool{}
	for i := range doc.Devices {
		id := doc.Devices[i].PhysicalID
		if printed[id] {
			continue
		}
		printed[id] = true
		fmt.Fprintf(w, "\nProcessor %s\n", id)
		for j := range doc.Devices {
			if d := &doc.Devices[j]; d.PhysicalID == id {
				printDevice(w, d)
			}
		}
	}
	if len(doc.Devices) == 0 {
		fmt.Fprintln(w, "\nNo devices.")
	}
	if doc.NVIDIA != nil {
		printHealth(w, doc.NVIDIA)
	}
	printBoards(w, doc.Boards)
	if len(doc.Nodes.Nodes) > 0 || !hasGPU(doc.Devices) {
		fmt.Fprintf(w, "\nOf the system: %s\n", doc.Nodes.Verdict)
	}
	for _, warning := range doc.Nodes.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
}

func hasGPU(list []deviceJSON) bool {
	for i := range list {
		if list[i].Kind == devices.KindGPU {
			return true
		}
	}
	return false
}

func printDevice(w io.Writer, d *deviceJSON) {
	mark := " "
	if d.Preferred {
		mark = "*"
	}
	fmt.Fprintf(w, " %s %-10s %s (%s)\n", mark, d.ID, d.Name, d.Kind)
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(w, "     %-11s %s\n", what, text)
		}
	}
	line("driver", strings.Join(nonEmpty(d.Vendor, d.Platform, d.DriverVersion, d.APIVersion), ", "))
	line("identity", strings.Join(nonEmpty(labelled("uuid ", d.UUID), labelled("pci ", d.PCI)), ", "))
	units := fmt.Sprintf("%d units", d.ComputeUnits)
	if d.ClockMHz > 0 {
		units += fmt.Sprintf(" at %.2f GHz", float64(d.ClockMHz)/1000)
	}
	units += fmt.Sprintf(", work-groups up to %d, %d queue(s)", d.MaxWorkGroup, d.Queues)
	line("compute", units)
	memory := fmt.Sprintf("%s, largest buffer %s, local %s", byteText(d.MemoryTotal), byteText(d.MaxAlloc), byteText(d.LocalMemory))
	if d.UnifiedMemory {
		memory += ", shared with the host"
	}
	line("memory", memory)
	var can []string
	for _, l := range d.Languages {
		can = append(can, string(l))
	}
	if d.FP64 {
		can = append(can, "fp64")
	}
	if d.FP16 {
		can = append(can, "fp16")
	}
	if d.NonUniform {
		can = append(can, "ragged groups")
	}
	if d.SubDevices > 1 {
		can = append(can, fmt.Sprintf("up to %d sub-devices", d.SubDevices))
	}
	line("takes", strings.Join(can, ", "))
	if d.SharesHostCores {
		line("shares", "the host's cores")
	}
	line("preferred", yesNo(d.Preferred)+": "+d.PreferredReason)
	if d.Emulated {
		line("emulated", "the host's cores stand in for it; it works where it is named, or nothing else runs a kernel")
		return
	}
	if c := d.Calibration; c != nil {
		up, down := linkText(c.Upload), linkText(c.Download)
		zero := "copies are needed"
		if c.ZeroCopy {
			zero = "host pages are used in place"
		}
		line("measured", fmt.Sprintf("h2d %s; d2h %s; %s", up, down, zero))
		line("", fmt.Sprintf("%s, memory %s, launch %s, on %s", rateText(c.PeakFlops, "flop"), rateText(c.StreamBytes, "B"),
			timeText(time.Duration(c.LaunchLatency*1e9)), c.MeasuredAt.Format(time.DateOnly)))
	} else {
		line("measured", "not yet (tandem probe --calibrate)")
	}
}

func linkText(l devices.Link) string {
	return fmt.Sprintf("%s + %s", rateText(l.Bandwidth, "B"), timeText(l.Latency))
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
