package tandem

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/partitioner"
	"github.com/tandemrun/tandem/partitioner/costmodel"
)

// predictor asks the cost model about calls and tells it what they took.
type predictor struct {
	model    *costmodel.Model
	measured map[string]devices.Calibration // by device id

	mu   sync.Mutex
	keys map[*kernels.Variant]string
}

// Links of a device that was not calibrated: a PCIe 3 link at a modest rate,
// and what a launch costs through a driver's queue.
var (
	guessedLink   = devices.Link{Latency: 10 * time.Microsecond, Bandwidth: 6e9}
	guessedLaunch = 20 * time.Microsecond
)

func (p *predictor) calibration(d *devices.Info) *devices.Calibration {
	if c, ok := p.measured[d.ID]; ok {
		return &c
	}
	return nil
}

// links are the costs of moving bytes to the device and back, and of a launch
// besides its run.
func (p *predictor) links(d *devices.Info) (up, down devices.Link, launch time.Duration) {
	if c := p.calibration(d); c != nil {
		if c.PinnedUp.Bandwidth > 0 && c.PinnedDown.Bandwidth > 0 { // copies are staged
			return c.PinnedUp, c.PinnedDown, time.Duration(c.LaunchLatency * float64(time.Second))
		}
		return c.Upload, c.Download, time.Duration(c.LaunchLatency * float64(time.Second))
	}
	return guessedLink, guessedLink, guessedLaunch
}

// estimate predicts a call of the given size.
func (p *predictor) estimate(k *kernels.Kernel, v *kernels.Variant, a *agent, work costmodel.Size) partitioner.Estimate {
	return p.model.Predict(p.key(k, v, a), work, costmodel.MachineOf(a.info, p.calibration(&a.info), v.Language))
}

// key names the series of a variant on a device.
func (p *predictor) key(k *kernels.Kernel, v *kernels.Variant, a *agent) costmodel.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, ok := p.keys[v]
	if !ok {
		h := sha256.New()
		h.Write(v.Source.Text)
		for _, o := range v.Source.Options {
			fmt.Fprintf(h, "\x00%s", o)
		}
		name = fmt.Sprintf("%s %s %s", k.Name, v.Language, hex.EncodeToString(h.Sum(nil)[:8]))
		p.keys[v] = name
	}
	return costmodel.Key{Kernel: name, Device: a.modelKey}
}

// size is how large items work-items of the call are.
func size(c *kernels.Call, items int64) costmodel.Size {
	w := c.Work()
	part := 1.0
	if all := c.Range.Items(); all > 0 {
		part = float64(items) / float64(all)
	}
	return costmodel.Size{Items: float64(items), Flops: w.Flops * part, Bytes: w.Bytes * part}
}

// Short launches come by the thousand; one in so many is told to the model
// once a device has run enough of them, unless the model could only guess what
// they take.
const (
	shortLaunch = 200 * time.Microsecond
	enough      = 256
	oneIn       = 16
)

// observe tells the model what a launch took.
func (s *Session) observe(o *op, a *agent, t devices.Times) {
	if o.agent == a && o.planned == nil {
		o.run.drift.saw(o, t)
	}
	share := o.share
	if n := a.counters.launches.Load(); n > enough && n%oneIn != 0 && t.Run() < shortLaunch && !share.guessed() {
		return
	}
	key := share.key
	elapsed := t.End - t.Queued
	if t.Model.Run > 0 {
		elapsed = 0 // of the emulation, not of what it emulates
	}
	if o.planned != nil {
		key = s.predictor.key(o.run.graph.task(o.task).call.Kernel, o.variant, a)
	}
	s.learn(costmodel.Sample{Key: key, Size: share.size, Run: t.Cost(), Elapsed: elapsed}, a)
}

// learn enters a sample of a. A time that cannot be true is not learnt; the
// model counts it.
func (s *Session) learn(sample costmodel.Sample, a *agent) {
	for _, other := range s.agents {
		if other != a && other.info.PhysicalID == a.info.PhysicalID && other.launches.Load() > 0 {
			sample.Contended = true
		}
	}
	_ = s.predictor.model.Observe(sample)
}
