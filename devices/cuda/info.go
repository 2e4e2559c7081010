package cuda

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/health"
)

// traits are what the driver itself needs to know of a device beyond Info.
type traits struct {
	major, minor int  // compute capability
	cudaVersion  int  // of the driver, 12040 for 12.4
	integrated   bool // shares the host's memory
	hostRegister bool // can work on the host's pages once they are registered
	pools        bool // has stream-ordered memory pools
	sharedStatic int  // bytes of shared memory that need no asking for
	compilers    *compilers
}

// describe reads what the driver says of a device, without a context on it.
// ID, Ordinal, versions and languages are the caller's to fill in.
func (a *api) describe(dev int32) listed {
	ask := func(which uintptr) int { return a.attribute(dev, which) }
	t := traits{
		major: ask(attrMajor), minor: ask(attrMinor),
		integrated:   ask(attrIntegrated) != 0,
		hostRegister: ask(attrCanMapHost) != 0 && ask(attrUnifiedAddressing) != 0,
		pools:        a.pools() && ask(attrMemoryPools) != 0,
		sharedStatic: ask(attrSharedPerBlock),
	}
	total := new(uint64)
	a.call(a.deviceTotalMem, uintptr(unsafe.Pointer(total)), uintptr(dev))
	info := devices.Info{
		Backend:       backend,
		Kind:          devices.KindGPU,
		Name:          a.deviceText(a.deviceGetName, dev),
		Vendor:        "NVIDIA",
		Platform:      "CUDA",
		NUMANode:      -1,
		ComputeUnits:  ask(attrMultiprocessors),
		ClockMHz:      ask(attrClockRateKHz) / 1000,
		MemoryTotal:   int64(*total),
		MaxAlloc:      int64(*total),
		LocalMemory:   int64(max(ask(attrSharedOptIn), t.sharedStatic)),
		UnifiedMemory: t.integrated,
		BaseAlign:     max(ask(attrTextureAlignment), 256),
		FP64:          true,
		FP16:          t.major > 5 || t.major == 5 && t.minor >= 3,
		MaxWorkGroup:  ask(attrMaxThreadsPerBlock),
		CopyEngines:   ask(attrAsyncEngines),
		Queues:        1,
	}
	if ask(attrConcurrentKernels) != 0 {
		info.Queues = 4
	}
	for d := range info.MaxItemSizes {
		info.MaxItemSizes[d] = ask(attrMaxBlockDimX + uintptr(d))
	}
	if w := ask(attrWarpSize); w > 0 {
		info.SubGroupSizes = []int{w}
	}
	info.UUID = a.uuid(dev, info.Name)
	info.PCI = health.NormalPCI(a.deviceText(a.deviceGetPCIBusID, dev))
	switch {
	case info.PCI != "":
		info.PhysicalID = "pci:" + info.PCI
		info.NUMANode = numaNode("/sys", info.PCI)
	case info.UUID != "":
		info.PhysicalID = backend + ":" + info.UUID
	default:
		info.PhysicalID = fmt.Sprintf("%s:%s#%d", backend, info.Name, dev)
	}
	info.Extensions = extensions(ask, t)
	return listed{handle: dev, info: info, traits: t}
}

// extensions are what a device can do beyond the others, in the words of its
// driver; sorted.
func extensions(ask func(uintptr) int, t traits) []string {
	list := []string{fmt.Sprintf("compute_%d%d", t.major, t.minor)}
	for _, e := range []struct {
		name string
		is   bool
	}{
		{"ecc", ask(attrECC) != 0},
		{"host_register", t.hostRegister},
		{"integrated", t.integrated},
		{"kernel_timeout", ask(attrKernelTimeout) != 0},
		{"managed_memory", ask(attrManagedMemory) != 0},
		{"memory_pools", t.pools},
		{"pageable_memory_access", ask(attrPageableAccess) != 0},
		{"tcc", ask(attrTCC) != 0},
		{"unified_addressing", ask(attrUnifiedAddressing) != 0},
	} {
		if e.is {
			list = append(list, e.name)
		}
	}
	return list
}

// deviceText asks one of the functions (buffer, length, device).
func (a *api) deviceText(fn uintptr, dev int32) string {
	b := make([]byte, 256)
	if a.call(fn, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(dev)) != success {
		return ""
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.TrimSpace(string(b))
}

// uuid is the device's name for life, as nvidia-smi prints it. A part of a GPU
// (MIG) has one of its own.
func (a *api) uuid(dev int32, name string) string {
	b := new([16]byte)
	if a.call(a.deviceGetUUID, uintptr(unsafe.Pointer(b)), uintptr(dev)) != success || *b == [16]byte{} {
		return ""
	}
	prefix := "GPU-"
	if strings.Contains(name, " MIG ") {
		prefix = "MIG-"
	}
	h := hex.EncodeToString(b[:])
	return prefix + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// numaNode reads the NUMA node of a PCI device below the given root of sysfs;
// -1: none or not known.
func numaNode(sysfs, pci string) int {
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

var modulePattern = regexp.MustCompile(`(?m)^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s`)

// moduleVersion is the version of the kernel module, which is the one that a
// driver package carries, below the given root of procfs; "" where there is
// none.
func moduleVersion(proc string) string {
	b, err := os.ReadFile(filepath.Join(proc, "driver/nvidia/version"))
	if err != nil {
		return ""
	}
	if m := modulePattern.FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return ""
}
