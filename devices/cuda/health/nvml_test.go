//go:build nvml && cgo

package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh200"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"

	"github.com/tandemrun/tandem/devices"
)

// complete gives a mock server's GPUs answers to the questions that it leaves
// open: those of GPU i are made of i.
func complete(s *server.Server) *server.Server {
	for i, dev := range s.Devices {
		d := dev.(*server.Device)
		d.UUID = fmt.Sprintf("GPU-%08d-0000-0000-0000-000000000000", i)
		bus := fmt.Sprintf("00000000:%02X:00.0", 0xa0+i)
		d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) {
			var p nvml.PciInfo
			for j, c := range bus {
				p.BusId[j] = int8(c)
			}
			return p, nvml.SUCCESS
		}
		d.MemoryInfo.Used = 1 << 30
		d.MemoryInfo.Free = d.MemoryInfo.Total - d.MemoryInfo.Used
		d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) {
			return nvml.Utilization{Gpu: uint32(10 + i), Memory: uint32(i)}, nvml.SUCCESS
		}
		d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return uint32(30 + i), nvml.SUCCESS }
		d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return uint32(61500 + i), nvml.SUCCESS }
		d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return 400000, nvml.SUCCESS }
		d.GetClockInfoFunc = func(c nvml.ClockType) (uint32, nvml.Return) { return uint32(1000 + 10*int(c)), nvml.SUCCESS }
		d.GetMaxClockInfoFunc = func(c nvml.ClockType) (uint32, nvml.Return) { return uint32(2000 + 10*int(c)), nvml.SUCCESS }
		d.GetEccModeFunc = func() (nvml.EnableState, nvml.EnableState, nvml.Return) {
			return nvml.FEATURE_ENABLED, nvml.FEATURE_ENABLED, nvml.SUCCESS
		}
		d.GetTotalEccErrorsFunc = func(kind nvml.MemoryErrorType, _ nvml.EccCounterType) (uint64, nvml.Return) {
			if kind == nvml.MEMORY_ERROR_TYPE_CORRECTED {
				return uint64(3 * i), nvml.SUCCESS
			}
			return 0, nvml.SUCCESS
		}
		d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 0, 0, false, false, nvml.SUCCESS }
		d.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return nvml.ClocksEventReasonSwPowerCap, nvml.SUCCESS }
		d.GetCurrPcieLinkGenerationFunc = func() (int, nvml.Return) { return 4, nvml.SUCCESS }
		d.GetCurrPcieLinkWidthFunc = func() (int, nvml.Return) { return 16, nvml.SUCCESS }
		d.GetMaxPcieLinkGenerationFunc = func() (int, nvml.Return) { return 4, nvml.SUCCESS }
		d.GetMaxPcieLinkWidthFunc = func() (int, nvml.Return) { return 16, nvml.SUCCESS }
		d.GetNvLinkStateFunc = func(link int) (nvml.EnableState, nvml.Return) {
			if link >= 12 {
				return 0, nvml.ERROR_INVALID_ARGUMENT
			}
			if link == 5 && i == 1 {
				return nvml.FEATURE_DISABLED, nvml.SUCCESS
			}
			return nvml.FEATURE_ENABLED, nvml.SUCCESS
		}
		d.GetNvLinkVersionFunc = func(int) (uint32, nvml.Return) { return 3, nvml.SUCCESS }
		d.GetNvLinkRemotePciInfoFunc = func(link int) (nvml.PciInfo, nvml.Return) {
			var p nvml.PciInfo
			for j, c := range fmt.Sprintf("00000000:%02X:00.0", 0xc4+link) {
				p.BusId[j] = int8(c)
			}
			return p, nvml.SUCCESS
		}
		d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{
				{Pid: 4242, UsedGpuMemory: 1 << 30, GpuInstanceId: ^uint32(0), ComputeInstanceId: ^uint32(0)},
				{Pid: 17, UsedGpuMemory: ^uint64(0), GpuInstanceId: 2, ComputeInstanceId: 0},
			}, nvml.SUCCESS
		}
		d.GetGraphicsRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_NOT_SUPPORTED }
	}
	return s
}

func reader(lib nvml.Interface, root string) *Reader {
	r := &Reader{Root: root}
	r.nvml.library = lib
	return r
}

