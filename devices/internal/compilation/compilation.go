// Package compilation has what drivers with a compiler do before and around a
// build.
package compilation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tandemrun/tandem/devices"
)

// A Device is what compiles.
type Device struct {
	ID        string
	Languages []devices.Language
	Usable    func(what string) error               // why nothing can be done with it, for what was to be done
	Why       func(l devices.Language) (why string) // more to say of a language that it does not take; nil: nothing
	Builds    *sync.WaitGroup                       // builds that nobody waits for any more
}

// Compile checks a source and has it built. If ctx ends first it returns the
// cause; the build goes on among d.Builds, on a copy of the source, and its
// program is closed.
func Compile[P devices.Program](ctx context.Context, d Device, src *devices.Source, build func(*devices.Source) (P, error)) (devices.Program, error) {
	if src == nil || src.Language == "" {
		return nil, fmt.Errorf("%s: compile: a source without a language: %w", d.ID, devices.ErrInvalid)
	}
	if err := d.Usable("compile " + src.Name); err != nil {
		return nil, err
	}
	if !slices.Contains(d.Languages, src.Language) {
		why := ""
		if d.Why != nil {
			why = d.Why(src.Language)
		}
		return nil, fmt.Errorf("%s: %s is written in %s, this device takes %v%s: %w",
			d.ID, src.Name, src.Language, d.Languages, why, devices.ErrUnsupported)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("%s: compile %s: %w", d.ID, src.Name, err)
	}
	kept := *src
	kept.Options = slices.Clone(src.Options)
	if ctx.Done() == nil {
		return result(build(&kept))
	}
	type outcome struct {
		p   P
		err error
	}
	kept.Text = slices.Clone(src.Text)
	done := make(chan outcome, 1)
	d.Builds.Go(func() {
		p, err := build(&kept)
		if err == nil && ctx.Err() != nil {
			_ = p.Close() // nobody takes it
			err = context.Cause(ctx)
		}
		done <- outcome{p, err}
	})
	select {
	case o := <-done:
		return result(o.p, o.err)
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: compile %s: %w", d.ID, src.Name, context.Cause(ctx))
	}
}

// result keeps a nil P from becoming a devices.Program that is not nil.
func result[P devices.Program](p P, err error) (devices.Program, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Named is the text of a source with its name as the first line's, so that a
// compiler's messages name the user's file and not a temporary one.
func Named(src *devices.Source) []byte {
	text := src.Text
	if src.Language != devices.LangOpenCL && src.Language != devices.LangSYCL || src.Name == "" ||
		strings.HasPrefix(strings.TrimLeft(string(text[:min(len(text), 64)]), " \t\r\n"), "#line") {
		return text
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(src.Name)
	return append([]byte("#line 1 \""+quoted+"\"\n"), text...)
}
