package sycl

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/argcheck"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/ragged"
	"github.com/tandemrun/tandem/devices/sycl/freefunc"
)

// kernel is an entry point of a program. It is used by one goroutine at a
// time, so its scratch fields need no lock.
type kernel struct {
	d        *device
	p        *program
	entry    string
	info     devices.KernelInfo
	rules    ragged.Rules
	check    argcheck.Kernel
	dims     int     // of a kernel in SYCL C++; 0: any
	handle   uint64  // of the shim; 0 for a function of a library
	function uintptr // of a library
	anyArgs  bool    // the function itself looks at how many there are
	closed   bool

	variants map[ragged.Geometry]uint64
	layout   ragged.Layout   // of the launch in progress
	laid     devices.NDRange // that it was worked out for; no dimensions: it is not
}

// newKernel takes the handle, unless it fails.
func newKernel(p *program, entry string, handle uint64) (*kernel, error) {
	d := p.d
	text, err := d.api.ask(d.api.info, handle, "kernel info")
	if err != nil {
		return nil, fmt.Errorf("%s: kernel %q: %w", d.info.ID, entry, err)
	}
	f := readFacts(text)
	k := &kernel{d: d, p: p, entry: entry, handle: handle, check: argcheck.Kernel{Device: d.info.ID, Entry: entry}, info: devices.KernelInfo{
		Entry:          entry,
		Args:           int(f.number("arguments")),
		MaxWorkGroup:   int(f.number("max_group")),
		LocalBytes:     f.number("local_memory"),
		PrivateBytes:   f.number("private_memory"),
		GroupMultiple:  int(f.number("multiple")),
		BuildTime:      p.built.time,
		BuildFromCache: p.built.fromCache,
	}}
	if p.src.Language == devices.LangOpenCL {
		k.check.Local = "__local "
	}
	copy(k.info.FixedWorkGroup[:], f.numbers("fixed_group"))
	for _, fn := range p.functions {
		if fn.Name != entry || !fn.Kernel() {
			continue
		}
		k.dims, k.info.Args = fn.Dims, len(fn.Params)
		for i, param := range fn.Params {
			if param.Kind == freefunc.Other {
				return nil, fmt.Errorf("%s: %s: kernel %q: argument %d (%s %s): only pointers, values and sycl::local_accessor can be passed: %w",
					d.info.ID, p.src.Name, entry, i, param.Type, param.Name, devices.ErrUnsupported)
			}
			k.check.Params = append(k.check.Params, argcheck.Parameter{Name: param.Name, Type: param.Type, Space: map[freefunc.Kind]argcheck.Space{
				freefunc.Pointer: argcheck.Global, freefunc.Local: argcheck.Local, freefunc.Value: argcheck.Value}[param.Kind], Size: param.Size})
		}
	}
	if k.check.Params == nil {
		k.check.Params = readParameters(p.built.params[entry], k.info.Args)
	}
	for i, param := range k.check.Params {
		if isImage(param.Type) {
			return nil, fmt.Errorf("%s: %s: kernel %q: argument %d (%s %s): images, samplers and pipes cannot be passed: %w",
				d.info.ID, p.src.Name, entry, i, param.Type, param.Name, devices.ErrUnsupported)
		}
	}
	if k.info.Args > maxArgs {
		return nil, fmt.Errorf("%s: kernel %q has %d parameters, at most %d are possible: %w", d.info.ID, entry, k.info.Args, maxArgs, devices.ErrUnsupported)
	}
	k.rules = p.rules(entry, k.info)
	d.open[kindKernel].Add(1)
	return k, nil
}

// hostRow is how long a work-group is on the host's cores, where the kernel
// leaves it open. Intel's runtime hands out work-groups one by one: a triad in
// groups of 64 takes 1.2 times as long as in groups of 1024, which is no more
// than the longest of 8192 takes.
const hostRow = 1024

// rules are what launches of a kernel depend on besides the range.
func (p *program) rules(entry string, info devices.KernelInfo) ragged.Rules {
	d := p.d
	r := ragged.Rules{
		Uses: p.usageOf(entry), Sealed: p.sealed, Fixed: info.FixedWorkGroup,
		MaxItems: d.info.MaxItemSizes, Units: d.info.ComputeUnits, HostCores: d.traits.cpu, Row: hostRow,
	}
	for _, n := range []int{info.MaxWorkGroup, d.info.MaxWorkGroup} {
		if n > 0 && (r.MaxGroup == 0 || n < r.MaxGroup) {
			r.MaxGroup = n
		}
	}
	return r
}

// Info implements devices.Kernel.
func (k *kernel) Info() devices.KernelInfo { return k.info }

// lay works out how a launch over r is carried out. The result is k's and valid
// until the next call.
func (k *kernel) lay(r devices.NDRange) (*ragged.Layout, error) {
	if k.laid == r && r.Dims > 0 {
		return &k.layout, nil
	}
	k.laid = devices.NDRange{}
	if k.dims != 0 && r.Dims != k.dims && r.Dims >= 1 && r.Dims <= 3 {
		return nil, fmt.Errorf("%s: kernel %q is written for %d dimension(s), the range %s has %d: %w",
			k.d.info.ID, k.entry, k.dims, ragged.Extent(r), r.Dims, devices.ErrInvalid)
	}
	if err := k.layout.Lay(r, &k.rules); err != nil {
		return nil, fmt.Errorf("%s: kernel %q %w", k.d.info.ID, k.entry, err)
	}
	k.laid = r
	return &k.layout, nil
}

// variantFor is the shim's kernel for a layout. It may have to compile.
func (k *kernel) variantFor(l *ragged.Layout) (uint64, error) {
	if !l.Special {
		return k.handle, nil
	}
	if v := k.variants[l.Geometry]; v != 0 {
		return v, nil
	}
	if k.p.closed.Load() {
		return 0, fmt.Errorf("%s: kernel %q: its program is closed and it has to be built for a launch in parts: %w", k.d.info.ID, k.entry, devices.ErrClosed)
	}
	handle, err := k.p.special(l.Geometry, k.entry)
	if err != nil {
		return 0, fmt.Errorf("%s: kernel %q: %w", k.d.info.ID, k.entry, err)
	}
	if len(k.variants) >= ragged.MaxBuilds {
		k.dropVariants()
	}
	if k.variants == nil {
		k.variants = map[ragged.Geometry]uint64{}
	}
	k.variants[l.Geometry] = handle
	return handle, nil
}

func (k *kernel) dropVariants() {
	for _, v := range k.variants {
		dl.Call(k.d.api.kernelFree, uintptr(v))
	}
	k.variants = nil
}

// Close implements devices.Kernel. Launches that are in flight keep what they
// need.
func (k *kernel) Close() error {
	if k.closed {
		return nil
	}
	k.closed = true
	k.d.open[kindKernel].Add(-1)
	k.dropVariants()
	if k.handle != 0 {
		dl.Call(k.d.api.kernelFree, uintptr(k.handle))
	}
	return nil
}
