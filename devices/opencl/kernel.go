package opencl

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/argcheck"
	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// kernel is an entry point of a program. It is used by one goroutine at a
// time, so its scratch fields need no lock.
type kernel struct {
	d      *device
	p      *program
	entry  string
	info   devices.KernelInfo
	rules  ragged.Rules
	check  argcheck.Kernel
	closed bool

	base     variant
	variants map[ragged.Geometry]*variant

	layout  ragged.Layout   // of the launch in progress
	laid    devices.NDRange // that it was worked out for; no dimensions: it is not
	setArgs [4]uintptr      // of clSetKernelArg
}

// variant is a cl_kernel with the arguments that are set in it.
type variant struct {
	handle uintptr
	bound  []bound
	// Of a device with a widener: the key without a local size, and what was
	// found for the last one.
	widen   widenKey
	breadth *breadth
	local   [3]uint64
	forgot  int
}

// newKernel takes the handle.
func newKernel(p *program, entry string, handle uintptr) *kernel {
	d := p.d
	workGroup := func(param uint32) []byte {
		b, _ := d.api.query(d.api.getKernelWorkGroupInfo, param, handle, d.id)
		return b
	}
	args, _ := d.api.query(d.api.getKernelInfo, kernelNumArgs, handle)
	k := &kernel{d: d, p: p, entry: entry, check: argcheck.Kernel{Device: d.info.ID, Entry: entry, Params: p.built.params[entry], Local: "__local "}, info: devices.KernelInfo{
		Entry:          entry,
		Args:           int(number(args)),
		MaxWorkGroup:   int(number(workGroup(kernelWorkGroupSize))),
		LocalBytes:     number(workGroup(kernelLocalMemSize)),
		PrivateBytes:   number(workGroup(kernelPrivateMemSize)),
		GroupMultiple:  int(number(workGroup(kernelPreferredMultiple))),
		BuildTime:      p.built.time,
		BuildFromCache: p.built.fromCache,
	}}
	if b := workGroup(kernelCompileWorkGroupSize); len(b) >= 24 {
		for d := range 3 {
			k.info.FixedWorkGroup[d] = int(nativeUint(b[8*d:]))
		}
	}
	if len(k.check.Params) != k.info.Args {
		k.check.Params = nil
	}
	k.rules = p.rules(entry, k.info)
	k.base = variant{handle: handle, bound: make([]bound, k.info.Args)}
	if d.traits.widens {
		k.base.widen.source = k.sourceKey()
	}
	d.open[kindKernel].Add(1)
	return k
}

// Info implements devices.Kernel.
func (k *kernel) Info() devices.KernelInfo { return k.info }

// lay works out how r is carried out. The result is k's and valid until the
// next call.
func (k *kernel) lay(r devices.NDRange) (*ragged.Layout, error) {
	if k.laid == r && r.Dims > 0 {
		return &k.layout, nil
	}
	k.laid = devices.NDRange{}
	if err := k.layout.Lay(r, &k.rules); err != nil {
		return nil, fmt.Errorf("%s: kernel %q %w", k.d.info.ID, k.entry, err)
	}
	k.laid = r
	return &k.layout, nil
}

// variantFor is the cl_kernel for a layout. It may have to compile.
func (k *kernel) variantFor(l *ragged.Layout) (*variant, error) {
	if !l.Special {
		return &k.base, nil
	}
	if v := k.variants[l.Geometry]; v != nil {
		return v, nil
	}
	if k.p.closed.Load() {
		return nil, fmt.Errorf("%s: kernel %q: its program is closed and it has to be built for a launch in parts: %w", k.d.info.ID, k.entry, devices.ErrClosed)
	}
	handle, err := k.p.special(l.Geometry, k.entry)
	if err != nil {
		return nil, fmt.Errorf("%s: kernel %q: %w", k.d.info.ID, k.entry, err)
	}
	if len(k.variants) >= ragged.MaxBuilds {
		k.dropVariants()
	}
	if k.variants == nil {
		k.variants = map[ragged.Geometry]*variant{}
	}
	v := &variant{handle: handle, bound: make([]bound, k.info.Args), widen: k.base.widen}
	v.widen.geometry = l.Geometry
	k.variants[l.Geometry] = v
	return v, nil
}

func (k *kernel) dropVariants() {
	for _, v := range k.variants {
		k.d.api.call(k.d.api.releaseKernel, v.handle)
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
	if code := k.d.api.call(k.d.api.releaseKernel, k.base.handle); code != success {
		return fmt.Errorf("%s: %w", k.d.info.ID, failed(code, "clReleaseKernel(%s)", k.entry))
	}
	return nil
}
