package fpga

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
)

// program is a source with all its kernels built. It stands for one image of a
// board: what is loaded at once.
type program struct {
	d      *device
	src    string
	image  string
	units  []*unit
	closed atomic.Bool
}

// Compile reads, checks and builds a Verilog source. Options are -GNAME=VALUE
// for its parameters and -IFOLDER for the folders of its memory images.
func (d *device) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	if err := d.open("Compile"); err != nil {
		return nil, err
	}
	if src == nil || src.Language != devices.LangRTL {
		name, lang := "", devices.Language("")
		if src != nil {
			name, lang = src.Name, src.Language
		}
		return nil, d.errorf(devices.ErrUnsupported, "Compile(%s): it is in %q, this device takes %q", name, lang, devices.LangRTL)
	}
	units, err := d.driver.build(ctx, src)
	if err != nil {
		return nil, d.compileError(src, err)
	}
	d.programs.Add(1)
	return &program{d: d, src: src.Name, image: imageName(src), units: units}, nil
}

// compileError makes a *devices.CompileError of what is wrong with a source.
// Missing tools, timeouts and a cancelled context are no fault of the source.
func (d *device) compileError(src *devices.Source, err error) error {
	if _, missing := toolchain.IsMissing(err); missing || errors.Is(err, devices.ErrTimeout) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, devices.ErrUnavailable) {
		return d.wrap(err, "Compile(%s)", src.Name)
	}
	var place *verilog.Error
	var refused *buildError
	if !errors.As(err, &place) && !errors.As(err, &refused) && !errors.Is(err, devices.ErrInvalid) {
		return d.wrap(err, "Compile(%s)", src.Name)
	}
	return &devices.CompileError{Source: src.Name, Device: d.info.ID, Log: err.Error(), Err: err}
}

// Kernel finds an entry point: a module's name, or the name that its source
// gives the kernel.
func (p *program) Kernel(entry string) (devices.Kernel, error) {
	if p.closed.Load() {
		return nil, p.d.errorf(devices.ErrClosed, "Kernel(%s) of program %s", entry, p.src)
	}
	i := slices.IndexFunc(p.units, func(u *unit) bool { return u.module.Entry == entry })
	if i < 0 {
		i = slices.IndexFunc(p.units, func(u *unit) bool { return u.module.Name == entry })
	}
	if i < 0 {
		var names []string
		for _, u := range p.units {
			names = append(names, u.module.Entry)
		}
		return nil, p.d.errorf(devices.ErrInvalid, "%s has no kernel %q, it has %s", p.src, entry, strings.Join(names, ", "))
	}
	in, err := p.d.instance(p.units[i])
	if err != nil {
		return nil, err
	}
	p.d.kernels.Add(1)
	return &kernel{d: p.d, in: in, image: p.image}, nil
}

// Log is what Verilator said of the kernels.
func (p *program) Log() string {
	var logs []string
	for _, u := range p.units {
		if u.log != "" {
			logs = append(logs, u.log)
		}
	}
	return strings.Join(logs, "\n")
}

// Close gives the program back; its libraries stay loaded.
func (p *program) Close() error {
	if p.closed.CompareAndSwap(false, true) {
		p.d.programs.Add(-1)
	}
	return nil
}

type kernel struct {
	d      *device
	in     *instance
	image  string
	closed atomic.Bool
}

// Info describes the kernel.
func (k *kernel) Info() devices.KernelInfo {
	u := k.in.unit
	return devices.KernelInfo{Entry: u.module.Entry, Args: len(u.module.Params), MaxWorkGroup: maxWorkGroup, GroupMultiple: 1,
		BuildTime: u.took, BuildFromCache: u.cached}
}

// Close gives the kernel back.
func (k *kernel) Close() error {
	if k.closed.CompareAndSwap(false, true) {
		k.d.kernels.Add(-1)
	}
	return nil
}
