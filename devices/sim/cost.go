package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// forever is what takes longer than any simulation.
const forever = 1 << 61

// seconds is a duration, rounded to nanoseconds.
func seconds(s float64) time.Duration {
	if !(s < forever/1e9) {
		return forever
	}
	return time.Duration(math.Round(s * 1e9))
}

// per is what n of something take at a rate; a rate of 0 takes no time.
func per(n, rate float64) float64 {
	if rate == 0 {
		return 0
	}
	return n / rate
}

// work is what a launch takes on an idle device that nothing slows down,
// latency excepted. buffers is the bytes of all its buffer arguments.
func (s *Spec) work(entry string, r *devices.NDRange, buffers int64) time.Duration {
	items := float64(r.Items())
	k, known := s.Kernels[entry]
	if !known {
		k, known = s.Kernels["*"]
	}
	if !known {
		k.FlopsPerItem = 1
		if items > 0 {
			whole := 1.0
			for d := range r.Dims {
				whole *= float64(max(r.Whole[d], r.Size[d]))
			}
			k.BytesPerItem = float64(buffers) / whole
		}
	}
	t := k.Time + seconds(per(items, k.ItemsPerSecond)+max(per(items*k.FlopsPerItem, s.Flops), per(items*k.BytesPerItem, s.Bandwidth)))
	return min(max(t, 0), forever)
}

// run is how long a launch that begins at start keeps the device, with
// latency, slow-down, noise and throttling. It draws the noise.
func (s *Spec) run(start, work time.Duration, noise *rand.Rand) time.Duration {
	f := float64(work) * s.Slowdown
	if noise != nil {
		f *= math.Exp(s.Noise.Spread * noise.NormFloat64())
	}
	left := seconds(f / 1e9)
	at := min(start+s.LaunchLatency, forever)
	for _, w := range s.Throttle {
		from := max(w.From, at)
		if from >= w.To || left == 0 {
			continue
		}
		if from-at >= left {
			break
		}
		left -= from - at // at full speed until the window
		at = from
		inside := time.Duration(float64(w.To-at) / w.Factor) // work that the window has room for
		if inside >= left {
			return at + seconds(float64(left)*w.Factor/1e9) - start
		}
		left -= inside
		at = w.To
	}
	return min(at+left, forever) - start
}

// move is what a copy takes.
func (s *Spec) move(c *command) time.Duration {
	if c.size == 0 {
		return 0
	}
	switch {
	case c.kind == devices.HostToDevice:
		return s.link(s.Upload, c.pinned).Time(c.size)
	case c.kind == devices.DeviceToHost:
		return s.link(s.Download, c.pinned).Time(c.size)
	case c.peer:
		return s.Peer.Time(c.size)
	}
	return seconds(per(2*float64(c.size), s.Bandwidth)) // read and written
}

// link is l as it is for memory of the host that is pinned or not.
func (s *Spec) link(l devices.Link, pinned bool) devices.Link {
	if !pinned {
		l.Bandwidth /= s.Pageable
	}
	return l
}
