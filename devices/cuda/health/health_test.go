package health

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// tree writes files below a new root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func information(model, uuid, minor, excluded string) string {
	return "Model: \t\t " + model + "\nIRQ:   \t\t 127\nGPU UUID: \t " + uuid + "\nVideo BIOS: \t 92.00.45.00.06\nBus Type: \t PCIe\n" +
		"DMA Size: \t 47 bits\nBus Location: \t 0000:00:00.0\nDevice Minor: \t " + minor + "\nGPU Firmware: \t 550.54.15\nGPU Excluded:\t " + excluded + "\n"
}

// machine is a stand-in for the files of a machine with three GPUs, of which
// one is cut into parts and one is excluded.
func machine(t *testing.T) string {
	return tree(t, map[string]string{
		"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n" +
			"GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
		"proc/driver/nvidia/gpus/0000:65:00.0/information":         information("NVIDIA A100-SXM4-40GB", "GPU-11111111-2222-3333-4444-555555555555", "1", "No"),
		"proc/driver/nvidia/gpus/0000:07:00.0/information":         information("NVIDIA A100-SXM4-40GB", "GPU-00000000-2222-3333-4444-555555555555", "0", "No"),
		"proc/driver/nvidia/gpus/0000:b1:00.0/information":         information("NVIDIA H100 80GB HBM3", "GPU-????????-????-????-????-????????????", "2", "Yes"),
		"proc/driver/nvidia/gpus/0000:ff:00.0/information":         "",
		"proc/driver/nvidia/capabilities/gpu1/mig/gi2/ci0/access":  "DeviceFileMinor: 22\n",
		"proc/driver/nvidia/capabilities/gpu1/mig/gi11/ci1/access": "DeviceFileMinor: 97\n",
		"proc/driver/nvidia/capabilities/gpu1/mig/gi11/ci0/access": "DeviceFileMinor: 96\n",
		"sys/bus/pci/devices/0000:07:00.0/numa_node":               "1\n",
		"sys/bus/pci/devices/0000:07:00.0/current_link_speed":      "16.0 GT/s PCIe\n",
		"sys/bus/pci/devices/0000:07:00.0/max_link_speed":          "16.0 GT/s PCIe\n",
		"sys/bus/pci/devices/0000:07:00.0/current_link_width":      "8\n",
		"sys/bus/pci/devices/0000:07:00.0/max_link_width":          "16\n",
		"sys/bus/pci/devices/0000:65:00.0/numa_node":               "-1\n",
		"sys/bus/pci/devices/0000:65:00.0/current_link_speed":      "2.5 GT/s PCIe\n",
		"sys/bus/pci/devices/0000:65:00.0/max_link_speed":          "32.0 GT/s PCIe\n",
		"sys/bus/pci/devices/0000:65:00.0/current_link_width":      "16\n",
		"sys/bus/pci/devices/0000:65:00.0/max_link_width":          "16\n",
	})
}

func TestKernelFiles(t *testing.T) {
	r := &Reader{Root: machine(t)}
	rep := Report{}
	r.readKernel(&rep)
	for i := range rep.GPUs {
		rep.GPUs[i].complain()
	}
	minor := func(n int) *int { return &n }
	want := Report{DriverVersion: "550.54.15", GPUs: []GPU{
		{UUID: "GPU-00000000-2222-3333-4444-555555555555", Name: "NVIDIA A100-SXM4-40GB", PCI: "0000:07:00.0", NUMANode: 1, Minor: minor(0),
			PCIe:       &PCIe{Generation: 4, Width: 8, MaxGeneration: 4, MaxWidth: 16, BytesPS: 8 * 16e9 / 8 * 128 / 130},
			Complaints: []string{"its PCIe link has 8 of 16 lanes: copies are slower than they could be"}},
		{UUID: "GPU-11111111-2222-3333-4444-555555555555", Name: "NVIDIA A100-SXM4-40GB", PCI: "0000:65:00.0", NUMANode: -1, Minor: minor(1),
			PCIe: &PCIe{Generation: 1, Width: 16, MaxGeneration: 5, MaxWidth: 16, BytesPS: 4e9},
			MIG: &MIG{Enabled: true, Instances: []Part{
				{GPUInstance: 2, ComputeInstance: 0}, {GPUInstance: 11, ComputeInstance: 0}, {GPUInstance: 11, ComputeInstance: 1}}}},
		{Name: "NVIDIA H100 80GB HBM3", PCI: "0000:b1:00.0", NUMANode: -1, Minor: minor(2), Excluded: true,
			Complaints: []string{"the kernel module's settings exclude it (NVreg_ExcludedGpus)"}},
	}}
	if !reflect.DeepEqual(rep, want) {
		t.Errorf("read\n%+v\nwant\n%+v", rep, want)
	}
	if got := rep.UUIDs(); !slices.Equal(got, []string{"GPU-00000000-2222-3333-4444-555555555555", "GPU-11111111-2222-3333-4444-555555555555", ""}) {
		t.Errorf("UUIDs %q", got)
	}
	if g := rep.ByUUID("", "0000:65:00.0"); g == nil || g.UUID != want.GPUs[1].UUID {
		t.Errorf("ByUUID of a PCI address found %+v", g)
	}
	if g := rep.ByUUID("GPU-no", "0000:99:00.0"); g != nil {
		t.Errorf("ByUUID of nothing found %+v", g)
	}
}

