package tandem

import (
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/partitioner"
)

// A Model predicts times for the planner and learns from what was measured. It
// is safe for concurrent use.
type Model interface {
	// Estimate predicts the whole call on the device with the variant.
	Estimate(c *kernels.Call, v *kernels.Variant, d *devices.Info) partitioner.Estimate
	// Links are the costs of moving bytes to the device and back, and what a
	// launch costs besides its run.
	Links(d *devices.Info) (up, down devices.Link, launch time.Duration)
	// Observe learns that a launch of items of the call's work-items took run.
	Observe(c *kernels.Call, v *kernels.Variant, d *devices.Info, items int64, run time.Duration)
}

// observe passes a finished launch to the model.
func (r *Run) observe(o *op, a *agent, t devices.Times) {
	share := &r.plan.placed[o.task].shares[o.part]
	r.session.model.Observe(r.graph.tasks[o.task].call, share.variant, &a.info, o.launch.Range.Items(), t.Run())
}

// hintModel knows nothing but what kernels and devices say of themselves.
type hintModel struct{}

func (hintModel) Estimate(c *kernels.Call, v *kernels.Variant, d *devices.Info) partitioner.Estimate {
	w := c.Work()
	clock := float64(max(d.ClockMHz, 1000)) * 1e6
	perCycle, bytes := 2.0, 8e9 // a compiled Go loop has no vector instructions
	switch {
	case d.Kind == devices.KindGPU:
		perCycle, bytes = 128, 200e9
	case v.Language != devices.LangGo:
		perCycle = 8
	}
	run := max(w.Flops/(perCycle*clock*float64(max(d.ComputeUnits, 1))), w.Bytes/bytes)
	t := time.Duration(run * 1e9)
	return partitioner.Estimate{Run: t, Spread: t, Source: "guess"}
}

func (hintModel) Links(d *devices.Info) (up, down devices.Link, launch time.Duration) {
	if d.Backend != "cpu" {
		launch = 30 * time.Microsecond
	}
	l := devices.Link{Latency: 10 * time.Microsecond, Bandwidth: 6e9}
	return l, l, launch
}

func (hintModel) Observe(*kernels.Call, *kernels.Variant, *devices.Info, int64, time.Duration) {}
