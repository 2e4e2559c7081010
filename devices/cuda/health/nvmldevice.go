//go:build nvml && cgo

package health

import (
	"cmp"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// asker asks NVML about one GPU. What a GPU does not tell is left out.
type asker struct {
	lib nvml.Interface
	dev nvml.Device
}

func (a *asker) fill(g *GPU) {
	if name, code := a.dev.GetName(); code == nvml.SUCCESS {
		g.Name = name
	}
	if minor, code := a.dev.GetMinorNumber(); code == nvml.SUCCESS {
		g.Minor = &minor
	}
	if u, code := a.dev.GetUtilizationRates(); code == nvml.SUCCESS {
		g.Utilization = &Utilization{Compute: int(u.Gpu), Memory: int(u.Memory)}
	}
	if m, code := a.dev.GetMemoryInfo(); code == nvml.SUCCESS {
		g.Memory = &Memory{Total: int64(m.Total), Used: int64(m.Used), Free: int64(m.Free)}
	}
	if t, code := a.dev.GetTemperature(nvml.TEMPERATURE_GPU); code == nvml.SUCCESS {
		celsius := int(t)
		g.Temperature = &celsius
	}
	if mw, code := a.dev.GetPowerUsage(); code == nvml.SUCCESS {
		g.Power = &Power{Draw: float64(mw) / 1000}
		if limit, code := a.dev.GetEnforcedPowerLimit(); code == nvml.SUCCESS {
			g.Power.Limit = float64(limit) / 1000
		}
	}
	g.Clocks = a.clocks()
	g.ECC = a.ecc()
	g.Throttle = a.throttle()
	if p := a.link(); p != nil {
		g.PCIe = p
	}
	g.NVLinks = a.nvlinks()
	if m := a.parts(); m != nil {
		g.MIG = m
	}
	g.Processes = a.processes()
}

func (a *asker) clocks() *Clocks {
	sm, code := a.dev.GetClockInfo(nvml.CLOCK_SM)
	if code != nvml.SUCCESS {
		return nil
	}
	c := &Clocks{SM: int(sm)}
	if v, code := a.dev.GetClockInfo(nvml.CLOCK_MEM); code == nvml.SUCCESS {
		c.Memory = int(v)
	}
	if v, code := a.dev.GetMaxClockInfo(nvml.CLOCK_SM); code == nvml.SUCCESS {
		c.MaxSM = int(v)
	}
	if v, code := a.dev.GetMaxClockInfo(nvml.CLOCK_MEM); code == nvml.SUCCESS {
		c.MaxMemory = int(v)
	}
	return c
}

func (a *asker) ecc() *ECC {
	current, _, code := a.dev.GetEccMode()
	if code != nvml.SUCCESS {
		return nil
	}
	e := &ECC{Enabled: current == nvml.FEATURE_ENABLED}
	if n, code := a.dev.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_CORRECTED, nvml.VOLATILE_ECC); code == nvml.SUCCESS {
		e.Corrected = int64(n)
	}
	if n, code := a.dev.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); code == nvml.SUCCESS {
		e.Uncorrected = int64(n)
	}
	if has(a.lib, "nvmlDeviceGetRemappedRows") {
		if _, _, pending, failed, code := a.dev.GetRemappedRows(); code == nvml.SUCCESS {
			e.RemapPending, e.RemapFailures = pending, failed
		}
	}
	return e
}

func (a *asker) throttle() *[]string {
	ask := a.dev.GetCurrentClocksThrottleReasons
	if has(a.lib, "nvmlDeviceGetCurrentClocksEventReasons") { // its newer name
		ask = a.dev.GetCurrentClocksEventReasons
	}
	mask, code := ask()
	if code != nvml.SUCCESS {
		return nil
	}
	list := throttleReasons(mask)
	return &list
}

func (a *asker) link() *PCIe {
	generation, code := a.dev.GetCurrPcieLinkGeneration()
	if code != nvml.SUCCESS {
		return nil
	}
	width, code := a.dev.GetCurrPcieLinkWidth()
	if code != nvml.SUCCESS {
		return nil
	}
	p := &PCIe{Generation: generation, Width: width, BytesPS: LinkBytes(generation, width)}
	if v, code := a.dev.GetMaxPcieLinkGeneration(); code == nvml.SUCCESS {
		p.MaxGeneration = v
	}
	if v, code := a.dev.GetMaxPcieLinkWidth(); code == nvml.SUCCESS {
		p.MaxWidth = v
	}
	return p
}

func (a *asker) nvlinks() []NVLink {
	var list []NVLink
	for i := range nvml.NVLINK_MAX_LINKS {
		state, code := a.dev.GetNvLinkState(i)
		if code != nvml.SUCCESS {
			break // there are no more, or none at all
		}
		l := NVLink{Link: i, Active: state == nvml.FEATURE_ENABLED}
		if v, code := a.dev.GetNvLinkVersion(i); code == nvml.SUCCESS {
			l.Version = int(v)
		}
		if peer, code := a.dev.GetNvLinkRemotePciInfo(i); l.Active && code == nvml.SUCCESS {
			l.Peer = NormalPCI(text(peer.BusId[:]))
		}
		list = append(list, l)
	}
	return list
}

func (a *asker) parts() *MIG {
	current, _, code := a.dev.GetMigMode()
	if code != nvml.SUCCESS {
		return nil // cannot be cut
	}
	m := &MIG{Enabled: current == nvml.DEVICE_MIG_ENABLE}
	if !m.Enabled {
		return m
	}
	most, code := a.dev.GetMaxMigDeviceCount()
	if code != nvml.SUCCESS {
		return m
	}
	for i := range most {
		part, code := a.dev.GetMigDeviceHandleByIndex(i)
		if code != nvml.SUCCESS {
			continue // numbers may have gaps
		}
		p := Part{}
		p.UUID, _ = part.GetUUID()
		p.Name, _ = part.GetName()
		p.GPUInstance, _ = part.GetGpuInstanceId()
		p.ComputeInstance, _ = part.GetComputeInstanceId()
		if attributes, code := part.GetAttributes(); code == nvml.SUCCESS {
			p.ComputeUnits, p.MemoryBytes = int(attributes.MultiprocessorCount), int64(attributes.MemorySizeMB)<<20
		}
		m.Instances = append(m.Instances, p)
	}
	return m
}

func (a *asker) processes() []Process {
	var list []Process
	for kind, ask := range map[string]func() ([]nvml.ProcessInfo, nvml.Return){
		"compute": a.dev.GetComputeRunningProcesses, "graphics": a.dev.GetGraphicsRunningProcesses,
	} {
		found, code := ask()
		if code != nvml.SUCCESS {
			continue
		}
		for _, p := range found {
			q := Process{PID: int(p.Pid), Kind: kind, GPUInstance: instance(p.GpuInstanceId), ComputeInstance: instance(p.ComputeInstanceId)}
			if p.UsedGpuMemory != ^uint64(0) { // all ones: it does not say
				q.MemoryBytes = int64(p.UsedGpuMemory)
			}
			list = append(list, q)
		}
	}
	sortProcesses(list)
	return list
}

func sortProcesses(list []Process) {
	slices.SortFunc(list, func(a, b Process) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Kind, b.Kind)) })
}
