package opencl

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

func TestStatus(t *testing.T) {
	for code, want := range map[int32]struct {
		symbol string
		class  error
	}{
		-4:     {"CL_MEM_OBJECT_ALLOCATION_FAILURE", devices.ErrOutOfMemory},
		-5:     {"CL_OUT_OF_RESOURCES", devices.ErrOutOfMemory},
		-2:     {"CL_DEVICE_NOT_AVAILABLE", devices.ErrDeviceLost},
		-54:    {"CL_INVALID_WORK_GROUP_SIZE", devices.ErrInvalid},
		-1001:  {"CL_PLATFORM_NOT_FOUND_KHR", devices.ErrUnavailable},
		-9999:  {"NVIDIA_ILLEGAL_ACCESS", devices.ErrDeviceLost},
		-77777: {"unknown status", devices.ErrInvalid},
	} {
		err := failed(code, "clCreateBuffer(%d bytes)", 4096)
		var se *devices.StatusError
		if !errors.As(err, &se) || se.Symbol != want.symbol || se.Code != int64(code) || !errors.Is(err, want.class) ||
			!strings.HasPrefix(err.Error(), "opencl: clCreateBuffer(4096 bytes): "+want.symbol) {
			t.Errorf("%d: %v, want %s and %v", code, err, want.symbol, want.class)
		}
	}
	for code, c := range codes {
		if c.symbol == "" || c.class == nil {
			t.Errorf("%d: %+v", code, c)
		}
	}
	// As the status of a command, the codes of "no device" and "no memory"
	// mean something else.
	for code, want := range map[int32]error{-1: devices.ErrInvalid, -5: devices.ErrOutOfMemory, -14: devices.ErrInvalid, -36: devices.ErrDeviceLost, -9999: devices.ErrDeviceLost} {
		if err := aborted(code, "kernel"); !errors.Is(err, want) {
			t.Errorf("command status %d: %v, want %v", code, err, want)
		}
	}
}

func TestTimesAgainstHost(t *testing.T) {
	d := open(t, 0)
	q := newQueue(t, d)
	k := kernelOf(t, compile(t, d, "__kernel void k(__global int *x) { for (int i = 0; i < 100000; i++) x[get_global_id(0)] += i; }"), "k")
	x := alloc(t, d, 4*256)
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{250}, Local: [3]int{64}}, Args: []devices.Arg{{Buffer: x}}}
	var end time.Duration
	for range 20 {
		before := devices.Now()
		e := enqueue(t, q, l)
		if _, err := e.Times(); err != nil && !errors.Is(err, devices.ErrInvalid) {
			t.Error(err)
		}
		if err := devices.Wait(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		after := devices.Now()
		at, err := e.Times()
		if err != nil {
			t.Fatal(err)
		}
		if at.Queued < before || at.End > after || at.Start < at.Queued || at.End < at.Start {
			t.Errorf("%+v lies outside of %v to %v", at, before, after)
		}
		if at.Run() <= 0 {
			t.Errorf("a kernel that counts to 100000 took %v", at.Run())
		}
		if at.Start < end-time.Millisecond {
			t.Errorf("it began at %v, the launch before it ended at %v", at.Start, end)
		}
		end = at.End
	}
}

func TestInfoParsing(t *testing.T) {
	for s, want := range map[string][2]int{"OpenCL 3.0 PoCL": {3, 0}, "OpenCL 1.2 CUDA": {1, 2}, "OpenCL C 2.0 x": {2, 0}, "": {1, 0}, "junk": {1, 0}} {
		if major, minor := apiVersion(s); major != want[0] || minor != want[1] {
			t.Errorf("apiVersion(%q) = %d.%d", s, major, minor)
		}
	}
	if got := formatUUID([]byte{0: 0x12, 15: 0xef}); got != "12000000-0000-0000-0000-0000000000ef" {
		t.Errorf("formatUUID: %s", got)
	}
	for typ, want := range map[int64]devices.Kind{deviceTypeCPU: devices.KindCPU, deviceTypeGPU | 1: devices.KindGPU, deviceTypeAccelerator: devices.KindAccelerator} {
		if got := kindOf(typ, "Some Platform"); got != want {
			t.Errorf("kindOf(%d) = %s, want %s", typ, got, want)
		}
	}
	if got := kindOf(deviceTypeAccelerator, "Intel(R) FPGA Emulation Platform for OpenCL(TM)"); got != devices.KindFPGA {
		t.Errorf("an FPGA platform's accelerator is %s", got)
	}
	sysfs := t.TempDir()
	dir := filepath.Join(sysfs, "bus/pci/devices/0000:65:00.0")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "numa_node"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := -1
	if runtime.GOOS == "linux" {
		want = 1
	}
	if got := numaNode(sysfs, "0000:65:00.0"); got != want {
		t.Errorf("NUMA node %d, want %d", got, want)
	}
	if got := numaNode(sysfs, "0000:66:00.0"); got != -1 {
		t.Errorf("NUMA node of a device that is not there: %d", got)
	}
	for options, want := range map[string]bool{"": false, "-cl-std=CL1.2": false, "-O2 -cl-std=CL2.0": true, "-cl-std=CL3.0": true, "-cl-std=CL2.0 -cl-uniform-work-group-size": false} {
		if got := nonUniformOptions([]string{options}); got != want {
			t.Errorf("nonUniformOptions(%q) = %v", options, got)
		}
	}
}
