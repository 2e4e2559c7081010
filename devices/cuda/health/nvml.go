//go:build nvml && cgo

package health

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Built reports whether this program can ask NVML.
const Built = true

// nvmlReader asks NVML.
type nvmlReader struct {
	mu      sync.Mutex
	library nvml.Interface // nil: the system's, made at first use; tests have one of their own
	started bool
}

// start loads NVML. A failure is tried again at the next call: a driver may be
// loaded in between.
func (n *nvmlReader) start() (nvml.Interface, *UnavailableError) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.library == nil {
		n.library = nvml.New()
	}
	if n.started {
		return n.library, nil
	}
	if code := n.library.Init(); code != nvml.SUCCESS {
		e := &UnavailableError{Reason: "nvmlInit: " + codeText(code), Hint: "see what nvidia-smi says"}
		switch code {
		case nvml.ERROR_LIBRARY_NOT_FOUND:
			e.Hint = "libnvidia-ml.so.1 comes with NVIDIA's driver; in a container: run it with --gpus all"
		case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
			e.Hint = "library and kernel module are of different versions: reboot or reload the module after an update"
		}
		return nil, e
	}
	n.started = true
	return n.library, nil
}

func codeText(code nvml.Return) string { return fmt.Sprintf("%v (%d)", code, int32(code)) }

// has reports whether the library has a function. One that is called and not
// there ends the process.
func has(lib nvml.Interface, symbol string) bool {
	return lib.Extensions().LookupSymbol(symbol) == nil
}

// read adds what NVML knows to gpus, and returns nil where it knows nothing.
func (n *nvmlReader) read(gpus []GPU) (Source, []GPU) {
	lib, failed := n.start()
	if failed != nil {
		return Source{Reason: failed.Reason, Hint: failed.Hint}, nil
	}
	source := Source{Used: true}
	source.Version, _ = lib.SystemGetNVMLVersion()
	count, code := lib.DeviceGetCount()
	if code != nvml.SUCCESS {
		return Source{Version: source.Version, Reason: "nvmlDeviceGetCount: " + codeText(code), Hint: "see what nvidia-smi says"}, nil
	}
	for i := range count {
		dev, code := lib.DeviceGetHandleByIndex(i)
		if code != nvml.SUCCESS {
			continue // lost, or no permission: the kernel's files have said what they know
		}
		uuid, code := dev.GetUUID()
		if code != nvml.SUCCESS {
			continue
		}
		pci := ""
		if info, code := dev.GetPciInfo(); code == nvml.SUCCESS {
			pci = NormalPCI(text(info.BusId[:]))
		}
		at := -1
		for j := range gpus {
			if gpus[j].UUID == uuid || gpus[j].UUID == "" && pci != "" && gpus[j].PCI == pci {
				at = j
			}
		}
		if at < 0 {
			gpus = append(gpus, GPU{NUMANode: -1})
			at = len(gpus) - 1
		}
		g := &gpus[at]
		g.UUID = uuid
		if pci != "" {
			g.PCI = pci
		}
		(&asker{lib, dev}).fill(g)
	}
	return source, gpus
}

// text reads a C string.
func text(c []int8) string {
	b := make([]byte, 0, len(c))
	for _, v := range c {
		if v == 0 {
			break
		}
		b = append(b, byte(v))
	}
	return string(b)
}

// Watch calls got for every Xid event of every GPU until ctx ends, and then
// returns its cause. got is called on the calling goroutine.
func (r *Reader) Watch(ctx context.Context, got func(Xid)) error {
	lib, failed := r.nvml.start()
	if failed != nil {
		return failed
	}
	set, code := lib.EventSetCreate()
	if code != nvml.SUCCESS {
		return &UnavailableError{Reason: "nvmlEventSetCreate: " + codeText(code), Hint: "events need a driver for Linux"}
	}
	defer set.Free()
	count, _ := lib.DeviceGetCount()
	registered := 0
	for i := range count {
		dev, code := lib.DeviceGetHandleByIndex(i)
		if code != nvml.SUCCESS {
			continue
		}
		supported, code := dev.GetSupportedEventTypes()
		if code != nvml.SUCCESS || supported&nvml.EventTypeXidCriticalError == 0 {
			continue
		}
		if dev.RegisterEvents(nvml.EventTypeXidCriticalError, set) == nvml.SUCCESS {
			registered++
		}
	}
	if registered == 0 {
		return &UnavailableError{Reason: "no GPU reports Xid events", Hint: "the kernel's log has them: dmesg | grep Xid"}
	}
	// NVML's wait cannot be interrupted, so it is a short one.
	const waitMilliseconds = 250
	for ctx.Err() == nil {
		data, code := set.Wait(waitMilliseconds)
		switch code {
		case nvml.SUCCESS:
			if data.EventType&nvml.EventTypeXidCriticalError != 0 {
				got(xidOf(data))
			}
		case nvml.ERROR_TIMEOUT:
		case nvml.ERROR_GPU_IS_LOST:
			// It has no UUID any more, and it is the worst there is.
			x := Xid{Code: 79, At: time.Now()}
			describeXid(&x)
			got(x)
		default:
			return &UnavailableError{Reason: "nvmlEventSetWait: " + codeText(code), Hint: "see what nvidia-smi says"}
		}
	}
	return context.Cause(ctx)
}

func xidOf(data nvml.EventData) Xid {
	x := Xid{Code: int(data.EventData), At: time.Now()}
	if data.Device != nil {
		x.UUID, _ = data.Device.GetUUID()
	}
	x.GPUInstance, x.ComputeInstance = instance(data.GpuInstanceId), instance(data.ComputeInstanceId)
	describeXid(&x)
	return x
}

// instance reads the number of a part; NVML has all ones for none.
func instance(id uint32) *int {
	if id == ^uint32(0) {
		return nil
	}
	n := int(id)
	return &n
}
