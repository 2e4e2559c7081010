package opencl

import (
	"errors"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/sycl/find"
)

// needEmulation skips t when Intel's FPGA emulation is not installed, or fails
// it when TANDEM_REQUIRE says that it has to be.
func needEmulation(t testing.TB) *Driver {
	t.Helper()
	path := find.FPGAEmulation()
	if path == "" {
		devicetest.Require(t, "fpga-emu", errors.New("no libintelocl_emu.so in the folder that "+find.FPGARootVariable+" names"))
	}
	d := &Driver{Library: path, Vendor: true}
	devicetest.Require(t, "fpga-emu", d.FPGAs(0).Probe(t.Context()).Reason)
	return d
}

func TestFPGAConformance(t *testing.T) {
	skip := map[string]string{}
	if raceEnabled {
		for _, name := range []string{"no-allocation-launch", "no-allocation-copy"} {
			skip[name] = "the race detector makes pools forget, so allocations mean nothing"
		}
	}
	devicetest.Run(t, devicetest.Options{
		Driver:  needEmulation(t).FPGAs(0),
		Kernels: devicetest.OpenCLKernels(),
		Fail:    failOn,
		Skip:    skip,
	})
}

// TestFPGAsApart shows that a device is listed by one of the two views and
// numbered from the ordinal asked for.
func TestFPGAsApart(t *testing.T) {
	d := needEmulation(t)
	if b := d.Probe(t.Context()); b.Available || len(b.Devices) > 0 || !errors.Is(b.Reason, devices.ErrUnavailable) {
		t.Errorf("the backend opencl shows %+v (%v)", b.Devices, b.Reason)
	}
	b := d.FPGAs(5).Probe(t.Context())
	if b.Name != "fpga" || len(b.Devices) != 1 {
		t.Fatalf("%s has %d devices, want fpga and 1", b.Name, len(b.Devices))
	}
	info := b.Devices[0]
	if info.ID != "fpga:5" || info.Ordinal != 5 || info.Backend != "fpga" || info.Kind != devices.KindFPGA || !info.Emulated || info.Concurrent < 8 {
		t.Errorf("device %+v", info)
	}
	if _, err := d.FPGAs(5).Open(t.Context(), 4); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("opening fpga:4: %v", err)
	}
	dev, err := d.FPGAs(5).Open(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if got := dev.Info().ID; got != "fpga:5" {
		t.Errorf("opened %s", got)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
}

const channelsText = `
#pragma OPENCL EXTENSION cl_intel_channels : enable
channel int numbers __attribute__((depth(64)));
__attribute__((max_global_work_dim(0)))
__kernel void produce(__global const int *x, int n) { for (int i = 0; i < n; i++) write_channel_intel(numbers, x[i]); }
__attribute__((max_global_work_dim(0)))
__kernel void consume(__global int *y, int n) { for (int i = 0; i < n; i++) y[i] = 3 * read_channel_intel(numbers); }
`

// single is the ND-range of a kernel with one work-item.
var single = devices.NDRange{Dims: 1, Size: [3]int{1}}

// TestChannel launches a consumer and then its producer on two queues.
func TestChannel(t *testing.T) {
	d := openFPGA(t)
	p := compile(t, d, channelsText)
	channel(t, d, kernelOf(t, p, "produce"), kernelOf(t, p, "consume"))
}

// channel sends numbers from one kernel to another.
func channel(t *testing.T, d *device, produce, consume *kernel) {
	t.Helper()
	const n = 500 // many times the channel's depth
	q, q2 := newQueue(t, d), newQueue(t, d)
	x, y := alloc(t, d, 4*n), alloc(t, d, 4*n)
	in := make([]byte, 0, 4*n)
	for i := range n {
		in = append(in, i32(int32(i)).Value...)
	}
	upload(t, q, x, in)
	last := enqueue(t, q2, &devices.Launch{Kernel: consume, Range: single, Args: []devices.Arg{{Buffer: y}, i32(n)}})
	if err := q2.Flush(); err != nil {
		t.Fatal(err)
	}
	enqueue(t, q, &devices.Launch{Kernel: produce, Range: single, Args: []devices.Arg{{Buffer: x}, i32(n)}})
	if err := q.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := devices.Wait(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	for i, v := range ints(download(t, q2, y)) {
		if v != int32(3*i) {
			t.Fatalf("number %d is %d, want %d", i, v, 3*i)
		}
	}
}

// TestGate has a command wait for a gate: it runs once that is opened, and
// not at all if it is opened with an error.
func TestGate(t *testing.T) {
	d := openFPGA(t)
	q := newQueue(t, d)
	k := kernelOf(t, compile(t, d, "__kernel void inc(__global int *x) { x[get_global_id(0)] += 1; }"), "inc")
	x := alloc(t, d, 4)
	upload(t, q, x, make([]byte, 4))
	l := &devices.Launch{Kernel: k, Range: single, Args: []devices.Arg{{Buffer: x}}}
	for want, cause := range []error{errors.New("the other one was refused"), nil} {
		gate, err := d.NewGate()
		if err != nil {
			t.Fatal(err)
		}
		e := enqueue(t, q, l, gate.Event())
		if err := q.Flush(); err != nil {
			t.Fatal(err)
		}
		if done, _ := e.Done(); done {
			t.Error("done before the gate was opened")
		}
		gate.Open(cause)
		gate.Open(errors.New("late"))
		gate.Release()
		if err := devices.Wait(t.Context(), e); !errors.Is(err, cause) || (err == nil) != (cause == nil) {
			t.Errorf("behind a gate opened with %v: %v", cause, err)
		}
		if got := ints(download(t, q, x))[0]; got != int32(want) {
			t.Errorf("behind a gate opened with %v: the kernel ran %d times, want %d", cause, got, want)
		}
	}
}

// TestFPGABinary builds a program once and makes it again from its binary.
func TestFPGABinary(t *testing.T) {
	d := openFPGA(t)
	made := compile(t, d, channelsText)
	binary, err := made.Binary()
	if err != nil {
		t.Fatal(err)
	}
	if len(binary) < 4 || string(binary[:4]) != "\x7fELF" {
		t.Fatalf("a binary of %d bytes, want an ELF file", len(binary))
	}
	prog, err := d.Compile(t.Context(), &devices.Source{Name: "k.aocx", Language: devices.LangBinary, Text: binary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = prog.Close() })
	p := prog.(*program)
	channel(t, d, kernelOf(t, p, "produce"), kernelOf(t, p, "consume"))
}

func openFPGA(t *testing.T) *device {
	t.Helper()
	d := needEmulation(t)
	t.Setenv(intelWorkers, "1") // meant for the implementation for CPUs
	dev, err := d.FPGAs(0).Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return dev.(*device)
}
