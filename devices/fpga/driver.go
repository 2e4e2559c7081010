// Package fpga runs kernels written in Verilog.
//
// A device of this package is an emulation: the kernel's register-transfer
// code, compiled to machine code by Verilator and clocked cycle by cycle on a
// core of the host. A kernel is a module with AXI4-Stream ports (package
// verilog, docs/fpga.md); a launch streams the arrays of its ND-range through
// it, a whole job in one call, and tells how many cycles that took.
//
// A device runs one kernel at a time, as a board with one image does; two
// devices run two. Device memory is host memory and is streamed in place.
package fpga

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/opencl"
)

const backend = "fpga"

// Environment variables that change every device of a zero Driver.
const (
	// StallVariable holds "SEED" or "SEED,PERCENT": see Driver.Stalls.
	StallVariable = "TANDEM_FPGA_STALLS"
	// CheckVariable holds "first", "always" or "never": see Driver.Check.
	CheckVariable = "TANDEM_FPGA_CHECK"
)

// Stalls has words held back and outputs not taken at random, which finds
// handshakes that only work without.
type Stalls struct {
	// Seed starts the sequence. Every launch of a device has the same one.
	Seed uint64
	// Percent of the cycles in which a word is held back or not taken, 0 to
	// 95. 0: never.
	Percent int
}

// Check says when launches are checked for unknown bits and for results that
// depend on stalls: the kernel is run twice more, from registers full of ones
// and full of random bits, with random stalls, and all outputs have to agree.
type Check string

// When launches are checked.
const (
	CheckFirst  Check = "first"  // the first launch of each kernel that moves no more than 4 million words
	CheckAlways Check = "always" // every launch
	CheckNever  Check = "never"
)

// Driver makes emulated devices. The zero value is ready to use; fields must
// not change after the first call, and a Driver must not be copied after it.
type Driver struct {
	// Devices is the number of devices. Default 2.
	Devices int

	// ClockMHz is the clock of kernels that declare none and whose timing was
	// not analysed. Default 100.
	ClockMHz float64

	// Memory is the memory of each device in bytes. Default 4 GiB.
	Memory int64

	// LoadTime is the modelled time of loading an image. Default 100 ms.
	LoadTime time.Duration

	// MaxIdle is the number of cycles in a row without any word moving after
	// which a launch fails with devices.ErrTimeout. Default 64 million.
	MaxIdle int64

	// Stalls are part of every launch. Default: what StallVariable says, else
	// none.
	Stalls Stalls

	// Check says which launches are checked. Default: what CheckVariable says,
	// else CheckFirst.
	Check Check

	// CacheDir is the folder for built kernels. Default: buildcache.Dir.
	CacheDir string

	// Vendors reach further FPGAs by their vendors' OpenCL: boards, and the
	// emulation that VendorEmulation finds. Their devices come behind the
	// emulated ones of this package. Default: none.
	Vendors []*opencl.Driver
	// Tools are the programs that kernels are read and built with.
	Tools toolchain.Tools

	// OnLaunch, where set, is told of every launch that has ended well, with
	// the device's id and the launch's times, for traces. It is called on a
	// thread of the device and must return quickly.
	OnLaunch func(device string, t devices.Times, r LaunchReport)

	mu       sync.Mutex
	opened   map[*device]struct{}
	past     map[string]map[string]Totals // of closed devices, by id and kernel
	versions map[toolchain.Tool]string
	loaded   map[buildcache.Key]*library
}

var _ devices.Driver = (*Driver)(nil)

// Name is "fpga".
func (d *Driver) Name() string { return backend }

// needed are the tools without which nothing runs.
var needed = []toolchain.Tool{toolchain.Yosys, toolchain.Verilator, toolchain.CXX}

// Probe describes the emulated devices, if the tools are there, and those of
// Vendors.
func (d *Driver) Probe(ctx context.Context) devices.Backend {
	b := d.probeOwn(ctx)
	d.probeVendors(ctx, &b)
	return b
}

func (d *Driver) probeOwn(ctx context.Context) devices.Backend {
	b := devices.Backend{Name: backend, Tried: []string{"yosys", "verilator", "g++"}}
	version, err := d.available(ctx)
	if err != nil {
		b.Reason = fmt.Errorf("fpga: emulation: %w", err)
		b.Hint = "check the installation of yosys and verilator"
		if hint, missing := toolchain.IsMissing(err); missing {
			b.Hint = hint
		}
		return b
	}
	b.Available, b.Version = true, version
	b.Library, _ = d.Tools.Path(toolchain.Verilator)
	if _, _, warning := d.settings(); warning != "" {
		b.Warnings = append(b.Warnings, warning)
	}
	for i := range d.count() {
		b.Devices = append(b.Devices, d.describe(i, version))
	}
	return b
}

