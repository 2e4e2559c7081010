package sycl

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// shimABI is the version of the shim's ABI that this package speaks.
const shimABI = 2

// api is the function table of a loaded shim. Each function is described in
// shim/shim.cpp.
type api struct {
	lib *dl.Library

	abi, version, start, list, open, close                uintptr
	textData, textSize, textFree                          uintptr
	alloc, free                                           uintptr
	queue, queueFree, flush, finish                       uintptr
	copy, marker, launch, call                            uintptr
	eventStatus, eventWait, eventNotify, completed        uintptr
	eventTimes, eventFree, eventsFree                     uintptr
	build, programFree, programLog                        uintptr
	programNames, programBinary, kernel, kernelFree, info uintptr
}

// bind looks every function up and checks the ABI's version.
func bind(lib *dl.Library) (*api, error) {
	a := &api{lib: lib}
	for _, f := range []struct {
		name string
		addr *uintptr
	}{
		{"abi", &a.abi}, {"version", &a.version}, {"start", &a.start}, {"list", &a.list}, {"open", &a.open}, {"close", &a.close},
		{"text_data", &a.textData}, {"text_size", &a.textSize}, {"text_free", &a.textFree},
		{"alloc", &a.alloc}, {"free", &a.free},
		{"queue", &a.queue}, {"queue_free", &a.queueFree}, {"flush", &a.flush}, {"finish", &a.finish},
		{"copy", &a.copy}, {"marker", &a.marker}, {"launch", &a.launch}, {"call", &a.call},
		{"event_status", &a.eventStatus}, {"event_wait", &a.eventWait}, {"event_notify", &a.eventNotify},
		{"completed", &a.completed}, {"event_times", &a.eventTimes}, {"event_free", &a.eventFree},
		{"events_free", &a.eventsFree},
		{"build", &a.build}, {"program_free", &a.programFree}, {"program_log", &a.programLog},
		{"program_names", &a.programNames}, {"program_binary", &a.programBinary},
		{"kernel", &a.kernel}, {"kernel_free", &a.kernelFree}, {"kernel_info", &a.info},
	} {
		addr, err := lib.Lookup("tandem_sycl_" + f.name)
		if err != nil {
			return nil, fmt.Errorf("sycl: %w: the shim does not fit this program: %w", err, devices.ErrUnavailable)
		}
		*f.addr = addr
	}
	if v := int32(dl.Call(a.abi)); v != shimABI {
		return nil, fmt.Errorf("sycl: %s speaks version %d of the shim's ABI, this program version %d: %w", lib.Path(), v, shimABI, devices.ErrUnavailable)
	}
	return a, nil
}

// runtimeVersion is "9.0": what the shim was compiled against.
func (a *api) runtimeVersion() string {
	v := int32(dl.Call(a.version))
	return fmt.Sprintf("libsycl %d.%d", v>>16, v&0xffff)
}

// errorBlock is the shim's Error.
type errorBlock struct {
	status, native int32
	text           [1016]byte
}

func (e *errorBlock) message() string {
	text := e.text[:]
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(string(text))
}

// text takes a text of the shim's.
func (a *api) text(handle uint64) string {
	n := int(dl.Call(a.textSize, uintptr(handle)))
	p := dl.Call(a.textData, uintptr(handle))
	var s string
	if n > 0 {
		// The address is C's: reading it through its own memory keeps the
		// garbage collector out of it.
		s = string(unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n))
	}
	dl.Call(a.textFree, uintptr(handle))
	return s
}

// ask calls a function that gives a text of an object.
func (a *api) ask(fn uintptr, object uint64, call string) (string, error) {
	text, e := new(uint64), new(errorBlock)
	if code := int32(dl.Call(fn, uintptr(object), uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(e)))); code != statusOK {
		return "", failed(e, "%s", call)
	}
	return a.text(*text), nil
}

// describe lists the devices as the shim describes them.
func (a *api) describe() ([]facts, error) {
	text, e := new(uint64), new(errorBlock)
	if code := int32(dl.Call(a.list, uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(e)))); code != statusOK {
		return nil, failed(e, "list of devices")
	}
	var all []facts
	for block := range strings.SplitSeq(a.text(*text), "\n\n") {
		if f := readFacts(block); len(f) > 0 {
			all = append(all, f)
		}
	}
	return all, nil
}

// facts are the shim's lines of "key<tab>value". Of keys that appear more than
// once each value is kept, separated by a line end.
type facts map[string]string

func readFacts(text string) facts {
	f := facts{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if !ok {
			continue
		}
		if old, again := f[key]; again {
			value = old + "\n" + value
		}
		f[key] = value
	}
	return f
}
