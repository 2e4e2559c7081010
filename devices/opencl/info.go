package opencl

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// traits are what the driver itself needs to know of a device beyond Info.
type traits struct {
	cpu           bool // its memory is the host's, coherent at any time
	opencl2       bool // takes the calls of OpenCL 2.0
	partition     bool // clCreateSubDevices, by counts
	partitionEven bool // clCreateSubDevices, equally
	maxParameters int  // bytes of arguments of one kernel
	widens        bool // launches have to be kept from PoCL's fault
}

// fact reads the properties of one device. What a device does not know is the
// zero value: an old driver answers newer questions with an error.
type fact struct {
	api *api
	dev uintptr
}

func (f fact) bytes(param uint32) []byte {
	b, code := f.api.query(f.api.getDeviceInfo, param, f.dev)
	if code != success {
		return nil
	}
	return b
}

func (f fact) text(param uint32) string { return text(f.bytes(param)) }

// number reads an integer of whatever width the device answers with.
func (f fact) number(param uint32) int64 { return number(f.bytes(param)) }

func (f fact) flag(param uint32) bool { return f.number(param) != 0 }

// sizes reads a list of size_t.
func (f fact) sizes(param uint32) []int {
	b := f.bytes(param)
	var list []int
	for ; len(b) >= 8; b = b[8:] {
		list = append(list, int(binary.NativeEndian.Uint64(b)))
	}
	return list
}

// text cuts a C string at its end and trims it: some drivers pad names.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.TrimSpace(string(b))
}

func number(b []byte) int64 {
	switch {
	case len(b) >= 8:
		return int64(binary.NativeEndian.Uint64(b))
	case len(b) >= 4:
		return int64(binary.NativeEndian.Uint32(b))
	}
	return 0
}

// platformFact reads a text property of a platform.
func platformFact(a *api, platform uintptr, param uint32) string {
	b, code := a.query(a.getPlatformInfo, param, platform)
	if code != success {
		return ""
	}
	return text(b)
}

// describe reads what a device says of itself. ID, Ordinal and PhysicalID of
// a device that is neither the host's cores nor on the PCI bus are the
// caller's to fill in.
func describe(a *api, dev uintptr, p platform) (devices.Info, traits) {
	f := fact{a, dev}
	kind := f.number(deviceType)
	info := devices.Info{
		Backend:       backend,
		Kind:          kindOf(kind, p.name),
		Name:          f.text(deviceName),
		Vendor:        f.text(deviceVendor),
		Platform:      p.name,
		DriverVersion: f.text(driverVersion),
		APIVersion:    f.text(deviceVersion),
		NUMANode:      -1,
		ComputeUnits:  int(f.number(deviceMaxComputeUnits)),
		ClockMHz:      int(f.number(deviceMaxClockFrequency)),
		MemoryTotal:   f.number(deviceGlobalMemSize),
		MaxAlloc:      f.number(deviceMaxMemAllocSize),
		LocalMemory:   f.number(deviceLocalMemSize),
		UnifiedMemory: f.flag(deviceHostUnifiedMemory),
		BaseAlign:     int(f.number(deviceMemBaseAddrAlign) / 8), // OpenCL counts bits
		MaxWorkGroup:  int(f.number(deviceMaxWorkGroupSize)),
		NonUniform:    f.flag(deviceNonUniformWorkGroups),
		Extensions:    strings.Fields(f.text(deviceExtensions)),
	}
	slices.Sort(info.Extensions)
	has := func(ext string) bool { _, ok := slices.BinarySearch(info.Extensions, ext); return ok }
	copy(info.MaxItemSizes[:], f.sizes(deviceMaxWorkItemSizes))
	info.FP64 = has("cl_khr_fp64") || f.flag(deviceDoubleFPConfig)
	info.FP16 = has("cl_khr_fp16")
	info.SubGroupSizes = subGroupSizes(f)
	if uuid := f.bytes(deviceUUID); has("cl_khr_device_uuid") && len(uuid) == 16 && !allZero(uuid) {
		info.UUID = formatUUID(uuid)
	}

	major, minor := apiVersion(info.APIVersion)
	t := traits{
		cpu:           kind&deviceTypeCPU != 0 || emulation(p.name),
		opencl2:       major >= 2,
		maxParameters: int(f.number(deviceMaxParameterSize)),
		widens:        widens(p.name, p.version),
	}
	if major > 1 || minor >= 2 {
		for _, how := range f.sizes(devicePartitionProperties) {
			t.partition = t.partition || how == partitionByCounts
			t.partitionEven = t.partitionEven || how == partitionEqually
		}
	}
	if t.partition || t.partitionEven {
		info.SubDevices = int(f.number(devicePartitionMaxSub))
	}

	if f.flag(deviceCompilerAvailable) {
		info.Languages = append(info.Languages, devices.LangOpenCL)
	}
	if strings.Contains(f.text(deviceILVersion), "SPIR-V") && a.createProgramForIL != 0 {
		info.Languages = append(info.Languages, devices.LangSPIRV)
	}
	info.Languages = append(info.Languages, devices.LangBinary)

	switch info.Kind {
	case devices.KindCPU:
		info.PhysicalID, info.Queues = "cpu:0", 2
		if strings.HasPrefix(p.name, "Intel(R) OpenCL") {
			// Its runtime begins the work of a second queue beside the first's
			// only when one of its threads happens to look for some.
			info.Queues = 1
		}
	case devices.KindGPU:
		info.Queues = 4
	case devices.KindFPGA:
		info.Queues, info.Concurrent, info.Emulated = concurrentKernels, concurrentKernels, emulation(p.name)
	default:
		info.Queues = 1
	}
	info.HostCoherent = t.cpu && info.UnifiedMemory
	if !t.cpu {
		if info.PCI = pciAddress(f, has); info.PCI != "" {
			info.PhysicalID = "pci:" + info.PCI
			info.NUMANode = numaNode("/sys", info.PCI)
		}
		info.CopyEngines = int(f.number(deviceAsyncEnginesNV))
	}
	return info, t
}

