package fpga

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// instance is a kernel on a device: a model, and the memory that its jobs are
// written into. The device's worker alone touches it, but for unit and totals.
type instance struct {
	unit    *unit
	model   uintptr // 0: not made yet, or spoiled by a fault
	mem     []byte  // outside the Go heap: the job, then segments, then registers
	job     *job
	args    [2]uintptr
	checked bool
	totals  Totals // guarded by the device's mu
}

// instanceKey identifies the model that programs of one source share.
type instanceKey struct {
	lib    *library
	module string
}

// instance is the device's instance of a unit, made on first use.
func (d *device) instance(u *unit) (*instance, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, d.errorf(devices.ErrClosed, "Kernel(%s)", u.module.Entry)
	}
	// The same library may serve two sources that differ in annotations.
	key := instanceKey{u.lib, fmt.Sprintf("%+v", *u.module)}
	if in := d.instances[key]; in != nil {
		return in, nil
	}
	m := u.module
	room := jobSize
	for _, p := range m.Params {
		room += (2*p.Halo + 1) * segmentSize
		if !p.Array() {
			room += p.Registers() * 8
		}
	}
	room += len(m.Counts) * 16
	mem, err := hostmem.Alloc(int64(room))
	if err != nil {
		return nil, d.errorf(devices.ErrOutOfMemory, "Kernel(%s): %v", m.Entry, err)
	}
	in := &instance{unit: u, mem: mem, job: (*job)(unsafe.Pointer(unsafe.SliceData(mem)))}
	d.instances[key] = in
	return in, nil
}

// close frees the model and its memory.
func (in *instance) close() {
	in.drop()
	if in.mem != nil {
		_ = hostmem.Free(in.mem)
		in.mem, in.job = nil, nil
	}
}

// drop frees the model.
func (in *instance) drop() {
	if in.model != 0 {
		in.unit.lib.destroy(in.model)
		in.model = 0
	}
}

// What bits without a value are when a model is made.
const (
	fillZeros  = 0
	fillOnes   = 1
	fillRandom = 2
)

// fresh makes a model. A fault is left in the job.
func (in *instance) fresh(fill, seed int) uintptr {
	return dl.Call(in.unit.lib.create, uintptr(unsafe.Pointer(in.job)), uintptr(fill), uintptr(seed))
}

// prepare writes the job of a launch whose outputs go to out.
func (in *instance) prepare(p *plan, out *[verilog.MaxOutputs][]byte, idle int64, s Stalls) {
	m, j := in.unit.module, in.job
	at := unsafe.Add(unsafe.Pointer(j), jobSize)
	for i, stream := range m.Inputs {
		j.Segments[i] = uintptr(at)
		word := int64(stream.Bytes)
		n, total := 0, int64(0)
		put := func(mem []byte) {
			if len(mem) == 0 {
				return
			}
			s := (*segment)(unsafe.Add(at, n*segmentSize))
			s.at, s.words = uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uint64(int64(len(mem))/word)
			n++
			total += int64(len(mem)) / word
		}
		x := &p.inputs[i]
		for k := x.lo; k < 0; k++ {
			put(x.mem[:x.item])
		}
		put(x.mem[max(x.lo, 0)*x.item : min(x.hi, x.n)*x.item])
		for k := x.n; k < x.hi; k++ {
			put(x.mem[(x.n-1)*x.item : x.n*x.item])
		}
		j.SegmentCount[i], j.Total[i] = uint64(n), uint64(total)
		at = unsafe.Add(at, in.segmentsOf(i)*segmentSize)
	}
	for i, stream := range m.Outputs {
		j.Out[i], j.Room[i] = uintptr(unsafe.Pointer(unsafe.SliceData(out[i]))), uint64(len(out[i])/stream.Bytes)
	}
	config := unsafe.Slice((*uint32)(at), max(len(p.config), 1))
	copy(config, p.config)
	j.Config, j.ConfigCount = uintptr(at), uint64(len(p.config)/2)
	j.MaxIdle = uint64(idle)
	j.Seed = s.Seed
	j.HoldInput = uint32(s.Percent) * 65536 / 100
	j.HoldOutput = j.HoldInput
}

// segmentsOf is the room that input i has for segments.
func (in *instance) segmentsOf(i int) int {
	for k := range in.unit.module.Params {
		if p := &in.unit.module.Params[k]; p.In == i {
			return 2*p.Halo + 1
		}
	}
	return 1
}

// call runs the prepared job on a model.
func (in *instance) call(model uintptr) {
	in.args = [2]uintptr{model, uintptr(unsafe.Pointer(in.job))}
	dl.CallArgs(in.unit.lib.run, in.args[:])
}

// runLaunch runs a launch on the worker's thread.
func (d *device) runLaunch(c *command, loads bool) error {
	in, p, m := c.in, &c.plan, c.in.unit.module
	c.report.Kernel = m.Name
	c.report.ClockMHz, c.report.ClockFrom = d.clockOf(in.unit)
	if p.empty {
		c.times.Start = devices.Now()
		return nil
	}
	err := d.run(c)
	r, j := &c.report, in.job
	if loads {
		r.Loaded = d.driver.loadTime()
	}
	if err != nil {
		d.mu.Lock()
		in.totals.Failed++
		d.mu.Unlock()
		return err
	}
	r.Cycles, r.StallsIn, r.StallsOut = j.Cycles, j.StallsIn, j.StallsOut
	for i := range m.Inputs {
		r.WordsIn += j.Taken[i]
	}
	for i := range m.Outputs {
		r.WordsOut += j.Given[i]
	}
	r.Modelled = time.Duration(float64(r.Cycles) / r.ClockMHz * 1e3)
	r.Wall = devices.Now() - c.times.Start
	c.times.Model = devices.Modelled{Run: r.Modelled, Load: r.Loaded, Cycles: r.Cycles,
		WordsIn: r.WordsIn, WordsOut: r.WordsOut, StallsIn: r.StallsIn, StallsOut: r.StallsOut}
	if j.LogLength > 0 {
		r.Log = j.logText()
	}
	d.mu.Lock()
	in.totals.Launches++
	if loads {
		in.totals.Loads++
	}
	in.totals.add(*r)
	d.mu.Unlock()
	return nil
}

// Where a modelled clock comes from.
const (
	ClockAnalysed = "nextpnr" // Analyze has found it
	ClockDeclared = "source"  // an annotation says it
	ClockDefault  = "default" // Driver.ClockMHz
)

// clockOf is the clock that a kernel is modelled with, and where it is from.
func (d *device) clockOf(u *unit) (mhz float64, from string) {
	switch {
	case u.fmax > 0:
		return u.fmax, ClockAnalysed
	case u.module.ClockMHz > 0:
		return u.module.ClockMHz, ClockDeclared
	}
	return d.driver.clock(), ClockDefault
}
