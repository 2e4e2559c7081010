package sim_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sim"
)

const everything = `# a machine
version: 1
devices:
  - name: big
    kind: accelerator
    count: 2
    compute_units: 80
    queues: 3
    flops: 10Tflop/s
    bandwidth: 800 GB/s
    launch_latency: 5us
    memory: 1.5GiB
    max_alloc: 512MiB
    local_memory: 48KiB
    copy_engines: 2
    h2d: {latency: 10us, bandwidth: 12GB/s}
    d2h:
      latency: 20 us
      bandwidth: 1_000_000
    peer: {bandwidth: 40e9}
    kernels:
      gemm: {flops_per_item: 2048, bytes_per_item: 12B}
      nop: {time: 1ms}
      "*": {items_per_second: 2G}
    slowdown: 1.5
    throttle: [{from: 5ms, to: 10ms, factor: 3}]
    noise: {spread: 0.05, seed: 7}
    lost_at: 12ms
    out_of_memory: [{from: 2ms, to: 3ms}]
  - {kind: cpu, unified: true}
`

func TestParse(t *testing.T) {
	got, err := sim.Parse("machine.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	want := sim.Description{Devices: []sim.Spec{{
		Name: "big", Kind: devices.KindAccelerator, Count: 2, ComputeUnits: 80, Queues: 3, Flops: 10e12, Bandwidth: 800e9,
		LaunchLatency: 5 * time.Microsecond, Memory: 3 << 29, MaxAlloc: 512 << 20, LocalMemory: 48 << 10, CopyEngines: 2,
		Upload:   devices.Link{Latency: 10 * time.Microsecond, Bandwidth: 12e9},
		Download: devices.Link{Latency: 20 * time.Microsecond, Bandwidth: 1e6}, Peer: &devices.Link{Bandwidth: 40e9},
		Kernels:  map[string]sim.KernelSpec{"gemm": {FlopsPerItem: 2048, BytesPerItem: 12}, "nop": {Time: ms}, "*": {ItemsPerSecond: 2e9}},
		Slowdown: 1.5, Throttle: []sim.Window{{From: 5 * ms, To: 10 * ms, Factor: 3}}, Noise: sim.Noise{Spread: 0.05, Seed: 7},
		LostAt: 12 * ms, OutOfMemory: []sim.Window{{From: 2 * ms, To: 3 * ms}},
	}, {Kind: devices.KindCPU, Unified: true}}}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("Parse gave\n%+v\nwant\n%+v", got, want)
	}
	d, err := sim.New(got)
	if err != nil {
		t.Fatal(err)
	}
	infos := d.Probe(t.Context()).Devices
	if len(infos) != 3 || infos[1].ID != "sim:1" || infos[1].Name != "big" || infos[2].Name != "cpu" || !infos[2].UnifiedMemory || infos[2].MemoryTotal != 1<<30 {
		t.Errorf("Probe gave %+v", infos)
	}
	if infos[0].DriverVersion != infos[1].DriverVersion || infos[0].DriverVersion == infos[2].DriverVersion {
		t.Errorf("versions %q, %q, %q: devices that are described alike have the same, others not", infos[0].DriverVersion, infos[1].DriverVersion, infos[2].DriverVersion)
	}
	c := d.Calibrations()["sim:1"]
	if c.Upload.Bandwidth != 12e9 || c.LaunchLatency != 5e-6 || c.PeakFlops != 10e12/1.5 || c.ZeroCopy {
		t.Errorf("calibration %+v", c)
	}
	file := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(file, []byte(everything), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, err := sim.Open(file); err != nil || len(d.Probe(t.Context()).Devices) != 3 {
		t.Errorf("Open of the same text: %v", err)
	}
	if _, err := sim.Open(file + "x"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "m.yamlx") {
		t.Errorf("Open of a missing file: %v", err)
	}
}

