package tandem

import (
	"slices"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner/costmodel"
)

// lanes remember when the workers or queues of a device were busy during a
// batch, to tell what part of the device a launch had while it ran. Without it
// launches that ran side by side would teach the model that each takes as long
// as all of them. It is safe for concurrent use.
type lanes struct {
	mu   sync.Mutex
	list []lane       // by worker
	open []laneSample // oldest first
}

// lane is the last stretch of time in which a worker was busy without a pause
// longer than lanePause.
type lane struct{ from, to time.Duration }

// laneSample is a launch that is over, while others that began before its end
// may not be.
type laneSample struct {
	worker     int
	start, end time.Duration
	beside     time.Duration // that others ran meanwhile, added up
	sample     costmodel.Sample
}

const (
	lanePause = 200 * time.Microsecond
	// maxOpen bounds the launches that wait to be told to the model.
	maxOpen = 64
)

// overlap is how long two stretches of time have in common.
func overlap(fromA, toA, fromB, toB time.Duration) time.Duration {
	return max(min(toA, toB)-max(fromA, fromB), 0)
}

// ended notes a launch, and appends the samples to list that are complete: all
// workers have ended something later.
func (l *lanes) ended(worker int, t devices.Times, s costmodel.Sample, list []costmodel.Sample) []costmodel.Sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := laneSample{worker: worker, start: t.Start, end: t.End, sample: s}
	for i := range l.list {
		if i != worker {
			n.beside += overlap(t.Start, t.End, l.list[i].from, l.list[i].to)
		}
	}
	for i := range l.open {
		if o := &l.open[i]; o.worker != worker {
			o.beside += overlap(t.Start, t.End, o.start, o.end)
		}
	}
	own := &l.list[worker]
	if t.Start-own.to > lanePause {
		own.from = t.Start
	}
	own.to = max(own.to, t.End)
	l.open = append(l.open, n)
	l.open = slices.DeleteFunc(l.open, func(o laneSample) bool {
		for i := range l.list {
			if l.list[i].to < o.end && len(l.open) <= maxOpen {
				return false
			}
		}
		list = append(list, o.shared())
		return true
	})
	return list
}

// rest appends what is left to list: nothing runs any more.
func (l *lanes) rest(list []costmodel.Sample) []costmodel.Sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.open {
		list = append(list, o.shared())
	}
	l.open = nil
	return list
}

// shared is the sample with the part of the device that the launch had.
func (o laneSample) shared() costmodel.Sample {
	s := o.sample
	if run := o.end - o.start; run > 0 && o.beside > 0 {
		s.Share = run.Seconds() / (run + o.beside).Seconds()
	}
	return s
}
