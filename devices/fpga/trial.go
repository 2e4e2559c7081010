package fpga

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
)

// Trial is what a kernel does with some thousand random words, without anyone
// having written a test for it.
type Trial struct {
	Kernel string `json:"kernel"`
	Entry  string `json:"entry"`
	// Range is the ND-range, and Values are the numbers that were passed.
	Range  []int            `json:"range"`
	Values map[string]int64 `json:"values,omitempty"`
	// Free is a launch in which every word is offered and taken at once,
	// Stalled one in which words are held back and outputs not taken at
	// random.
	Free    LaunchReport `json:"free"`
	Stalled LaunchReport `json:"stalled"`
	// Same: both gave the same outputs, as they have to.
	Same bool `json:"same"`
	// Fault is why a launch failed; the reports are empty then.
	Fault string `json:"fault,omitempty"`
}

// TryOptions say how kernels are tried.
type TryOptions struct {
	Entry    string // one kernel; default: all of the source
	Words    int    // of the longest array, about. Default 16384
	Seed     uint64 // of data and stalls. Default 1
	Tools    toolchain.Tools
	CacheDir string // default: buildcache.Dir
}

// What a trial passes for a value without a default: enough for a row of
// something, little enough for any memory of a row. The product of values is
// kept below the kernel's limits.
const trialValue = 64

// trialIdle is the number of cycles without a word moving that ends a trial.
const trialIdle = 1 << 20

// stallPercent is how often a trial holds words back.
const stallPercent = 30

