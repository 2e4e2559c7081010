package main

import (
	"sync"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"
)

// maxTaskTimes bounds the tasks whose times a run reports one by one.
const maxTaskTimes = 10_000

// taskTimeJSON compares one task with its prediction.
type taskTimeJSON struct {
	Name       string  `json:"name"`
	PredictedS float64 `json:"predicted_s"` // from the start of its first part to the end of its last
	RunS       float64 `json:"run_s"`
}

// taskClock notes when each task began and ended. It does nothing for graphs
// with too many tasks to list.
type taskClock struct {
	mu   sync.Mutex
	span map[int]interval
	n    int
}

func (c *taskClock) observer() tandem.Observer {
	return tandem.Observer{
		RunStarted: func(e tandem.RunStarted) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.n, c.span = len(e.Tasks), map[int]interval{}
		},
		Launched: func(e tandem.LaunchEvent) {
			if e.Err != nil {
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.n > maxTaskTimes {
				return
			}
			v, seen := c.span[e.Task]
			if !seen {
				v = interval{e.Times.Start, e.Times.End}
			}
			c.span[e.Task] = interval{min(v.from, e.Times.Start), max(v.to, e.Times.End)}
		},
	}
}

// list is the comparison, by task number; tasks that did not run are left out.
func (c *taskClock) list(p *tandem.Plan) []taskTimeJSON {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []taskTimeJSON{}
	if p == nil || p.Schedule() == nil {
		return out
	}
	for _, t := range p.Tasks() {
		v, ran := c.span[t.ID]
		if !ran {
			continue
		}
		planned := &p.Schedule().Tasks[t.ID]
		out = append(out, taskTimeJSON{t.Name, (planned.Finish - planned.Start).Seconds(), time.Duration(v.to - v.from).Seconds()})
	}
	return out
}
