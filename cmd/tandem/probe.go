package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/board"
	"github.com/tandemrun/tandem/devices/nodes"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/calibrate"
)

// rootVariable names the folder that holds the "dev", "proc" and "sys" at which
// probe looks, for a container that mounts the host's elsewhere.
const rootVariable = "TANDEM_DEVICE_ROOT"

func (a *app) probeCommand() *cobra.Command {
	var measure bool
	c := &cobra.Command{
		Use:   "probe [IMAGE...]",
		Short: "Show what can compute here, and what is missing",
		Long: `probe asks every backend for its devices and says which library it used, or why
there is none and what to install. Devices that are faces of one processor are
grouped; the planner uses one face at a time, and the one marked as preferred is
chosen by measurement where every face was calibrated, else a vendor's own
interface comes before OpenCL, OpenCL before SYCL and SYCL before Go functions.

With FPGA images (.aocx, .gbs, .xclbin) it shows what those say of themselves:
the interface that they fit, accelerators, kernels with their arguments, clocks;
and which of the boards in this machine take them. No vendor tools are needed.

--calibrate measures copy bandwidth and latency each way, launch latency, peak
arithmetic and memory bandwidth of each device (about a second each), and keeps
the results for the device and its driver version.`,
		Example: "  tandem probe\n  tandem probe --calibrate --devices opencl --json\n  tandem probe kernel.aocx",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return a.probe(c.Context(), measure)
			case measure:
				return errors.New("--calibrate measures devices; an image takes no measuring")
			}
			return a.probeImages(args)
		},
	}
	c.Flags().BoolVar(&measure, "calibrate", false, "measure the devices and keep the results")
	return c
}

// probeJSON is the document of `tandem probe --json`.
type probeJSON struct {
	Backends []backendJSON `json:"backends"`
	Devices  []deviceJSON  `json:"devices"`
	Nodes    nodes.Report  `json:"nodes"`
	NVIDIA   *nvidiaJSON   `json:"nvidia,omitempty"` // absent: there is no such GPU
	Boards   []board.Board `json:"boards"`           // FPGA boards that the system knows
}

type backendJSON struct {
	devices.Backend
	Reason string `json:"reason,omitempty"`
	Count  int    `json:"devices"`
}

type deviceJSON struct {
	devices.Info
	Preferred       bool                 `json:"preferred"` // among the faces of its processor
	PreferredReason string               `json:"preferred_reason"`
	SharesHostCores bool                 `json:"shares_host_cores"`
	Calibration     *devices.Calibration `json:"calibration"` // null: not measured
}

func (a *app) probe(ctx context.Context, measure bool) error {
	var doc probeJSON
	doc.Backends, doc.Devices = []backendJSON{}, []deviceJSON{}
	drivers := a.drivers()
	driver := map[string]devices.Driver{}
	var all []devices.Info
	for _, d := range drivers {
		b := d.Probe(ctx)
		driver[b.Name] = d
		j := backendJSON{Backend: b, Count: len(b.Devices)}
		if b.Reason != nil {
			j.Reason = plain(b.Reason)
		}
		doc.Backends = append(doc.Backends, j)
		all = append(all, b.Devices...)
	}
	a.rearm()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	sel, err := tandem.ParseSelector(a.devices)
	if err != nil {
		return err
	}
	chosen, err := sel.Select(all)
	if err != nil {
		return a.explain(ctx, err)
	}
	store := calibrate.Store{Dir: calibrate.DefaultDir()}
	var failed []error
	for i := range chosen {
		d := deviceJSON{Info: chosen[i]}
		if measure && d.Emulated {
			a.note("%s is an emulation: there is nothing to measure", d.ID)
		} else if measure {
			a.note("measuring %s ...", d.ID)
			c, err := a.calibrate(ctx, driver[d.Backend], &chosen[i], store)
			if err != nil {
				failed = append(failed, err)
			}
			d.Calibration = c
		} else if c, found, err := store.Get(&chosen[i]); err != nil {
			a.warn("%v", err)
		} else if found {
			d.Calibration = &c
		}
		doc.Devices = append(doc.Devices, d)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	preferFaces(doc.Devices)
	doc.Nodes = nodes.Scanner{Root: os.Getenv(rootVariable)}.Scan()
	doc.NVIDIA = a.readHealth(ctx)
	found := boards()
	doc.Boards = found.Boards
	for _, w := range found.Warnings {
		a.warn("%s", w)
	}
	printProbe(a.text(), &doc)
	if err := a.result(doc); err != nil {
		return err
	}
	if err := errors.Join(failed...); err != nil {
		return &workError{err}
	}
	return nil
}

// calibrate measures one device and keeps the result.
func (a *app) calibrate(ctx context.Context, d devices.Driver, info *devices.Info, store calibrate.Store) (*devices.Calibration, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	dev, err := d.Open(ctx, info.Ordinal)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", info.ID, err)
	}
	a.rearm()
	start := time.Now()
	c, err := calibrate.Measure(ctx, dev, calibrate.Options{})
	err = errors.Join(err, dev.Close())
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		return &c, err // what could be measured is shown, but not kept
	}
	a.note("measured %s in %s", info.ID, timeText(time.Since(start)))
	if err := store.Put(info, c); err != nil {
		a.warn("%v; the result is not kept", err)
	}
	return &c, nil
}

// faceRank orders the faces of one processor where nothing was measured: a
// vendor's own interface, OpenCL, SYCL on top of that, Go functions.
func faceRank(backend string) int {
	switch backend {
	case "cpu":
		return 3
	case "sycl":
		return 2
	case "opencl":
		return 1
	}
	return 0
}

// preferFaces marks one device of each processor and says why.
func preferFaces(list []deviceJSON) {
	for i := range list {
		d := &list[i]
		d.SharesHostCores = d.Kind == devices.KindCPU
		best, faces, measured := i, 0, true
		for j := range list {
			if list[j].PhysicalID == d.PhysicalID {
				faces++
				measured = measured && list[j].Calibration != nil && list[j].Calibration.PeakFlops > 0
			}
		}
		for j := range list {
			if list[j].PhysicalID != d.PhysicalID {
				continue
			}
			x, y := &list[j], &list[best]
			var better bool
			if measured {
				better = x.Calibration.PeakFlops > y.Calibration.PeakFlops
			} else {
				better = faceRank(x.Backend) < faceRank(y.Backend) || (faceRank(x.Backend) == faceRank(y.Backend) && j < best)
			}
			if better {
				best = j
			}
		}
		d.Preferred = best == i
		switch {
		case faces == 1:
			d.PreferredReason = "the only face of its processor"
		case measured && d.Preferred:
			d.PreferredReason = "measured the fastest of its processor's faces"
		case measured:
			d.PreferredReason = fmt.Sprintf("%s measured faster on the same processor", list[best].ID)
		case d.Preferred:
			d.PreferredReason = "by backend (not all faces are calibrated): a vendor's own interface, OpenCL, SYCL, Go functions"
		default:
			d.PreferredReason = fmt.Sprintf("%s comes first on the same processor: a vendor's own interface, OpenCL, SYCL, Go functions", list[best].ID)
		}
	}
}