func TestMockServers(t *testing.T) {
	for name, c := range map[string]struct {
		s       *server.Server
		model   string
		memory  int64
		version string
	}{
		"dgxa100": {dgxa100.New(), "NVIDIA A100-SXM4-40GB", 40 << 30, "12.550.54.15"},
		"dgxh100": {dgxh100.New(), "NVIDIA H100 80GB HBM3", 80 << 30, "12.550.54.15"},
		"dgxh200": {dgxh200.New(), "NVIDIA H200", 141 << 30, "12.550.54.15"},
	} {
		t.Run(name, func(t *testing.T) {
			rep := reader(complete(c.s), t.TempDir()).Read(t.Context())
			if !rep.NVML.Used || rep.NVML.Version != c.version || len(rep.GPUs) != 8 {
				t.Fatalf("NVML %+v, %d GPUs; want version %s and 8", rep.NVML, len(rep.GPUs), c.version)
			}
			for i, g := range rep.GPUs {
				if g.UUID != fmt.Sprintf("GPU-%08d-0000-0000-0000-000000000000", i) || g.PCI != fmt.Sprintf("0000:%02x:00.0", 0xa0+i) || *g.Minor != i {
					t.Errorf("GPU %d is %s at %s, minor %d", i, g.UUID, g.PCI, *g.Minor)
				}
				if !strings.Contains(g.Name, c.model) || g.Memory.Total != c.memory || g.Memory.Used != 1<<30 || g.Memory.Free != c.memory-1<<30 {
					t.Errorf("GPU %d is a %s with %+v, want %s with %d bytes", i, g.Name, *g.Memory, c.model, c.memory)
				}
				if *g.Utilization != (Utilization{10 + i, i}) || *g.Temperature != 30+i || *g.Clocks != (Clocks{1010, 1020, 2010, 2020}) {
					t.Errorf("GPU %d: utilisation %+v, temperature %d, clocks %+v", i, *g.Utilization, *g.Temperature, *g.Clocks)
				}
				if want := float64(61500+i) / 1000; g.Power.Draw != want || g.Power.Limit != 400 {
					t.Errorf("GPU %d: power %+v, want %v of 400 W", i, *g.Power, want)
				}
				if *g.ECC != (ECC{Enabled: true, Corrected: int64(3 * i)}) || !slices.Equal(*g.Throttle, []string{reasonPowerCap}) {
					t.Errorf("GPU %d: ECC %+v, throttle %q", i, *g.ECC, *g.Throttle)
				}
				if *g.PCIe != (PCIe{4, 16, 4, 16, LinkBytes(4, 16)}) {
					t.Errorf("GPU %d: PCIe %+v", i, *g.PCIe)
				}
				if len(g.NVLinks) != 12 || g.NVLinks[7] != (NVLink{7, true, 3, "0000:cb:00.0"}) {
					t.Errorf("GPU %d: NVLinks %+v", i, g.NVLinks)
				}
				complaints := []string{"it runs slower than it could: power cap"}
				if i == 1 {
					complaints = append(complaints, "NVLink 5 down")
				}
				if !slices.Equal(g.Complaints, complaints) {
					t.Errorf("GPU %d complains %q, want %q", i, g.Complaints, complaints)
				}
				if g.MIG == nil || g.MIG.Enabled || len(g.MIG.Instances) != 0 {
					t.Errorf("GPU %d: MIG %+v, want off", i, g.MIG)
				}
				two := 2
				zero := 0
				want := []Process{{PID: 17, Kind: "compute", GPUInstance: &two, ComputeInstance: &zero}, {PID: 4242, Kind: "compute", MemoryBytes: 1 << 30}}
				if len(g.Processes) != 2 || g.Processes[0].PID != 17 || *g.Processes[0].GPUInstance != 2 || g.Processes[0].MemoryBytes != 0 || g.Processes[1] != want[1] {
					t.Errorf("GPU %d: processes %+v, want %+v", i, g.Processes, want)
				}
			}
		})
	}
}

