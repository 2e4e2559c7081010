package sim

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// program is a set of Go functions by name.
type program struct {
	d      *device
	name   string
	source map[string]devices.GoFunc
	names  []string
	closed bool
}

// kernel is an entry point.
type kernel struct {
	d      *device
	entry  string
	f      devices.GoFunc
	closed bool
}

// Compile takes Go functions. An entry without a function does not compile.
func (d *device) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	if src == nil {
		return nil, d.errorf(devices.ErrInvalid, "Compile without a source")
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: Compile(%s): %w", d.info.ID, src.Name, context.Cause(ctx))
	}
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	if err := d.usable("Compile(" + src.Name + ")"); err != nil {
		return nil, err
	}
	if src.Language != devices.LangGo {
		return nil, d.errorf(devices.ErrUnsupported, "Compile(%s): language %q, this device takes %q", src.Name, src.Language, devices.LangGo)
	}
	p := &program{d: d, name: src.Name, source: make(map[string]devices.GoFunc, len(src.Go)), names: src.Entries()}
	var log strings.Builder
	for _, name := range p.names {
		p.source[name] = src.Go[name]
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
	d.programs++
	return p, nil
}

// Kernel finds an entry point.
func (p *program) Kernel(entry string) (devices.Kernel, error) {
	p.d.clock.mu.Lock()
	defer p.d.clock.mu.Unlock()
	if p.closed {
		return nil, p.d.errorf(devices.ErrClosed, "Kernel(%s) of program %s", entry, p.name)
	}
	f := p.source[entry]
	if f == nil {
		return nil, p.d.errorf(devices.ErrInvalid, "%s has no kernel %q, it has %s", p.name, entry, strings.Join(p.names, ", "))
	}
	p.d.kernels++
	return &kernel{d: p.d, entry: entry, f: f}, nil
}

// Log is empty: there is no compiler.
func (p *program) Log() string { return "" }

// Close closes the program; kernels made from it stay.
func (p *program) Close() error {
	p.d.clock.mu.Lock()
	defer p.d.clock.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.d.programs--
	}
	return nil
}

// Info is what is known of a Go function.
func (k *kernel) Info() devices.KernelInfo {
	return devices.KernelInfo{Entry: k.entry, MaxWorkGroup: maxWorkGroup, GroupMultiple: 1}
}

// Close closes the kernel; launches of it that were enqueued still run.
func (k *kernel) Close() error {
	k.d.clock.mu.Lock()
	defer k.d.clock.mu.Unlock()
	if !k.closed {
		k.closed = true
		k.d.kernels--
	}
	return nil
}

// checkLaunch refuses a range that cannot be right, and returns the kernel.
func (d *device) checkLaunch(l *devices.Launch) (*kernel, error) {
	k, ok := l.Kernel.(*kernel)
	if !ok || k == nil || k.d != d {
		return nil, d.errorf(devices.ErrInvalid, "Launch: the kernel is not one of this device")
	}
	r := &l.Range
	if r.Dims < 1 || r.Dims > 3 {
		return nil, d.errorf(devices.ErrInvalid, "Launch %s: a range of %d dimensions", k.entry, r.Dims)
	}
	items, group := uint64(1), 1
	for i := range r.Dims {
		size, offset, local := r.Size[i], r.Offset[i], r.Local[i]
		if size < 0 || offset < 0 || local < 0 || offset > math.MaxInt-size {
			return nil, d.errorf(devices.ErrInvalid, "Launch %s: dimension %d has global size %d, offset %d, local size %d", k.entry, i, size, offset, local)
		}
		if r.Whole != [3]int{} && offset+size > r.Whole[i] {
			return nil, d.errorf(devices.ErrInvalid, "Launch %s: dimension %d: part [%d,%d) lies outside the whole of %d", k.entry, i, offset, offset+size, r.Whole[i])
		}
		over, n := bits.Mul64(items, uint64(size))
		if over > 0 || n > math.MaxInt64 {
			return nil, d.errorf(devices.ErrInvalid, "Launch %s: global size %v has too many work-items", k.entry, r.Size[:r.Dims])
		}
		items = n
		if local > 0 {
			group *= min(local, maxWorkGroup+1)
		}
	}
	if group > maxWorkGroup {
		return nil, d.errorf(devices.ErrInvalid, "Launch %s: local size %v has more than %d work-items", k.entry, r.Local[:r.Dims], maxWorkGroup)
	}
	return k, nil
}

// checkKernel refuses a closed kernel and arguments that cannot be right. The
// caller holds the clock's lock.
func (d *device) checkKernel(k *kernel, args []devices.Arg) error {
	if k.closed {
		return d.errorf(devices.ErrClosed, "Launch %s: the kernel", k.entry)
	}
	var inLocal int64
	for i := range args {
		a := &args[i]
		if a.Buffer != nil {
			b, ok := a.Buffer.(*buffer)
			switch {
			case !ok || b == nil || b.d != d:
				return d.errorf(devices.ErrInvalid, "Launch %s: argument %d is not a buffer of this device", k.entry, i)
			case b.freed:
				return d.errorf(devices.ErrInvalid, "Launch %s: argument %d, a buffer of %d bytes, was freed", k.entry, i, len(b.mem))
			case a.Value != nil || a.LocalBytes != 0:
				return d.errorf(devices.ErrInvalid, "Launch %s: argument %d is a buffer and something else", k.entry, i)
			}
		}
		if a.LocalBytes < 0 || a.LocalBytes > 0 && a.Value != nil {
			return d.errorf(devices.ErrInvalid, "Launch %s: argument %d: local memory of %d bytes and a value of %d", k.entry, i, a.LocalBytes, len(a.Value))
		}
		if inLocal += min(a.LocalBytes, d.spec.LocalMemory+1); inLocal > d.spec.LocalMemory {
			return d.errorf(devices.ErrInvalid, "Launch %s: argument %d: local memory of %d bytes, together more than the %d there are",
				k.entry, i, a.LocalBytes, d.spec.LocalMemory)
		}
	}
	return nil
}
