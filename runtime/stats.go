package tandem

import (
	"sync/atomic"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/transfer"
)

// DeviceStats is what a device has done since its session was opened.
type DeviceStats struct {
	ID            string        `json:"id"`
	Backend       string        `json:"backend"`
	Tasks         int64         `json:"tasks"` // tasks, or parts of tasks; the chunks of one part count once
	WorkItems     int64         `json:"work_items"`
	Busy          time.Duration `json:"-"`
	BusyS         float64       `json:"busy_s"` // Busy in seconds
	BytesH2D      int64         `json:"bytes_h2d"`
	BytesD2H      int64         `json:"bytes_d2h"`
	BytesD2D      int64         `json:"bytes_d2d"`
	BytesStaged   int64         `json:"bytes_staged"`    // of those h2d and d2h, what passed through pinned memory
	BytesZeroCopy int64         `json:"bytes_zero_copy"` // touched on the host's own pages instead of copied
}

// counters are the live numbers of one agent.
type counters struct {
	launches, tasks, items, busy, h2d, d2h, d2d, staged, zero atomic.Int64
}

// Stats is what each device has done, in probe order.
func (s *Session) Stats() []DeviceStats {
	all := make([]DeviceStats, len(s.agents))
	for i, a := range s.agents {
		c := &a.counters
		busy := time.Duration(c.busy.Load())
		all[i] = DeviceStats{ID: a.info.ID, Backend: a.info.Backend, Tasks: c.tasks.Load(), WorkItems: c.items.Load(),
			Busy: busy, BusyS: busy.Seconds(), BytesH2D: c.h2d.Load(), BytesD2H: c.d2h.Load(), BytesD2D: c.d2d.Load(), BytesStaged: c.staged.Load(), BytesZeroCopy: c.zero.Load()}
	}
	return all
}

// report counts an op that is over and tells the observer. It runs on the
// agent's goroutine.
func (s *Session) report(o *op, a *agent, err error, t devices.Times, queue string) {
	c := &a.counters
	var run int64
	if o.run != nil {
		run = o.run.id
	}
	switch o.kind {
	case opLaunch:
		if err == nil {
			c.launches.Add(1)
			if o.share.head || o.planned != nil {
				c.tasks.Add(1)
			}
			c.items.Add(o.launch.Range.Items())
			c.busy.Add(int64(t.Run()))
			c.zero.Add(o.zero)
			if o.division == nil {
				s.observe(o, a, t)
			}
		}
		if o.division != nil {
			o.division.ended(o, a, t, err)
			o.parts = int32(o.division.count())
		}
		if f := s.observer.Launched; f != nil {
			task := o.run.graph.task(o.task)
			planned := ""
			if o.planned != nil {
				planned = o.planned.info.ID
			} else if o.agent != a {
				planned = o.agent.info.ID
			}
			f(LaunchEvent{Run: run, Op: o.id, After: o.after, Task: o.task, Name: o.run.graph.nameOf(o.task), Kernel: task.call.Kernel.Name,
				Part: int(o.part), Parts: int(o.parts), Device: a.info.ID, Planned: planned, Queue: queue, Range: o.launch.Range,
				ZeroCopy: o.zero, Times: t, Err: err})
		}
	case opCopy:
		zero := o.copy.Kind == devices.SyncToDevice || o.copy.Kind == devices.SyncToHost
		if err == nil {
			switch o.copy.Kind {
			case devices.HostToDevice:
				c.h2d.Add(o.copy.Size)
			case devices.DeviceToHost:
				c.d2h.Add(o.copy.Size)
			case devices.DeviceToDevice:
				c.d2d.Add(o.copy.Size)
			default:
				c.zero.Add(o.copy.Size)
			}
			c.staged.Add(o.staged.Pinned)
		}
		if f := s.observer.Copied; f != nil {
			f(CopyEvent{Run: run, Op: o.id, After: o.after, Task: o.task, Buffer: o.buf.array.Name, Offset: o.offset, Bytes: o.copy.Size,
				From: s.nodeName(int(o.from)), To: s.nodeName(int(o.to)), Staged: o.staged.Pinned, ZeroCopy: zero,
				Device: a.info.ID, Queue: queue, Times: t, Err: err})
		}
	}
}

// reportWindow counts the filling or emptying of a window and tells the
// observer.
func (s *Session) reportWindow(o *op, a *agent, w *window, down bool, r *transfer.Staged) {
	c, bytes := &a.counters, w.to-w.from
	from, to := "host", a.info.ID
	if down {
		from, to = to, from
	}
	if r.Err == nil && !w.rep.Imported {
		if down {
			c.d2h.Add(bytes)
		} else {
			c.h2d.Add(bytes)
		}
		c.staged.Add(r.Pinned)
	}
	if f := s.observer.Copied; f != nil {
		f(CopyEvent{Run: o.run.id, Op: OpID(s.lastOp.Add(1)), After: nil, Task: o.task, Buffer: w.buf.array.Name, Offset: w.from, Bytes: bytes,
			From: from, To: to, Staged: r.Pinned, ZeroCopy: w.rep.Imported, Device: a.info.ID, Queue: r.Queue, Times: r.Times, Err: r.Err})
	}
}

// nodeName names a memory node for people.
func (s *Session) nodeName(n int) string {
	if n == 0 {
		return "host"
	}
	return s.agents[n-1].info.ID
}