// partsOf makes MIG devices of the GPU instances that the mock has, as the
// driver does: each compute instance is one.
func partsOf(d *server.Device) {
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(index int) (nvml.Device, nvml.Return) {
		var all []*server.GpuInstance
		for gi := range d.GpuInstances {
			all = append(all, gi)
		}
		slices.SortFunc(all, func(a, b *server.GpuInstance) int { return int(a.Info.Id) - int(b.Info.Id) })
		if index >= len(all) {
			return nil, nvml.ERROR_NOT_FOUND
		}
		gi := all[index]
		profile := d.Config.MIGProfiles.GpuInstanceProfiles[int(gi.Info.ProfileId)]
		return &mock.Device{
			GetUUIDFunc: func() (string, nvml.Return) { return fmt.Sprintf("MIG-%08d", gi.Info.Id), nvml.SUCCESS },
			GetNameFunc: func() (string, nvml.Return) {
				return fmt.Sprintf("%s MIG %dg", d.Config.Name, profile.SliceCount), nvml.SUCCESS
			},
			GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return int(gi.Info.Id), nvml.SUCCESS },
			GetComputeInstanceIdFunc: func() (int, nvml.Return) { return 0, nvml.SUCCESS },
			GetAttributesFunc: func() (nvml.DeviceAttributes, nvml.Return) {
				return nvml.DeviceAttributes{MultiprocessorCount: profile.MultiprocessorCount, MemorySizeMB: profile.MemorySizeMB}, nvml.SUCCESS
			},
		}, nvml.SUCCESS
	}
}

func TestMIG(t *testing.T) {
	s := complete(dgxa100.New())
	d := s.Devices[3].(*server.Device)
	d.SetMigMode(nvml.DEVICE_MIG_ENABLE)
	for _, profile := range []int{nvml.GPU_INSTANCE_PROFILE_3_SLICE, nvml.GPU_INSTANCE_PROFILE_1_SLICE, nvml.GPU_INSTANCE_PROFILE_1_SLICE} {
		info, code := d.GetGpuInstanceProfileInfo(profile)
		if code != nvml.SUCCESS {
			t.Fatal(code)
		}
		if _, code := d.CreateGpuInstance(&info); code != nvml.SUCCESS {
			t.Fatal(code)
		}
	}
	partsOf(d)
	rep := reader(s, t.TempDir()).Read(t.Context())
	g := rep.GPUs[3]
	if g.MIG == nil || !g.MIG.Enabled || len(g.MIG.Instances) != 3 {
		t.Fatalf("MIG %+v, want 3 instances", g.MIG)
	}
	p := g.MIG.Instances
	if p[0].ComputeUnits != 42 || p[1].ComputeUnits != 14 || p[0].MemoryBytes <= p[1].MemoryBytes || p[0].UUID != "MIG-00000000" || p[2].GPUInstance != 2 || !strings.HasSuffix(p[0].Name, "MIG 3g") {
		t.Errorf("instances %+v, want 42, 14 and 14 compute units", p)
	}
	if found := rep.ByUUID("MIG-00000002", ""); found == nil || found.UUID != g.UUID {
		t.Errorf("the part's UUID leads to %+v, want %s", found, g.UUID)
	}
	if list := rep.UUIDs(); len(list) != 11 || list[8] != "MIG-00000000" {
		t.Errorf("UUIDs %q, want 8 GPUs and then 3 parts", list)
	}
}

// TestMerge: what the kernel's files say and what NVML says is one GPU.
func TestMerge(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/driver/nvidia/gpus/0000:a0:00.0/information": information("NVIDIA A100", "GPU-00000000-0000-0000-0000-000000000000", "0", "No"),
		"proc/driver/nvidia/gpus/0000:a1:00.0/information": information("NVIDIA A100", "GPU-????????-????-????-????-????????????", "1", "No"),
		"proc/driver/nvidia/gpus/0000:ee:00.0/information": information("NVIDIA A100", "GPU-99999999-0000-0000-0000-000000000000", "9", "Yes"),
		"sys/bus/pci/devices/0000:a0:00.0/numa_node":       "1\n",
	})
	rep := reader(complete(dgxa100.New()), root).Read(t.Context())
	if len(rep.GPUs) != 9 {
		t.Fatalf("%d GPUs, want the 8 of NVML and the excluded one", len(rep.GPUs))
	}
	if g := rep.ByUUID("GPU-00000000-0000-0000-0000-000000000000", ""); g.NUMANode != 1 || g.Memory == nil {
		t.Errorf("the first GPU has NUMA node %d and memory %v, want 1 and NVML's", g.NUMANode, g.Memory)
	}
	if g := rep.ByUUID("GPU-00000001-0000-0000-0000-000000000000", ""); g == nil || g.PCI != "0000:a1:00.0" {
		t.Errorf("the GPU whose UUID the module did not know is %+v", g)
	}
	if g := rep.ByUUID("GPU-99999999-0000-0000-0000-000000000000", ""); g == nil || !g.Excluded || g.Memory != nil {
		t.Errorf("the excluded GPU is %+v", g)
	}
}