// Open opens an emulated device, or one of Vendors.
func (d *Driver) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	version, err := d.available(ctx)
	own := d.count()
	if err != nil {
		own = 0
	}
	if ordinal < 0 || ordinal >= own {
		dev, n, verr := d.openVendor(ctx, ordinal, own)
		if dev != nil || verr != nil {
			return dev, verr
		}
		last := own + n - 1
		if last < 0 {
			last = d.count() - 1 // what there would be with the tools
		}
		if ordinal < 0 || ordinal > last {
			return nil, fmt.Errorf("fpga:%d: there is no such device, only fpga:0 to fpga:%d: %w", ordinal, last, devices.ErrInvalid)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fpga:%d: emulation: %w", ordinal, err)
	}
	dev := newDevice(d, d.describe(ordinal, version))
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened == nil {
		d.opened = map[*device]struct{}{}
	}
	d.opened[dev] = struct{}{}
	return dev, nil
}

// available reports whether the tools are there, and Verilator's version.
func (d *Driver) available(ctx context.Context) (version string, err error) {
	if runtime.GOOS == "windows" {
		return "", fmt.Errorf("kernels are not built on %s: %w", runtime.GOOS, devices.ErrUnavailable)
	}
	if err := d.Tools.Missing(needed...); err != nil {
		return "", err
	}
	if version, err = d.version(ctx, toolchain.Verilator); err != nil {
		return "", fmt.Errorf("%w: %w", err, devices.ErrUnavailable)
	}
	return version, nil
}

// version asks a tool for its version, once.
func (d *Driver) version(ctx context.Context, tool toolchain.Tool) (string, error) {
	d.mu.Lock()
	v, ok := d.versions[tool]
	d.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := d.Tools.Version(ctx, tool)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.versions == nil {
		d.versions = map[toolchain.Tool]string{}
	}
	d.versions[tool] = v
	return v, nil
}

func (d *Driver) count() int {
	if d.Devices > 0 {
		return d.Devices
	}
	return 2
}

func (d *Driver) clock() float64 {
	if d.ClockMHz > 0 {
		return d.ClockMHz
	}
	return 100
}

func (d *Driver) loadTime() time.Duration {
	if d.LoadTime > 0 {
		return d.LoadTime
	}
	return 100 * time.Millisecond
}

func (d *Driver) maxIdle() int64 {
	if d.MaxIdle > 0 {
		return d.MaxIdle
	}
	return 64 << 20
}

func (d *Driver) cache() *buildcache.Cache {
	dir := d.CacheDir
	if dir == "" {
		dir = buildcache.Dir()
	}
	if dir != "" {
		dir += "/fpga"
	}
	return buildcache.Open(dir, 0)
}

// defaultStallPercent is used where only a seed is given.
const defaultStallPercent = 30

// settings are the stalls and checks of this driver, from its fields or the
// environment; a setting that cannot be read is left out with a warning.
func (d *Driver) settings() (s Stalls, c Check, warning string) {
	s, c = d.Stalls, d.Check
	if v := os.Getenv(StallVariable); v != "" && s == (Stalls{}) {
		seed, percent, both := strings.Cut(v, ",")
		n, err := strconv.ParseUint(strings.TrimSpace(seed), 0, 64)
		p := defaultStallPercent
		if both && err == nil {
			p, err = strconv.Atoi(strings.TrimSpace(percent))
		}
		if err != nil || p < 0 || p > 95 {
			warning = fmt.Sprintf("%s=%q is not SEED or SEED,PERCENT: no stalls", StallVariable, v)
		} else {
			s = Stalls{Seed: n, Percent: p}
		}
	}
	s.Percent = min(max(s.Percent, 0), 95)
	if v := Check(os.Getenv(CheckVariable)); v != "" && c == "" {
		if v != CheckFirst && v != CheckAlways && v != CheckNever {
			warning = fmt.Sprintf("%s=%q is none of first, always, never: first is used", CheckVariable, v)
		} else {
			c = v
		}
	}
	if c == "" {
		c = CheckFirst
	}
	return s, c, warning
}

// A streaming kernel has no work-groups; the limits exist so that a local
// size that would run nowhere else is refused here too.
const maxWorkGroup = 1 << 20

var shortVersion = regexp.MustCompile(`[0-9]+\.[0-9]+`)

// describe is the Info of a device.
func (d *Driver) describe(ordinal int, version string) devices.Info {
	memory := d.Memory
	if memory <= 0 {
		memory = 4 << 30
	}
	return devices.Info{
		ID: fmt.Sprintf("%s:%d", backend, ordinal), Backend: backend, Ordinal: ordinal, Kind: devices.KindFPGA,
		Name:   fmt.Sprintf("Verilator %s emulation", shortVersion.FindString(version)),
		Vendor: "Verilator", Platform: "emulation on the host's cores", DriverVersion: version,
		NUMANode: -1, PhysicalID: fmt.Sprintf("fpga-emulation:%d", ordinal), ComputeUnits: 1, ClockMHz: int(d.clock()),
		MemoryTotal: memory, MemoryFree: memory, MaxAlloc: memory, UnifiedMemory: true, HostCoherent: true, BaseAlign: 1,
		MaxWorkGroup: maxWorkGroup, MaxItemSizes: [3]int{maxWorkGroup, maxWorkGroup, maxWorkGroup}, NonUniform: true,
		Queues: 1, Languages: []devices.Language{devices.LangRTL}, Emulated: true,
	}
}
