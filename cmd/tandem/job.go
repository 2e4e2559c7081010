package main

import (
	"context"
	"errors"

	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

// job is a pipeline in a session, planned.
type job struct {
	file    *pipeline.Pipeline
	built   *pipeline.Built
	plan    *tandem.Plan
	started bool
}

// load reads a pipeline and shows its warnings.
func (a *app) load(file string, set []string) (*pipeline.Pipeline, error) {
	p, err := pipeline.Load(file, pipeline.Options{Set: set})
	if err != nil {
		return nil, err
	}
	for _, w := range p.Warnings() {
		a.warn("%v", w)
	}
	return p, nil
}

// prepare makes the pipeline's buffers and graph in a session and plans it. Its
// errors are about the input.
func (a *app) prepare(ctx context.Context, s *tandem.Session, p *pipeline.Pipeline) (*job, error) {
	b, err := p.Build(ctx, s)
	if err != nil {
		return nil, err
	}
	plan, err := s.Plan(ctx, b.Graph)
	if err != nil {
		return nil, a.explain(ctx, placed(p, err))
	}
	return &job{file: p, built: b, plan: plan}, nil
}

// placed puts errors about tasks at the steps of the pipeline.
func placed(p *pipeline.Pipeline, err error) error {
	var all []error
	for _, e := range leaves(err) {
		var te *tandem.TaskError
		var pe *tandem.PlanError
		switch {
		case errors.As(e, &te):
			e = p.At(te.Task, e)
		case errors.As(e, &pe):
			e = p.At(pe.Task, e)
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}

// outputs are the buffers that are written at the end, in the order of the
// pipeline.
func (j *job) outputs() []*tandem.Buffer {
	var list []*tandem.Buffer
	for _, b := range j.file.Buffers() {
		if b.Out != "" {
			list = append(list, j.built.Buffer(b.Name))
		}
	}
	return list
}
