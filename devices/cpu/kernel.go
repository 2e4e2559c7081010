package cpu

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices"
)

// program is a set of Go functions by name.
type program struct {
	d         *device
	src       string
	functions map[string]*function
	names     []string
	closed    atomic.Bool
}

// function is an entry point. Its kernels share what launches of it taught.
type function struct {
	name string
	f    devices.GoFunc
	// perItem is how long a work-item took lately, in nanoseconds, as the
	// bits of a float64; it decides into how many chunks a launch is cut.
	perItem atomic.Uint64
}

// Compile takes Go functions. An entry without a function does not compile.
func (d *device) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	if src == nil {
		return nil, d.errorf(devices.ErrInvalid, "Compile without a source")
	}
	if err := d.open("Compile(%s)", src.Name); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: Compile(%s): %w", d.info.ID, src.Name, context.Cause(ctx))
	}
	if src.Language != devices.LangGo {
		return nil, d.errorf(devices.ErrUnsupported, "Compile(%s): language %q, this device takes %q", src.Name, src.Language, devices.LangGo)
	}
	var log strings.Builder
	p := &program{d: d, src: src.Name, functions: make(map[string]*function, len(src.Go)), names: src.Entries()}
	for name, f := range maps.All(src.Go) {
		p.functions[name] = &function{name: name, f: f}
	}
	for _, name := range p.names {
		if src.Go[name] == nil {
			fmt.Fprintf(&log, "%s: error: entry point %s has no function\n", src.Name, name)
		}
	}
	if len(p.names) == 0 {
		fmt.Fprintf(&log, "%s: error: no entry points\n", src.Name)
	}
	if log.Len() > 0 {
		return nil, &devices.CompileError{Source: src.Name, Device: d.info.ID, Log: log.String(),
			Err: d.errorf(devices.ErrInvalid, "Compile(%s)", src.Name)}
	}
	d.programs.Add(1)
	return p, nil
}

func (p *program) Kernel(entry string) (devices.Kernel, error) {
	if p.closed.Load() {
		return nil, p.d.errorf(devices.ErrClosed, "Kernel(%s) of program %s", entry, p.src)
	}
	f := p.functions[entry]
	if f == nil {
		return nil, p.d.errorf(devices.ErrInvalid, "%s has no kernel %q, it has %s", p.src, entry, strings.Join(p.names, ", "))
	}
	p.d.kernels.Add(1)
	return &kernel{d: p.d, fn: f}, nil
}

func (p *program) Log() string { return "" }

func (p *program) Close() error {
	if p.closed.CompareAndSwap(false, true) {
		p.d.programs.Add(-1)
	}
	return nil
}

type kernel struct {
	d      *device
	fn     *function
	closed atomic.Bool
}

func (k *kernel) Info() devices.KernelInfo {
	return devices.KernelInfo{Entry: k.fn.name, MaxWorkGroup: maxWorkGroup, GroupMultiple: 1}
}

func (k *kernel) Close() error {
	if k.closed.CompareAndSwap(false, true) {
		k.d.kernels.Add(-1)
	}
	return nil
}
