package cuda

import (
	"fmt"
	"slices"
	"unsafe"

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
	symbol string
	info   devices.KernelInfo
	rules  ragged.Rules
	check  argcheck.Kernel
	known  bool // its parameters are all there are
	ranged bool // made by the bridge: it takes its range as a last parameter
	closed bool

	function uintptr // CUfunction
	dynamic  int64   // the most dynamic shared memory that was asked for so far
	variant  uintptr // CUfunction of the kernel with a window; 0: not made yet

	layout ragged.Layout // of the launch in progress
}

// Kernel implements devices.Program.
func (p *program) Kernel(name string) (devices.Kernel, error) {
	if p.closed.Load() {
		return nil, fmt.Errorf("%s: kernel %q: program %s is closed: %w", p.d.info.ID, name, p.src.Name, devices.ErrClosed)
	}
	if err := p.d.usable("kernel " + name); err != nil {
		return nil, err
	}
	k := &kernel{d: p.d, p: p, entry: name, symbol: name, check: argcheck.Kernel{Device: p.d.info.ID, Entry: name, Local: "__local "}}
	if len(p.entries) > 0 {
		e, err := p.find(name)
		if err != nil {
			return nil, err
		}
		k.symbol, k.check.Params, k.known, k.ranged = e.symbol, e.params, true, p.ranged
		k.info.FixedWorkGroup = e.fixed
	} else if name == "" || len(name) > 4096 || !printable(name) {
		return nil, fmt.Errorf("%s: %s has no kernel %q: %w", p.d.info.ID, p.src.Name, name, devices.ErrInvalid)
	}
	if err := p.d.enter(); err != nil {
		return nil, err
	}
	defer p.d.leave()
	code := int32(0)
	if k.function, code = p.d.function(p.module, k.symbol); code != success {
		return nil, fmt.Errorf("%s: %w", p.src.Name, p.d.fail(code, "cuModuleGetFunction(%s)", k.symbol))
	}
	if !k.known {
		k.check.Params, k.known = p.d.parameters(k.function)
	}
	k.ask()
	k.rules = p.rules(k)
	p.d.open[kindKernel].Add(1)
	p.kernels.Add(1)
	return k, nil
}

func printable(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c <= ' ' || c == 127 })
}

// find is the entry of a name: the source's, or the symbol itself.
func (p *program) find(name string) (*entry, error) {
	var found []*entry
	for i := range p.entries {
		if e := &p.entries[i]; e.symbol == name {
			return e, nil
		} else if e.name == name {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if why := p.refused[name]; why != nil {
			return nil, p.d.compileError(p.src, why.Error(), fmt.Errorf("kernel %q: %w", name, devices.ErrUnsupported))
		}
		var names []string
		for _, e := range p.entries {
			names = append(names, e.name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("%s: %s has no kernel %q, only %s: %w", p.d.info.ID, p.src.Name, name, list(slices.Compact(names)), devices.ErrInvalid)
	}
	var symbols []string
	for _, e := range found {
		symbols = append(symbols, e.symbol)
	}
	return nil, fmt.Errorf("%s: %s has %d kernels %q, which differ in their parameters; name one by its symbol: %s: %w",
		p.d.info.ID, p.src.Name, len(found), name, list(symbols), devices.ErrInvalid)
}

// function finds an entry point of a module. The context is current.
func (d *device) function(module uintptr, symbol string) (uintptr, int32) {
	name, out := append([]byte(symbol), 0), new(uintptr)
	code := d.api.call(d.api.moduleFunction, uintptr(unsafe.Pointer(out)), module, uintptr(unsafe.Pointer(&name[0])))
	return *out, code
}

// parameters asks the driver how large a function's parameters are. Since CUDA
// 12.4 it says. The context is current.
func (d *device) parameters(function uintptr) (list []argcheck.Parameter, known bool) {
	if d.api.funcParams == 0 {
		return nil, false
	}
	for i := range maxArgs {
		offset, size := new(uintptr), new(uintptr)
		code := d.api.call(d.api.funcParams, function, uintptr(i), uintptr(unsafe.Pointer(offset)), uintptr(unsafe.Pointer(size)))
		if code == codeInvalidValue {
			return list, true // there are no more
		}
		if code != success || *size > maxValues {
			return nil, false
		}
		p := argcheck.Parameter{Size: int(*size)}
		if p.Size != addressBytes {
			p.Space = argcheck.Value
		}
		list = append(list, p)
	}
	return nil, false
}

// ask reads what the driver knows of the function. The context is current.
func (k *kernel) ask() {
	number := func(which uintptr) int64 {
		v := new(int32)
		if k.d.api.call(k.d.api.funcGetAttribute, uintptr(unsafe.Pointer(v)), which, k.function) != success {
			return 0
		}
		return int64(*v)
	}
	k.info.Entry = k.entry
	k.info.MaxWorkGroup = int(number(funcMaxThreads))
	k.info.LocalBytes = number(funcSharedBytes)
	k.info.PrivateBytes = number(funcLocalBytes)
	if len(k.d.info.SubGroupSizes) > 0 {
		k.info.GroupMultiple = k.d.info.SubGroupSizes[0]
	}
	if k.known {
		k.info.Args = len(k.check.Params)
	}
	k.info.BuildTime, k.info.BuildFromCache = k.p.time, k.p.fromCache
	k.dynamic = max(int64(k.d.traits.sharedStatic)-k.info.LocalBytes, 0) // goes without asking
}

// rules are what launches of a kernel depend on besides the range.
func (p *program) rules(k *kernel) ragged.Rules {
	d := p.d
	r := ragged.Rules{
		Uses: p.usageOf(k), Fixed: k.info.FixedWorkGroup, MaxItems: d.info.MaxItemSizes, Units: d.info.ComputeUnits,
		NonUniform: true, // the bridge's range sees to it, or a window, which may refuse
	}
	for _, n := range []int{k.info.MaxWorkGroup, d.info.MaxWorkGroup} {
		if n > 0 && (r.MaxGroup == 0 || n < r.MaxGroup) {
			r.MaxGroup = n
		}
	}
	return r
}

// Info implements devices.Kernel.
func (k *kernel) Info() devices.KernelInfo { return k.info }

// lay works out how a launch over r is carried out.
func (k *kernel) lay(r devices.NDRange) error {
	if err := k.layout.Lay(r, &k.rules); err != nil {
		return fmt.Errorf("%s: kernel %q %w", k.d.info.ID, k.entry, err)
	}
	return nil
}

// Close implements devices.Kernel. The program's modules are unloaded when it
// and its kernels are closed.
func (k *kernel) Close() error {
	if k.closed {
		return nil
	}
	k.closed = true
	k.d.open[kindKernel].Add(-1)
	k.p.letGo()
	return nil
}