// kindOf maps the device type. FPGA platforms call themselves accelerators.
func kindOf(t int64, platformName string) devices.Kind {
	switch {
	case t&deviceTypeCPU != 0:
		return devices.KindCPU
	case t&deviceTypeGPU != 0:
		return devices.KindGPU
	case strings.Contains(platformName, "FPGA") || strings.Contains(platformName, "Xilinx"):
		return devices.KindFPGA
	}
	return devices.KindAccelerator
}

var versionPattern = regexp.MustCompile(`^OpenCL (?:C )?(\d+)\.(\d+)`)

// apiVersion reads "OpenCL 3.0 PoCL ...".
func apiVersion(s string) (major, minor int) {
	m := versionPattern.FindStringSubmatch(s)
	if m == nil {
		return 1, 0
	}
	major, _ = strconv.Atoi(m[1])
	minor, _ = strconv.Atoi(m[2])
	return major, minor
}

// subGroupSizes asks each vendor's question.
func subGroupSizes(f fact) []int {
	if sizes := f.sizes(deviceSubGroupSizesIntel); len(sizes) > 0 {
		return sizes
	}
	for _, param := range []uint32{deviceWarpSizeNV, deviceWavefrontWidthAMD} {
		if n := f.number(param); n > 0 {
			return []int{int(n)}
		}
	}
	return nil
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

func formatUUID(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// pciAddress is the device's place on the PCI bus, "0000:65:00.0", by the
// Khronos extension or by the vendor's own; "" where nobody says.
func pciAddress(f fact, has func(string) bool) string {
	format := func(domain, bus, dev, fn int64) string { return fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, dev, fn) }
	if b := f.bytes(devicePCIBusInfo); has("cl_khr_pci_bus_info") && len(b) >= 16 {
		return format(number(b[0:4]), number(b[4:8]), number(b[8:12]), number(b[12:16]))
	}
	if has("cl_nv_device_attribute_query") {
		if slot := f.bytes(devicePCISlotNV); len(slot) >= 4 {
			// The slot holds device and function as in the PCI specification.
			n := number(slot)
			return format(f.number(devicePCIDomainNV), f.number(devicePCIBusNV), n>>3, n&7)
		}
	}
	if b := f.bytes(deviceTopologyAMD); has("cl_amd_device_attribute_query") && len(b) >= 24 && number(b[0:4]) == 1 {
		// cl_device_topology_amd: type, 17 unused bytes, bus, device, function.
		return format(0, int64(b[21]), int64(b[22]), int64(b[23]))
	}
	return ""
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