func TestNVMLFails(t *testing.T) {
	s := complete(dgxa100.New())
	s.InitFunc = func() nvml.Return { return nvml.ERROR_LIB_RM_VERSION_MISMATCH }
	s.ErrorStringFunc = func(r nvml.Return) string { return "mismatch" }
	rep := reader(s, machine(t)).Read(t.Context())
	if rep.NVML.Used || !strings.Contains(rep.NVML.Hint, "reboot") || len(rep.GPUs) != 3 {
		t.Errorf("NVML %+v and %d GPUs, want a hint and the kernel's 3", rep.NVML, len(rep.GPUs))
	}
	var unavailable *UnavailableError
	if err := reader(s, "").Watch(t.Context(), func(Xid) {}); !errors.As(err, &unavailable) || !errors.Is(err, devices.ErrUnavailable) {
		t.Errorf("Watch: %v", err)
	}
}

func TestXidStream(t *testing.T) {
	s := complete(dgxh100.New())
	for i, dev := range s.Devices {
		d := dev.(*server.Device)
		d.GetSupportedEventTypesFunc = func() (uint64, nvml.Return) { return nvml.EventTypeXidCriticalError, nvml.SUCCESS }
		d.RegisterEventsFunc = func(types uint64, _ nvml.EventSet) nvml.Return {
			if types != nvml.EventTypeXidCriticalError {
				t.Errorf("GPU %d: events %#x", i, types)
			}
			return nvml.SUCCESS
		}
	}
	none := ^uint32(0)
	script := []struct {
		data nvml.EventData
		code nvml.Return
	}{
		{nvml.EventData{}, nvml.ERROR_TIMEOUT},
		{nvml.EventData{Device: s.Devices[2], EventType: nvml.EventTypeXidCriticalError, EventData: 31, GpuInstanceId: 5, ComputeInstanceId: 1}, nvml.SUCCESS},
		{nvml.EventData{Device: s.Devices[6], EventType: nvml.EventTypeXidCriticalError, EventData: 48, GpuInstanceId: none, ComputeInstanceId: none}, nvml.SUCCESS},
		{nvml.EventData{}, nvml.ERROR_GPU_IS_LOST},
	}
	cause := errors.New("seen enough")
	ctx, stop := context.WithCancelCause(t.Context())
	at, freed := 0, 0
	s.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) {
		return &mock.EventSet{
			WaitFunc: func(uint32) (nvml.EventData, nvml.Return) {
				if at == len(script) {
					stop(cause)
					return nvml.EventData{}, nvml.ERROR_TIMEOUT
				}
				at++
				return script[at-1].data, script[at-1].code
			},
			FreeFunc: func() nvml.Return { freed++; return nvml.SUCCESS },
		}, nvml.SUCCESS
	}
	var got []Xid
	if err := reader(s, "").Watch(ctx, func(x Xid) { got = append(got, x) }); !errors.Is(err, cause) {
		t.Fatalf("Watch ended with %v, want %v", err, cause)
	}
	if len(got) != 3 || freed != 1 {
		t.Fatalf("%d events, set freed %d times; want 3 and once", len(got), freed)
	}
	if x := got[0]; x.Code != 31 || x.UUID != "GPU-00000002-0000-0000-0000-000000000000" || *x.GPUInstance != 5 || *x.ComputeInstance != 1 || x.Fatal {
		t.Errorf("first event %+v", x)
	}
	if x := got[1]; x.Code != 48 || x.GPUInstance != nil || !x.Fatal || x.Text != "an uncorrectable error in memory (double-bit ECC)" {
		t.Errorf("second event %+v", x)
	}
	if x := got[2]; x.Code != 79 || x.UUID != "" || !x.Fatal {
		t.Errorf("third event %+v", x)
	}
}
