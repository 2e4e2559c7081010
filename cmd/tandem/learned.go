package main

import (
	"context"
	"time"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/calibrate"
)

// learn gives the configuration what earlier runs learnt: the calibrations of
// the devices and the cost model. save keeps what this run adds to the model.
// Nothing here fails a command: without it the planner guesses.
func (a *app) learn(ctx context.Context, c *tandem.Config) (save func()) {
	if c.Calibrations == nil {
		c.Calibrations = a.calibrations(ctx)
	}
	store := modelStore()
	model, err := store.Load(ctx)
	if err != nil {
		a.warn("%v", err)
	}
	c.Model = model
	return func() {
		// Another process may hold the store; what was learnt is not worth
		// waiting for, and an interrupt ends the wait.
		bounded, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := store.Save(bounded, model); err != nil {
			a.warn("%v; what this run learnt is not kept", err)
		}
	}
}

// calibrations are what was measured of the devices there are, by id.
func (a *app) calibrations(ctx context.Context) map[string]devices.Calibration {
	store := calibrate.Store{Dir: calibrate.DefaultDir()}
	found := map[string]devices.Calibration{}
	for _, d := range a.driversFor(ctx, a.devices) {
		b := d.Probe(ctx)
		for i := range b.Devices {
			cal, ok, err := store.Get(&b.Devices[i])
			if err != nil {
				a.warn("%v", err)
			}
			if ok {
				found[b.Devices[i].ID] = cal
			}
		}
	}
	return found
}
