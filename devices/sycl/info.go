package sycl

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// LangLibrary are functions of a shared library that submit to a sycl::queue
// themselves; the source's text is the library's bytes. See
// include/tandem/sycl.hpp.
const LangLibrary = devices.LangSYCLLibrary

// traits are what the driver itself needs to know of a device beyond Info.
type traits struct {
	index         int    // in the shim's list
	backEnd       string // "opencl", "level-zero", ...
	cpu           bool
	native        bool // the OpenCL back end, with its own calls
	systemUSM     bool // takes any memory of the host
	maxParameters int  // bytes of arguments of one kernel
}

// listed is a device that was found and not opened.
type listed struct {
	info   devices.Info
	traits traits
}

// listing is what the runtime shows at the moment.
type listing struct {
	devices  []listed
	unusable []string // devices that lack what the driver needs, and what that is
}

// list describes the devices that the driver can use. The error says that
// there are none.
func (l *library) list() (listing, error) {
	var found listing
	all, err := l.api.describe()
	if err != nil {
		return found, fmt.Errorf("%w: %w", err, &missingError{"the SYCL runtime cannot list its devices", "see what `sycl-ls` says"})
	}
	for i, f := range all {
		info, t := f.device()
		t.index = i
		if why := f.unusable(); why != "" {
			found.unusable = append(found.unusable, fmt.Sprintf("%s (%s) cannot be used through SYCL: %s", info.Name, info.Platform, why))
			continue
		}
		info.Ordinal = len(found.devices)
		info.ID = fmt.Sprintf("%s:%d", backend, info.Ordinal)
		if info.PhysicalID == "" {
			info.PhysicalID = fmt.Sprintf("%s:%s:%d", backend, info.Name, info.Ordinal)
		}
		if l.runtime.JIT == "" {
			info.Languages = slices.DeleteFunc(info.Languages, func(l devices.Language) bool { return l == devices.LangSYCL })
		}
		found.devices = append(found.devices, listed{info, t})
	}
	if len(found.devices) == 0 {
		what := fmt.Sprintf("the SYCL runtime %s shows no device that can be used", l.runtime.SYCL)
		if len(found.unusable) > 0 {
			what += " (" + strings.Join(found.unusable, "; ") + ")"
		}
		hint := "pip install intel-opencl-rt (the host's cores) into the runtime's environment, or the driver of the GPU"
		if l.runtime.IntelOpenCL != "" {
			hint = "check ONEAPI_DEVICE_SELECTOR, and that nothing loads another OpenCL library before the SYCL runtime"
		}
		return found, &missingError{what, hint}
	}
	return found, nil
}

func (f facts) number(key string) int64 {
	n, err := strconv.ParseInt(f[key], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (f facts) numbers(key string) []int {
	var list []int
	for _, word := range strings.Fields(f[key]) {
		if n, err := strconv.Atoi(word); err == nil {
			list = append(list, n)
		}
	}
	return list
}

func (f facts) flag(key string) bool { return f.number(key) != 0 }

// unusable says what the device lacks, "" for nothing.
func (f facts) unusable() string {
	if !f.flag("usm_device") {
		return "it has no unified shared memory, so nothing can be allocated on it"
	}
	return ""
}

// device reads what a device says of itself.
func (f facts) device() (devices.Info, traits) {
	t := traits{
		backEnd:       f["backend"],
		cpu:           f["kind"] == string(devices.KindCPU),
		native:        f.flag("native"),
		systemUSM:     f.flag("usm_system"),
		maxParameters: int(f.number("max_parameters")),
	}
	unified, known := f["unified"]
	info := devices.Info{
		Backend:       backend,
		Kind:          devices.Kind(f["kind"]),
		Name:          f["name"],
		Vendor:        f["vendor"],
		Platform:      f["platform"],
		DriverVersion: f["driver"],
		APIVersion:    "SYCL 2020 on " + f["backend"],
		UUID:          formatUUID(f["uuid"]),
		PCI:           strings.ToLower(f["pci"]),
		NUMANode:      -1,
		ComputeUnits:  int(f.number("units")),
		ClockMHz:      int(f.number("clock_mhz")),
		MemoryTotal:   f.number("memory"),
		MaxAlloc:      f.number("max_alloc"),
		LocalMemory:   f.number("local_memory"),
		UnifiedMemory: unified == "1" || !known && t.cpu,
		BaseAlign:     int(f.number("base_align_bits") / 8),
		FP64:          f.flag("fp64"),
		FP16:          f.flag("fp16"),
		MaxWorkGroup:  int(f.number("max_group")),
		SubGroupSizes: f.numbers("sub_groups"),
		Extensions:    strings.Fields(f["extensions"]),
	}
	slices.Sort(info.Extensions)
	copy(info.MaxItemSizes[:], f.numbers("max_items"))
	// A CPU's work on the host's pages goes through the host's caches.
	info.HostCoherent = t.cpu && t.systemUSM
	if f.flag("builds_opencl") || t.native && f.flag("compiler") {
		info.Languages = append(info.Languages, devices.LangOpenCL)
	}
	if f.flag("builds_spirv") && (!t.native || f["il"] != "") {
		info.Languages = append(info.Languages, devices.LangSPIRV)
	}
	if f.flag("builds_sycl") {
		info.Languages = append(info.Languages, devices.LangSYCL)
	}
	info.Languages = append(info.Languages, LangLibrary)
	switch info.Kind {
	case devices.KindCPU:
		// Intel's CPU runtime begins the work of a second queue beside that of
		// the first only when one of its threads happens to look for some; one
		// kernel takes all cores anyway.
		info.PhysicalID, info.Queues = "cpu:0", 1
	case devices.KindGPU:
		info.Queues = 4
	default:
		info.Kind, info.Queues = devices.KindAccelerator, 1
	}
	if info.PCI != "" && !t.cpu {
		info.PhysicalID = "pci:" + info.PCI
		info.NUMANode = numaNode("/sys", info.PCI)
	}
	return info, t
}

// formatUUID writes 32 hexadecimal digits in groups; "" for anything else and
// for zeros.
func formatUUID(h string) string {
	if len(h) != 32 || strings.Trim(h, "0") == "" {
		return ""
	}
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// numaNode reads the NUMA node of a PCI device below the given root of sysfs;
// -1: none or not known.
func numaNode(sysfs, pci string) int {
	if runtime.GOOS != "linux" {
		return -1
	}
	b, err := os.ReadFile(filepath.Join(sysfs, "bus/pci/devices", pci, "numa_node"))
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return -1
	}
	return n
}