// TestFaults: everything that is wrong is told in one go, in order, with its
// place.
func TestFaults(t *testing.T) {
	text := `version: 2
device: []
devices:
  - kind: gpuu
    cuont: 2
    flops: fast
    memory: 1.5
    copy_engines: x
    name: [a]
  - launch_latency: 5
    count: 0
    unified: yes please
    lost_at: 1s
    lost_at: 2s
    kernels: {k: {tme: 1ms, items_per_second: 3GB/s}}
    throttle: {from: 1ms}
    h2d: &a {latency: -1us}
    noise:
`
	_, err := sim.Parse("m.yaml", []byte(text))
	if !errors.Is(err, devices.ErrInvalid) {
		t.Fatalf("err = %v, want ErrInvalid", err)
	}
	want := []string{
		`m.yaml:1:10: version: version 2; this program reads version 1`,
		`m.yaml:2:1: unknown key "device"; did you mean "devices"?`,
		`m.yaml:5:5: devices[0]: unknown key "cuont"; did you mean "count"?`,
		`m.yaml:6:12: devices[0].flops: "fast" is no rate; write it like 1.5Tflop/s`,
		`m.yaml:7:13: devices[0].memory: 1.5 bytes; want a whole number from 1 to 1125899906842624`,
		`m.yaml:8:19: devices[0].copy_engines: "x" is no whole number`,
		`m.yaml:9:11: devices[0].name: want text`,
		`m.yaml:10:21: devices[1].launch_latency: "5" is no time; write it with its unit, like 10us, 1.5ms or 2s`,
		`m.yaml:11:12: devices[1].count: 0; want at least 1`,
		`m.yaml:12:14: devices[1].unified: want true or false`,
		`m.yaml:14:5: devices[1]: the key "lost_at" is here twice, first in line 13`,
		`m.yaml:15:19: devices[1].kernels.k: unknown key "tme"; did you mean "time"?`,
		`m.yaml:15:47: devices[1].kernels.k.items_per_second: "3GB/s" is no rate; write it like 2e9`,
		`m.yaml:16:15: devices[1].throttle: want a list`,
		`m.yaml:17:10: devices[1].h2d: anchors, aliases and tags are not read here; write the value out`,
		`m.yaml:18:5: devices[1].noise: has no value`,
	}
	if got := strings.Split(err.Error(), "\n"); !reflect.DeepEqual(got, want) {
		t.Errorf("faults:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// Values that can be read but not be.
	_, err = sim.Parse("m.yaml", []byte(`devices:
  - kind: gpuu
    copy_engines: 3
    memory: 1MiB
    max_alloc: 2MiB
    throttle: [{from: 2ms, to: 1ms}, {from: 1ms, to: 5ms, factor: 2}]
    h2d: {latency: 2000h}
    slowdown: 1e9
`))
	want = []string{
		`m.yaml:2:11: devices[0].kind: unknown kind "gpuu"; want cpu, gpu, fpga or accelerator`,
		`m.yaml:3:19: devices[0].copy_engines: 3 copy engines; want 0 (copies take the compute engine), 1 or 2`,
		`m.yaml:5:16: devices[0].max_alloc: 2097152 bytes; want 1 to 1048576`,
		`m.yaml:6:16: devices[0].throttle[0].factor: a slow-down by 0; want more than 0, at most 1e+06`,
		`m.yaml:6:32: devices[0].throttle[0].to: the window from 2ms to 1ms is empty`,
		`m.yaml:7:20: devices[0].h2d.latency: a time of 2000h0m0s; want 0 to 1000h0m0s`,
		`m.yaml:8:15: devices[0].slowdown: a slow-down by 1e+09; want more than 0, at most 1e+06`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("faults:\n%v\nwant:\n%s", err, strings.Join(want, "\n"))
	}
	for text, want := range map[string]string{
		"":                         "m.yaml: the file is empty; it needs a list of devices",
		"devices: []":              "m.yaml:1:10: devices: no device is described",
		"devices: [":               "m.yaml:1:10: this is no YAML",
		"devices: 3":               "m.yaml:1:10: devices: want a list",
		"[1]":                      "m.yaml:1:1: want a mapping",
		"devices: [{}]\n---\na: 1": "a second document begins here",
	} {
		if _, err := sim.Parse("m.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want %q", text, err, want)
		}
	}
	if _, err := sim.New(sim.Description{Devices: []sim.Spec{{Flops: -1}}}); err == nil || err.Error() != "devices[0].flops: a rate of -1 per second; want 0 (takes no time) to 1e+18" {
		t.Errorf("New: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte("devices: [{memory: 1e99, throttle: [{from: 1ms}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := sim.Parse("m.yaml", text)
		if err != nil {
			if !errors.Is(err, devices.ErrInvalid) || err.Error() == "" {
				t.Fatalf("an error without a class or a text: %#v", err)
			}
			return
		}
		if _, err := sim.New(d); err != nil {
			t.Fatalf("Parse took what New does not: %v", err)
		}
	})
}
