package main

import (
	"sync"

	tandem "github.com/tandemrun/tandem/runtime"
)

// incidentJSON is something that went wrong and was dealt with.
type incidentJSON struct {
	Device string `json:"device"`
	Error  string `json:"error"`
	Action string `json:"action"` // what was done about it
	Times  int    `json:"times"`
}

// maxIncidents bounds the different incidents that are remembered.
const maxIncidents = 100

// incidents collects what went wrong during a run, one entry for each kind, and
// says each once. What fails a task is the run's error, not an incident.
type incidents struct {
	app *app

	mu   sync.Mutex
	list []incidentJSON
}

func (in *incidents) observer() tandem.Observer {
	return tandem.Observer{Faulted: func(e tandem.FaultEvent) {
		if !e.Fatal {
			in.add(incidentJSON{Device: e.Device, Error: e.Err.Error(), Action: e.Action})
		}
	}}
}

func (in *incidents) add(e incidentJSON) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i := range in.list {
		if o := &in.list[i]; o.Device == e.Device && o.Action == e.Action {
			o.Times++
			return
		}
	}
	if len(in.list) == maxIncidents {
		return
	}
	e.Times = 1
	in.list = append(in.list, e)
	in.app.warn("%s: %s; %s", e.Device, e.Error, e.Action)
}

// all are the incidents so far.
func (in *incidents) all() []incidentJSON {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.list
}
