package library

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/cudatest"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/kernels"
)

// TestMain keeps what the tests compile out of the user's cache of builds.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tandem-library-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("TANDEM_CACHE_DIR", dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestOracle runs every kernel on every device, in one launch and divided into
// parts as over several devices, and asks for the bits of the Go variant.
func TestOracle(t *testing.T) {
	for _, d := range []devices.Driver{cpu.Driver{}, &opencl.Driver{}, &cuda.Driver{}} {
		t.Run(d.Name(), func(t *testing.T) {
			if c, ok := d.(*cuda.Driver); ok { // the test double, which executes what NVRTC makes of the bridge's CUDA C
				if os.Getenv("TANDEM_CUDA_TEST_GPU") == "" {
					c.Library = cudatest.Build(t)
				}
				_, err := nvrtc.Open(nvrtc.Options{})
				devicetest.Require(t, "nvrtc", err)
			}
			b := d.Probe(context.Background())
			if !b.Available {
				devicetest.Require(t, d.Name(), b.Reason)
			}
			for i, info := range b.Devices {
				t.Run(info.ID, func(t *testing.T) { oracle(t, d, i) })
			}
		})
	}
}

func oracle(t *testing.T, d devices.Driver, ordinal int) {
	dev := openBench(t, d, ordinal)
	rng := seeded(t)
	launched := map[string]bool{}
	for _, p := range problems(rng) {
		if testing.Short() && (strings.HasSuffix(p.k.Name, ".f64") || strings.HasSuffix(p.k.Name, ".i32")) {
			continue // compiling them is what takes the time
		}
		c, err := bind(p.k, p.args...)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.k.Variants) > 0 {
			if _, err := c.Kernel.VariantFor(dev.device.Info()); err != nil {
				t.Logf("left out: %v", err)
				continue
			}
		} else if !dev.device.Info().FP64 && p.args[0].(*buf).DType == devices.Float64 {
			continue
		}
		launched[p.k.Name] = true
		want, got, parts := cloneArgs(p.args), cloneArgs(p.args), cloneArgs(p.args)
		run(t, wholeGo, p.k, want...)
		run(t, dev.whole, p.k, got...)
		compareArgs(t, p.name, got, want)
		run(t, dev.inParts(rng), p.k, parts...)
		compareArgs(t, p.name+" in parts", parts, want)
		if t.Failed() {
			return
		}
	}
	for name, got := range goldenPictures(t, dev.whole) {
		if got != goldenSums[name] {
			t.Errorf("photograph: %q is %s, want %s", name, got, goldenSums[name])
		}
	}
	t.Logf("%d kernels give the bits of the Go variant", len(launched))
}

// A deviceBench holds an open device and what was compiled on it.
type deviceBench struct {
	device   devices.Device
	queue    devices.Queue
	programs map[*devices.Source]devices.Program
	kernels  map[*kernels.Variant]devices.Kernel
}

func openBench(t testing.TB, d devices.Driver, ordinal int) *deviceBench {
	dev, err := d.Open(context.Background(), ordinal)
	if err != nil {
		t.Fatal(err)
	}
	q, err := dev.NewQueue(devices.Compute)
	if err != nil {
		t.Fatal(err)
	}
	b := &deviceBench{dev, q, map[*devices.Source]devices.Program{}, map[*kernels.Variant]devices.Kernel{}}
	t.Cleanup(func() {
		check := func(err error) {
			if err != nil {
				t.Errorf("closing: %v", err)
			}
		}
		for _, k := range b.kernels {
			check(k.Close())
		}
		for _, p := range b.programs {
			check(p.Close())
		}
		check(q.Close())
		check(dev.Close())
	})
	return b
}

func (b *deviceBench) kernel(t testing.TB, k *kernels.Kernel) devices.Kernel {
	v, err := k.VariantFor(b.device.Info())
	if err != nil {
		t.Fatal(err)
	}
	if b.kernels[v] != nil {
		return b.kernels[v]
	}
	p := b.programs[v.Source]
	if p == nil {
		if p, err = b.device.Compile(context.Background(), v.Source); err != nil {
			t.Fatalf("%s: %+v", k.Name, err)
		}
		if strings.Contains(p.Log(), "warning") {
			t.Errorf("%s compiles with warnings:\n%s", v.Source.Name, p.Log())
		}
		b.programs[v.Source] = p
	}
	if b.kernels[v], err = p.Kernel(v.Entry); err != nil {
		t.Fatal(err)
	}
	return b.kernels[v]
}