func TestNoGPU(t *testing.T) {
	rep := (&Reader{Root: t.TempDir()}).Read(t.Context())
	if len(rep.GPUs) != 0 || rep.GPUs == nil || rep.DriverVersion != "" {
		t.Errorf("an empty machine: %+v", rep)
	}
}

func TestNormalPCI(t *testing.T) {
	for in, want := range map[string]string{
		"00000000:65:00.0": "0000:65:00.0", "0000:B1:00.0": "0000:b1:00.0", "00010000:01:02.3": "10000:01:02.3",
		"": "", "65:00.0": "", "0000:65:00.8": "", "0000:65:00.0\n": "", "../../etc": "",
	} {
		if got := NormalPCI(in); got != want {
			t.Errorf("NormalPCI(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLinkBytes(t *testing.T) {
	for _, c := range []struct {
		generation, width int
		low, high         float64
	}{{1, 16, 4e9, 4e9}, {3, 16, 15.7e9, 15.8e9}, {4, 16, 31.5e9, 31.6e9}, {5, 16, 63e9, 63.1e9}, {6, 16, 120e9, 122e9}, {0, 16, 0, 0}, {9, 1, 0, 0}, {3, 0, 0, 0}} {
		if got := LinkBytes(c.generation, c.width); got < c.low || got > c.high {
			t.Errorf("PCIe generation %d with %d lanes carries %g bytes/s, want %g to %g", c.generation, c.width, got, c.low, c.high)
		}
	}
}

func TestThrottleReasons(t *testing.T) {
	if got := throttleReasons(1 | 4 | 64); !slices.Equal(got, []string{reasonIdle, reasonPowerCap, reasonHot}) {
		t.Errorf("reasons %q", got)
	}
	if got := throttleReasons(0); got == nil || len(got) != 0 {
		t.Errorf("no reason: %#v", got)
	}
}

func TestComplaints(t *testing.T) {
	celsius, calm, hard := 95, []string{reasonIdle, reasonDisplay}, []string{reasonIdle, reasonPowerCap, reasonHot}
	for _, c := range []struct {
		g    GPU
		want []string
	}{
		{GPU{Throttle: &calm, PCIe: &PCIe{Generation: 1, Width: 16, MaxGeneration: 4, MaxWidth: 16}, ECC: &ECC{Corrected: 5}}, nil},
		{GPU{Throttle: &hard}, []string{"it runs slower than it could: power cap, hot (hardware)"}},
		{GPU{Temperature: &celsius}, []string{"it is 95 degrees Celsius hot"}},
		{GPU{ECC: &ECC{Uncorrected: 2, RemapPending: true, RemapFailures: true}}, []string{
			"2 uncorrected memory errors since the driver was loaded: results may be wrong, reset it (nvidia-smi -r)",
			"memory rows wait for replacement: reset it (nvidia-smi -r)", "memory rows could not be replaced: it needs repair"}},
		{GPU{NVLinks: []NVLink{{Link: 0, Active: true}, {Link: 1}}}, []string{"NVLink 1 down"}},
		{GPU{NVLinks: []NVLink{{Link: 0}, {Link: 1}}}, nil}, // no bridge is plugged in
	} {
		if c.g.complain(); !slices.Equal(c.g.Complaints, c.want) {
			t.Errorf("complaints %q, want %q", c.g.Complaints, c.want)
		}
	}
}

func TestXid(t *testing.T) {
	for code, want := range map[int]Xid{
		79: {Code: 79, Text: "the GPU has fallen off the bus", Fatal: true},
		13: {Code: 13, Text: "a kernel went wrong (illegal address or instruction)"},
		7:  {Code: 7, Text: "Xid 7"},
	} {
		x := Xid{Code: code}
		if describeXid(&x); x != want {
			t.Errorf("Xid %d is %+v, want %+v", code, x, want)
		}
	}
}

func TestHugeFile(t *testing.T) {
	root := tree(t, map[string]string{"proc/driver/nvidia/version": strings.Repeat("x", 3*maxFile)})
	if got := len((&Reader{Root: root}).readFile("proc/driver/nvidia/version")); got != maxFile {
		t.Errorf("read %d bytes of a file that is too large, want %d", got, maxFile)
	}
}

// TestSlow: what does not answer in time is left out and said.
func TestSlow(t *testing.T) {
	r := &Reader{Root: machine(t)}
	cause := errors.New("the user is impatient")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	// Both ways out of the wait are open: which one is taken does not matter,
	// but what the kernel says is always there.
	if rep := r.Read(ctx); len(rep.GPUs) < 3 || rep.NVML.Used && len(rep.GPUs) < 3 {
		t.Errorf("%d GPUs after an ended context, want 3", len(rep.GPUs))
	}
}