// Try runs each kernel of a source twice on random data in an emulation of its
// own: freely, and with random stalls. A kernel that fails is no error: its
// Trial says why. Errors are those of building it (verilog.Read,
// *devices.CompileError), or a *toolchain.MissingError.
func Try(ctx context.Context, src *devices.Source, o TryOptions) (list []Trial, err error) {
	if o.Words <= 0 {
		o.Words = 16384
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	modules, err := ReadSource(ctx, o.Tools, src)
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		if o.Entry == "" || m.Entry == o.Entry || m.Name == o.Entry {
			list = append(list, Trial{Kernel: m.Name, Entry: m.Entry})
		}
	}
	outputs := make([][]byte, len(list))
	for round, stalls := range []Stalls{{}, {Seed: o.Seed, Percent: stallPercent}} {
		d := &Driver{Devices: 1, CacheDir: o.CacheDir, Tools: o.Tools, MaxIdle: trialIdle, Check: CheckNever, Stalls: stalls}
		if round == 0 {
			d.Stalls = Stalls{Seed: o.Seed} // not those of the environment
		}
		if err := tryAll(ctx, d, src, modules, o, list, outputs); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// tryAll runs every kernel of list once on a device of d. The first round
// notes the outputs, the second compares.
func tryAll(ctx context.Context, d *Driver, src *devices.Source, modules []*verilog.Module, o TryOptions, list []Trial, outputs [][]byte) (err error) {
	dev, err := d.Open(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	p, err := dev.Compile(ctx, src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for i := range list {
		t := &list[i]
		if t.Fault != "" {
			continue
		}
		var m *verilog.Module
		for _, other := range modules {
			if other.Entry == t.Entry {
				m = other
			}
		}
		out, r, err := try(ctx, dev, p, m, o, t)
		switch {
		case context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil:
			*t = Trial{Kernel: t.Kernel, Entry: t.Entry, Range: t.Range, Values: t.Values, Fault: err.Error()}
		case d.Stalls.Percent == 0:
			t.Free, outputs[i] = r, out
		default:
			t.Stalled, t.Same = r, bytes.Equal(out, outputs[i])
		}
	}
	return nil
}

// try runs one kernel and returns what it wrote.
func try(ctx context.Context, dev devices.Device, p devices.Program, m *verilog.Module, o TryOptions, t *Trial) (out []byte, r LaunchReport, err error) {
	k, err := p.Kernel(m.Entry)
	if err != nil {
		return nil, r, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	q, err := dev.NewQueue(devices.Compute)
	if err != nil {
		return nil, r, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()

	values, err := trialValues(m)
	if err != nil {
		return nil, r, err
	}
	nd, sizes, err := trialSizes(m, values, int64(o.Words))
	if err != nil {
		return nil, r, err
	}
	t.Range, t.Values = nd.Size[:nd.Dims], nil
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	args := make([]devices.Arg, len(m.Params))
	var written []*buffer
	for i := range m.Params {
		param := &m.Params[i]
		if !param.Array() {
			args[i].Value = encode(param.Type, values[i])
			if t.Values == nil {
				t.Values = map[string]int64{}
			}
			t.Values[param.Name] = values[i]
			continue
		}
		b, allocErr := dev.Alloc(sizes[i])
		if allocErr != nil {
			return nil, r, allocErr
		}
		defer func() { err = errors.Join(err, b.Free()) }()
		own := b.(*buffer)
		if param.In >= 0 {
			for j := range own.mem {
				own.mem[j] = byte(rng.Uint32())
			}
		}
		if param.Out >= 0 {
			written = append(written, own)
		}
		args[i].Buffer = b
	}
	ev, err := q.Launch(&devices.Launch{Kernel: k, Range: nd, Args: args}, nil)
	if err != nil {
		return nil, r, err
	}
	// A launch cannot be called off; trialIdle bounds it.
	err = devices.Wait(context.WithoutCancel(ctx), ev)
	if err == nil {
		r, _ = dev.(Reporter).LaunchReport(ev)
		for _, b := range written {
			out = append(out, b.mem...)
		}
	}
	ev.Release()
	return out, r, err
}

// trialValues are the values that a trial passes, by parameter.
func trialValues(m *verilog.Module) ([]int64, error) {
	values := make([]int64, len(m.Params))
	var free []int
	for i := range m.Params {
		p := &m.Params[i]
		switch {
		case p.Array():
		case p.Default != "" && !p.Type.Float():
			v, err := strconv.ParseInt(p.Default, 0, 64)
			if err != nil {
				return nil, fmt.Errorf("value %s: default %q: %w", p.Name, p.Default, err)
			}
			values[i] = v
		default:
			values[i] = trialValue
			free = append(free, i)
		}
	}
	for _, limit := range m.Limits {
		for {
			v, err := limit.Of.Eval(func(i int) int64 { return values[i] })
			if err == nil && v <= limit.Most {
				break
			}
			smaller := false
			for _, i := range free {
				if values[i] > 1 {
					values[i] /= 2
					smaller = true
				}
			}
			if !smaller {
				return nil, fmt.Errorf("no values keep %s at %d or less: %w", limit.Words, limit.Most, devices.ErrInvalid)
			}
		}
	}
	return values, nil
}

// trialSizes are the ND-range and the bytes of each array of a trial that
// streams about the given number of words.
func trialSizes(m *verilog.Module, values []int64, words int64) (nd devices.NDRange, bytes []int64, err error) {
	value := func(i int) int64 { return values[i] }
	nd.Dims = m.Dims()
	items := make([]int64, len(m.Params))
	most := int64(1) // bytes of an item
	for i := range m.Params {
		p := &m.Params[i]
		if !p.Array() || p.Whole {
			continue
		}
		if items[i], err = p.Item.Eval(value); err != nil {
			return nd, nil, err
		}
		items[i] *= int64(p.Type.Size())
		most = max(most, items[i])
	}
	widest := int64(1)
	for _, s := range append(append([]verilog.Stream{}, m.Inputs...), m.Outputs...) {
		widest = max(widest, int64(s.Bytes))
	}
	// Whole words of every stream, however narrow the elements are.
	n := max(words*widest/most/64*64, 64)
	for d := range nd.Dims {
		nd.Size[d] = 1
		if streams(m, d) {
			nd.Size[d] = int(n)
		}
	}
	bytes = make([]int64, len(m.Params))
	for i := range m.Params {
		p := &m.Params[i]
		switch {
		case !p.Array():
		case p.Whole && p.Out >= 0:
			bytes[i] = max(words, 4096) * widest // room: the kernel says when it is done
		case p.Whole:
			bytes[i] = trialValue * widest
		default:
			bytes[i] = items[i] * n
		}
	}
	return nd, bytes, nil
}

// encode is a number in a type's own layout.
func encode(t devices.DType, v int64) []byte {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], uint64(v))
	if t.Float() {
		return b[:t.Size()] // zero but for the bits of a small integer: some number
	}
	switch t.Size() {
	case 1:
		return []byte{byte(v)}
	case 2:
		return binary.NativeEndian.AppendUint16(nil, uint16(v))
	case 4:
		return binary.NativeEndian.AppendUint32(nil, uint32(v))
	}
	return b[:]
}