// whole is an executor: one launch.
func (b *deviceBench) whole(t testing.TB, c *kernels.Call, mem [][]byte) {
	b.launch(t, c, mem, []devices.NDRange{c.Range})
}

// inParts is an executor: up to three launches that share the ND-range.
func (b *deviceBench) inParts(rng *rand.Rand) executor {
	return func(t testing.TB, c *kernels.Call, mem [][]byte) {
		parts := []devices.NDRange{c.Range}
		if dim, _, err := c.Splittable(); err == nil {
			for range 2 {
				last := &parts[len(parts)-1]
				if last.Size[dim] < 2 {
					break
				}
				next := *last
				last.Whole, next.Whole = c.Range.Norm().Size, c.Range.Norm().Size
				cut := 1 + rng.IntN(last.Size[dim]-1)
				last.Size[dim] = cut
				next.Offset[dim] += cut
				next.Size[dim] -= cut
				parts = append(parts, next)
			}
		}
		b.launch(t, c, mem, parts)
	}
}

// launch copies the arrays to the device, also what is only written, runs the
// parts and copies back what was written.
func (b *deviceBench) launch(t testing.TB, c *kernels.Call, mem [][]byte, parts []devices.NDRange) {
	t.Helper()
	args, free := b.place(t, c, mem)
	defer free()
	var commands []*devices.Launch
	for _, r := range parts {
		commands = append(commands, &devices.Launch{Kernel: b.kernel(t, c.Kernel), Range: r, Args: args})
	}
	b.enqueue(t, commands...)
	for i, a := range c.Args {
		if a.Array != nil && a.Mode.Writes() {
			b.copy(t, devices.DeviceToHost, args[i].Buffer, mem[i])
		}
	}
}

// place makes buffers with the contents of mem.
func (b *deviceBench) place(t testing.TB, c *kernels.Call, mem [][]byte) (args []devices.Arg, free func()) {
	t.Helper()
	args = make([]devices.Arg, len(c.Args))
	for i, a := range c.Args {
		if a.Array == nil {
			args[i].Value = a.Value
			continue
		}
		buffer, err := b.device.Alloc(a.Array.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		args[i].Buffer = buffer
		b.copy(t, devices.HostToDevice, buffer, mem[i])
	}
	return args, func() {
		for _, a := range args {
			if a.Buffer == nil {
				continue
			}
			if err := a.Buffer.Free(); err != nil {
				t.Errorf("free: %v", err)
			}
		}
	}
}

// copy moves all of mem to or from the beginning of buffer.
func (b *deviceBench) copy(t testing.TB, kind devices.CopyKind, buffer devices.Buffer, mem []byte) {
	t.Helper()
	if len(mem) == 0 {
		return
	}
	host, err := hostmem.Alloc(int64(len(mem)))
	if err != nil {
		t.Fatal(err)
	}
	defer hostmem.Free(host)
	cp := devices.Copy{Kind: kind, Host: host[:len(mem)], Size: int64(len(mem))}
	if kind == devices.HostToDevice {
		copy(cp.Host, mem)
		cp.Dst = buffer
	} else {
		cp.Src = buffer
	}
	e, err := b.queue.Copy(&cp, nil)
	b.wait(t, e, err)
	if kind == devices.DeviceToHost {
		copy(mem, cp.Host)
	}
}

// enqueue runs the launches in order and waits for the last.
func (b *deviceBench) enqueue(t testing.TB, commands ...*devices.Launch) {
	t.Helper()
	for i, l := range commands {
		e, err := b.queue.Launch(l, nil)
		if err != nil {
			t.Fatalf("launch over %v: %v", l.Range.Size, err)
		}
		if i < len(commands)-1 {
			e.Release()
			continue
		}
		b.wait(t, e, nil)
	}
}

func (b *deviceBench) wait(t testing.TB, e devices.Event, err error) {
	t.Helper()
	if err == nil {
		err = devices.Wait(context.Background(), e)
		e.Release()
	}
	if err != nil {
		t.Fatal(err)
	}
}
