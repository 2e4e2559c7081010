package builtin_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/kernels/rtl/builtin"
)

// problem is a call with its arrays' contents.
type problem struct {
	name string
	call *kernels.Call
	mem  [][]byte // by argument; nil for values
}

// bench is an open device that runs problems.
type bench struct {
	t *testing.T
	d devices.Device
	q devices.Queue
	// Reading a source takes longer than running its kernels.
	programs map[*devices.Source]devices.Program
}

func open(t *testing.T, driver *fpga.Driver) *bench {
	t.Helper()
	devicetest.Require(t, "fpga", driver.Probe(t.Context()).Reason)
	devicetest.CheckGoroutines(t)
	d, err := driver.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	q, err := d.NewQueue(devices.Compute)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t, d, q, map[*devices.Source]devices.Program{}}
	t.Cleanup(func() {
		for _, p := range b.programs {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// run runs the Verilog variant of a problem in the given parts of its last
// dimension, and returns the arrays.
func (b *bench) run(p *problem, cuts ...int) [][]byte {
	b.t.Helper()
	v := p.call.Kernel.Variant(devices.LangRTL)
	if v == nil {
		b.t.Fatalf("%s has no Verilog variant", p.name)
	}
	prog := b.programs[v.Source]
	if prog == nil {
		var err error
		if prog, err = b.d.Compile(b.t.Context(), v.Source); err != nil {
			b.t.Fatalf("%s: %+v", p.name, err)
		}
		b.programs[v.Source] = prog
	}
	k, err := prog.Kernel(v.Entry)
	if err != nil {
		b.t.Fatal(err)
	}
	defer k.Close()
	l := devices.Launch{Kernel: k, Range: p.call.Range}
	var out [][]byte
	for i, a := range p.call.Args {
		if p.mem[i] == nil {
			l.Args = append(l.Args, devices.Arg{Value: a.Value})
			out = append(out, nil)
			continue
		}
		buf, err := b.d.Alloc(int64(len(p.mem[i])))
		if err != nil {
			b.t.Fatal(err)
		}
		defer buf.Free()
		b.copy(&devices.Copy{Kind: devices.HostToDevice, Dst: buf, Host: p.mem[i], Size: buf.Size()})
		l.Args = append(l.Args, devices.Arg{Buffer: buf})
		out = append(out, make([]byte, buf.Size()))
	}
	last := l.Range.Dims - 1
	whole := l.Range.Size[last]
	cuts = append(slices.Clone(cuts), whole)
	if len(cuts) > 1 {
		l.Range = l.Range.Norm()
	}
	at := 0
	for _, cut := range cuts {
		l.Range.Offset[last], l.Range.Size[last] = at, cut-at
		at = cut
		ev, err := b.q.Launch(&l, nil)
		if err != nil {
			b.t.Fatalf("%s: %v", p.name, err)
		}
		err = devices.Wait(b.t.Context(), ev)
		ev.Release()
		if err != nil {
			b.t.Fatalf("%s: %+v", p.name, err)
		}
	}
	for i, a := range l.Args {
		if a.Buffer != nil {
			b.copy(&devices.Copy{Kind: devices.DeviceToHost, Src: a.Buffer, Host: out[i], Size: a.Buffer.Size()})
		}
	}
	return out
}

func (b *bench) copy(c *devices.Copy) {
	b.t.Helper()
	ev, err := b.q.Copy(c, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	defer ev.Release()
	if err := devices.Wait(b.t.Context(), ev); err != nil {
		b.t.Fatal(err)
	}
}

// oracle runs the Go variant.
func oracle(t *testing.T, p *problem) [][]byte {
	t.Helper()
	v := p.call.Kernel.Variant(devices.LangGo)
	var args []devices.HostArg
	var out [][]byte
	for i, a := range p.call.Args {
		b := a.Value
		out = append(out, nil)
		if p.mem[i] != nil {
			b = slices.Clone(p.mem[i])
			out[i] = b
		}
		args = append(args, devices.HostArg{Bytes: b})
	}
	r := p.call.Range.Norm()
	list := devices.MakeArgs(args)
	if r.Items() > 0 {
		v.Source.Go[v.Entry](devices.Range{Hi: r.Size, Global: r.Size}, &list)
	}
	return out
}

// makeProblem fills the arrays with random numbers; fill, where set, changes them.
func makeProblem(t *testing.T, rng *rand.Rand, name string, k *kernels.Kernel, shapes map[string][]int64, values map[string]any) *problem {
	t.Helper()
	var given []kernels.Given
	p := &problem{name: name}
	for _, param := range k.Params {
		switch {
		case param.Kind == kernels.Buffer:
			given = append(given, kernels.Given{Name: param.Name, Array: &kernels.Array{Name: param.Name, DType: param.Type.Elem, Shape: shapes[param.Name]}})
		case !param.Implied:
			if v, ok := values[param.Name]; ok {
				given = append(given, kernels.Given{Name: param.Name, Value: v})
			}
		}
	}
	c, err := kernels.Bind(k, devices.NDRange{}, given)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p.call = c
	for _, a := range c.Args {
		var mem []byte
		if a.Array != nil {
			mem = make([]byte, a.Array.Bytes())
			for i := range mem {
				mem[i] = byte(rng.Uint32())
			}
		}
		p.mem = append(p.mem, mem)
	}
	return p
}

// problems are calls of every kernel, of odd sizes too.
func problems(t *testing.T, rng *rand.Rand) []*problem {
	var list []*problem
	add := func(k *kernels.Kernel, shapes map[string][]int64, values map[string]any) {
		list = append(list, makeProblem(t, rng, k.Name, builtin.Extend(k), shapes, values))
	}
	word := func() any { return int64(int32(rng.Uint32())) }
	half := func() any { return int64(int16(rng.Uint32())) }
	for _, n := range []int64{1, 2, 7, 1000} {
		add(library.VectorSaxpyI32, map[string][]int64{"x": {n}, "y": {n}}, map[string]any{"a": word()})
		add(library.ImageThreshold, map[string][]int64{"src": {n}, "dst": {n}}, map[string]any{"level": int64(rng.IntN(300) - 20)})
		add(builtin.Histogram, map[string][]int64{"src": {n}, "bins": {256}}, nil)
		add(builtin.CRC32, map[string][]int64{"src": {n}, "crc": {1}}, nil)
		taps := map[string]any{"shift": int64(rng.IntN(16))}
		for _, h := range []string{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"} {
			taps[h] = half()
		}
		add(builtin.FIR, map[string][]int64{"x": {n}, "y": {n}}, taps)
	}
	for _, s := range [][2]int64{{1, 1}, {1, 9}, {9, 1}, {2, 2}, {3, 17}, {40, 33}} {
		h, w := s[0], s[1]
		gray := map[string][]int64{"src": {h, w}, "dst": {h, w}}
		add(library.ImageSobel, gray, nil)
		for _, c := range []int64{1, 2, 3, 4} {
			add(library.ImageBlur, map[string][]int64{"src": {h, w, c}, "dst": {h, w, c}}, nil)
			if c != 2 {
				add(library.ImageGray, map[string][]int64{"src": {h, w, c}, "dst": {h, w}}, nil)
			}
		}
		weights := map[string]any{"shift": int64(rng.IntN(12))}
		for _, k := range []string{"k00", "k01", "k02", "k10", "k11", "k12", "k20", "k21", "k22"} {
			weights[k] = int64(rng.IntN(400) - 200)
		}
		add(builtin.Conv3x3, gray, weights)
		add(builtin.MatVec, map[string][]int64{"a": {h, w}, "x": {w}, "y": {h}}, map[string]any{"shift": int64(rng.IntN(40))})
	}
	return list
}

func seed() uint64 { return uint64(time.Now().UnixNano()) }

// check compares what was written with the oracle.
func check(t *testing.T, p *problem, what string, seed uint64, got, want [][]byte) {
	t.Helper()
	for i, a := range p.call.Args {
		if a.Array == nil || bytes.Equal(got[i], want[i]) {
			continue
		}
		at := 0
		for got[i][at] == want[i][at] {
			at++
		}
		t.Errorf("%s %s, %s: byte %d of %v is %d, want %d (seed %d)", p.name, kernels.ShapeString(a.Array.Shape), what, at, a.Array, got[i][at], want[i][at], seed)
	}
}

func TestOracle(t *testing.T) {
	s := seed()
	rng := rand.New(rand.NewPCG(s, 1))
	for _, c := range []struct {
		name   string
		driver *fpga.Driver
	}{
		{"free", &fpga.Driver{Check: fpga.CheckAlways}},
		{"stalls", &fpga.Driver{Check: fpga.CheckNever, Stalls: fpga.Stalls{Seed: s, Percent: 40}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.driver)
			for _, p := range problems(t, rng) {
				want := oracle(t, p)
				check(t, p, "in one", s, b.run(p), want)
				last := p.call.Range.Dims - 1
				if n := p.call.Range.Size[last]; n > 2 && p.call.Kernel.NoSplit == "" {
					check(t, p, "in three parts", s, b.run(p, 1, 1+(n-1)/2), want)
				}
			}
		})
	}
}

// TestSignatures holds the parameters that are written here and in package
// library against those that the sources say.
func TestSignatures(t *testing.T) {
	devicetest.Require(t, "fpga", (&fpga.Driver{}).Probe(t.Context()).Reason)
	all := builtin.All()
	for _, k := range library.All() {
		if _, ok := builtin.Variant(k.Name); ok {
			all = append(all, builtin.Extend(k))
		}
	}
	if len(all) != 10 {
		t.Errorf("%d kernels have a Verilog variant, want 10", len(all))
	}
	for _, k := range all {
		v := k.Variant(devices.LangRTL)
		read, err := readKernel(t, v)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		if read.Signature() != k.Signature() {
			t.Errorf("the source of %s says\n%s, want\n%s", k.Name, read.Signature(), k.Signature())
		}
		if (read.NoSplit == "") != (k.NoSplit == "") {
			t.Errorf("%s: the source's reason against splitting is %q, the kernel's %q", k.Name, read.NoSplit, k.NoSplit)
		}
	}
}
