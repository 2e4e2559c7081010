package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

// verifyTolerance is how far floating-point results of two devices may lie
// apart: their compilers may fuse and reorder where the source lets them.
// Integers have to be the same.
func verifyTolerance(t devices.DType) arrayfile.Tolerance {
	switch t {
	case devices.Float64:
		return arrayfile.Tolerance{RTol: 1e-12, ATol: 1e-12}
	case devices.Float32:
		return arrayfile.Tolerance{RTol: 1e-5, ATol: 1e-6}
	case devices.Float16:
		return arrayfile.Tolerance{RTol: 2e-3, ATol: 1e-4}
	}
	return arrayfile.Tolerance{}
}

// verifyJSON says how the outputs compare with those of one device alone.
type verifyJSON struct {
	Device  string             `json:"device"` // the one that ran it alone
	Equal   bool               `json:"equal"`
	Buffers []verifyBufferJSON `json:"buffers"`
}

type verifyBufferJSON struct {
	Buffer string `json:"buffer"`
	Same   bool   `json:"same_bytes"`
	Equal  bool   `json:"equal"` // within the tolerance of its type
	Reason string `json:"reason,omitempty"`
}

func (v *verifyJSON) text() string {
	same := 0
	for _, b := range v.Buffers {
		if b.Same {
			same++
		}
	}
	if v.Equal {
		return fmt.Sprintf("verified against %s alone: %d output(s) agree, %d bit for bit", v.Device, len(v.Buffers), same)
	}
	return fmt.Sprintf("NOT verified: outputs differ from those of %s alone", v.Device)
}

// verify runs the pipeline again on one device alone and compares the outputs
// in memory with those of the run. The reference is the cpu, whose kernels are
// plain Go, where it can run all of it; else, or if the cpu alone made the
// results, the first other device that can. A device is compared with itself
// only where there is no other.
func (a *app) verify(ctx context.Context, p *pipeline.Pipeline, s *tandem.Session, done *job) (*verifyJSON, error) {
	var candidates []string
	for _, driver := range a.drivers() {
		b := driver.Probe(ctx)
		for i := range b.Devices {
			candidates = append(candidates, b.Devices[i].ID)
		}
	}
	took := map[string]bool{}
	for _, d := range s.Stats() {
		if d.Tasks > 0 {
			took[d.ID] = true
		}
	}
	slices.SortStableFunc(candidates, func(x, y string) int {
		rank := func(id string) int {
			switch {
			case took[id] && len(took) == 1:
				return 2 // it ran all of it: running it again shows the least
			case id == "cpu:0":
				return 0
			}
			return 1
		}
		return rank(x) - rank(y)
	})
	var why []error
	for _, id := range candidates {
		v, err := a.verifyOn(ctx, id, p, done)
		var refused *refusedError
		if errors.As(err, &refused) {
			why = append(why, err)
			continue
		}
		return v, err
	}
	return nil, &workError{fmt.Errorf("nothing to verify against: no device runs the whole pipeline alone: %w", errors.Join(why...))}
}

// refusedError is a device that cannot run the pipeline.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

func (a *app) verifyOn(ctx context.Context, id string, p *pipeline.Pipeline, done *job) (v *verifyJSON, err error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: a.driversFor(ctx, id), Devices: id})
	if err != nil {
		return nil, &refusedError{err}
	}
	a.rearm()
	defer func() { err = joinClose(err, s) }()
	again, err := a.prepare(ctx, s, p)
	if err != nil {
		return nil, &refusedError{err}
	}
	run, err := s.Start(ctx, again.plan)
	if err != nil {
		return nil, &refusedError{err}
	}
	<-run.Done()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err := run.Wait(ctx); err != nil {
		return nil, &workError{fmt.Errorf("verify on %s: %w", id, err)}
	}
	v = &verifyJSON{Device: id, Equal: true, Buffers: []verifyBufferJSON{}}
	var differ []error
	want := again.outputs()
	for i, b := range done.outputs() {
		r, err := compareBuffers(ctx, b, want[i])
		if err != nil {
			return nil, &workError{err}
		}
		if !r.Equal {
			v.Equal = false
			differ = append(differ, fmt.Errorf("output %q differs from that of %s alone: %s; nothing was written", r.Buffer, id, r.Reason))
		}
		v.Buffers = append(v.Buffers, r)
	}
	if len(differ) > 0 {
		return v, &workError{errors.Join(differ...)}
	}
	return v, nil
}

// compareBuffers compares the contents of two buffers of one type and shape.
func compareBuffers(ctx context.Context, got, want *tandem.Buffer) (verifyBufferJSON, error) {
	r := verifyBufferJSON{Buffer: got.Name()}
	err := got.Read(ctx, func(x []byte) error {
		return want.Read(ctx, func(y []byte) error {
			if r.Same = bytes.Equal(x, y); r.Same {
				r.Equal = true
				return nil
			}
			h := arrayfile.Header{DType: got.DType(), Shape: got.Shape()}
			c, err := arrayfile.Compare(arrayfile.Array{Header: h, Data: x}, arrayfile.Array{Header: h, Data: y}, verifyTolerance(h.DType))
			r.Equal, r.Reason = c.Equal, c.Reason
			return err
		})
	})
	return r, err
}
