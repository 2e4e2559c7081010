package fpga

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// maxFirstCheck is the most words that the first check of a kernel moves.
const maxFirstCheck = 4 << 20

// trialStalls are the stalls of the second trial of a check.
var trialStalls = Stalls{Seed: 0x7a4d, Percent: 30}

// aside is memory that a job writes instead of its outputs, and how many words
// it gave.
type aside struct {
	mem   [verilog.MaxOutputs][]byte
	given [verilog.MaxOutputs]uint64
}

// newAside makes room for the outputs of p.
func (d *device) newAside(m *verilog.Module, p *plan) (*aside, error) {
	a := &aside{}
	for i := range m.Outputs {
		mem, err := hostmem.Alloc(int64(len(p.outputs[i])))
		if err != nil {
			a.free()
			return nil, d.errorf(devices.ErrOutOfMemory, "%s: memory for %d bytes of %s: %v", m.Entry, len(p.outputs[i]), m.Outputs[i].Prefix, err)
		}
		a.mem[i] = mem
	}
	return a, nil
}

func (a *aside) free() {
	for i := range a.mem {
		_ = hostmem.Free(a.mem[i])
	}
}

// run runs a launch, with two trials before it where it has to be checked.
func (d *device) run(c *command) error {
	in, p, m := c.in, &c.plan, c.in.unit.module
	c.times.Start = devices.Now()
	if in.model == 0 {
		if in.model = in.fresh(fillZeros, 1); in.model == 0 {
			return in.job.fault(d, in.unit)
		}
	}
	var trials [2]*aside
	defer func() {
		for _, a := range trials {
			if a != nil {
				a.free()
			}
		}
	}()
	check := d.check == CheckAlways || d.check == CheckFirst && !in.checked && p.words <= maxFirstCheck
	if check {
		var err error
		if trials[0], err = d.trial(c, fillOnes, d.stalls); err != nil {
			return err
		}
		if trials[1], err = d.trial(c, fillRandom, trialStalls); err != nil {
			return err
		}
		in.checked = true
	}
	var out *aside
	to := &p.outputs
	if p.scratch {
		var err error
		if out, err = d.newAside(m, p); err != nil {
			return err
		}
		defer out.free()
		to = &out.mem
	}
	c.times.Start = devices.Now()
	in.prepare(p, to, d.driver.maxIdle(), d.stalls)
	in.call(in.model)
	if f := in.job.fault(d, in.unit); f != nil {
		in.drop() // what state it is in nobody knows
		return f
	}
	if out != nil {
		for i, s := range m.Outputs {
			copy(p.outputs[i], out.mem[i][:int(in.job.Given[i])*s.Bytes])
		}
	}
	if check {
		return d.compare(c, &trials)
	}
	return nil
}

// trial runs a launch on a model of its own, and writes elsewhere.
func (d *device) trial(c *command, fill int, s Stalls) (*aside, error) {
	in, m := c.in, c.in.unit.module
	model := in.fresh(fill, 0x5eed)
	if model == 0 {
		return nil, in.job.fault(d, in.unit)
	}
	defer in.unit.lib.destroy(model)
	a, err := d.newAside(m, &c.plan)
	if err != nil {
		return nil, err
	}
	in.prepare(&c.plan, &a.mem, d.driver.maxIdle(), s)
	in.call(model)
	if f := in.job.fault(d, in.unit); f != nil {
		a.free()
		if s.Percent > 0 {
			f.What += fmt.Sprintf(" (in a trial with stalls of seed %#x in %d%% of the cycles)", s.Seed, s.Percent)
		}
		return nil, f
	}
	a.given = in.job.Given
	return a, nil
}

// compare holds a launch against its trials.
func (d *device) compare(c *command, trials *[2]*aside) error {
	m, j := c.in.unit.module, c.in.job
	for n, why := range []string{
		"unknown bits reach the output: %s when bits without a value are 1, %s when they are 0",
		"the output depends on stalls of the streams (seed " + fmt.Sprintf("%#x", trialStalls.Seed) + ") or on unknown bits: %s with them, %s without",
	} {
		a := trials[n]
		for i, s := range m.Outputs {
			what, where := "", ""
			if a.given[i] != j.Given[i] {
				what, where = fmt.Sprintf("%d words", a.given[i]), fmt.Sprintf("%d words", j.Given[i])
			}
			for w := 0; what == "" && w < int(j.Given[i]); w++ {
				x, y := a.mem[i][w*s.Bytes:][:s.Bytes], c.plan.outputs[i][w*s.Bytes:][:s.Bytes]
				if string(x) != string(y) {
					what, where = fmt.Sprintf("word %d is %s", w, hexWord(x)), hexWord(y)
				}
			}
			if what != "" {
				c.in.checked = false
				return &FaultError{Device: d.info.ID, Kernel: m.Entry, File: m.File, Line: m.Line, What: fmt.Sprintf("port %s: "+why, s.Prefix, what, where)}
			}
		}
	}
	return nil
}

// hexWord writes the bytes of a word, highest first.
func hexWord(b []byte) string {
	s := "0x"
	for i := len(b) - 1; i >= 0; i-- {
		s += fmt.Sprintf("%02x", b[i])
	}
	return s
}
