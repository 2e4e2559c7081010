package cuda

import (
	"bytes"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// program is a loaded module together with what its kernels' launches need to
// know of the source.
type program struct {
	d         *device
	src       *devices.Source
	module    uintptr          // CUmodule
	ptx       []byte           // nil: there is machine code only
	entries   []entry          // empty: not known
	ranged    bool             // made by the bridge: kernels take their range as a last parameter
	refused   map[string]error // by the bridge, by kernel
	log       string
	time      time.Duration
	fromCache bool
	closed    atomic.Bool
	kernels   atomic.Int64 // open ones, and one for the program itself

	mu      sync.Mutex
	uses    *ragged.Scan       // of OpenCL C
	windows map[string]uintptr // CUfunction by symbol
	modules []uintptr          // of windows
}

// build makes a program of a source in any language.
func (d *device) build(src *devices.Source) (*program, error) {
	if len(src.Text) == 0 {
		return nil, d.compileError(src, "", fmt.Errorf("the source is empty: %w", devices.ErrInvalid))
	}
	p := &program{d: d, src: src}
	var image []byte
	switch src.Language {
	case devices.LangPTX:
		p.ptx, image = src.Text, src.Text
	case devices.LangBinary:
		if err := checkImage(src.Text); err != nil {
			return nil, d.compileError(src, "", err)
		}
		image = src.Text
	default:
		var err error
		if image, err = d.compile(p); err != nil {
			return nil, err
		}
	}
	if p.ptx != nil && p.entries == nil { // not the bridge's
		var err error
		if p.entries, err = parsePTX(p.ptx); err != nil {
			return nil, d.compileError(src, "", fmt.Errorf("%w: %w", err, devices.ErrInvalid))
		}
	}
	start := time.Now()
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	module, log, err := d.load(image)
	if err != nil {
		if d.lostErr() != nil {
			return nil, err
		}
		return nil, d.compileError(src, log, err)
	}
	p.module, p.time = module, p.time+time.Since(start)
	p.log = joinLogs(p.log, log)
	if p.ptx == nil && len(p.entries) == 0 {
		p.entries = d.enumerate(module)
	}
	p.kernels.Store(1)
	d.open[kindProgram].Add(1)
	return p, nil
}

func joinLogs(a, b string) string {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if a != "" && b != "" {
		return a + "\n" + b
	}
	return a + b
}

// logBytes is how much the driver's own compiler may say.
const logBytes = 64 << 10

// load loads PTX, a cubin or a fatbin. The context is current.
func (d *device) load(image []byte) (module uintptr, log string, err error) {
	// PTX is a C string, and the other two are read to the end their headers
	// tell.
	image = append(slices.Clip(image), make([]byte, 16)...)
	info, bad := make([]byte, logBytes), make([]byte, logBytes)
	var pin goruntime.Pinner
	defer pin.Unpin()
	pin.Pin(&info[0])
	pin.Pin(&bad[0])
	// A size is passed in the place of a pointer.
	options := []int32{jitInfoLog, jitInfoLogBytes, jitErrorLog, jitErrorLogBytes}
	values := []uintptr{uintptr(unsafe.Pointer(&info[0])), logBytes, uintptr(unsafe.Pointer(&bad[0])), logBytes}
	out := new(uintptr)
	code := d.api.call(d.api.moduleLoad, uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(&image[0])), uintptr(len(options)),
		uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	log = joinLogs(cText(bad), cText(info))
	if code != success {
		return 0, log, d.fail(code, "cuModuleLoadDataEx(%d bytes)", len(image)-16)
	}
	return *out, log, nil
}

// cText is the C string in b.
func cText(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// enumerate lists the functions of a module of machine code, where the driver
// tells. The context is current.
func (d *device) enumerate(module uintptr) []entry {
	a := d.api
	if a.moduleFunctionCount == 0 || a.moduleEnumerate == 0 || a.funcName == 0 {
		return nil
	}
	n := new(uint32)
	if a.call(a.moduleFunctionCount, uintptr(unsafe.Pointer(n)), module) != success || *n == 0 || *n > 1<<16 {
		return nil
	}
	functions := make([]uintptr, *n)
	if a.call(a.moduleEnumerate, uintptr(unsafe.Pointer(&functions[0])), uintptr(*n), module) != success {
		return nil
	}
	var list []entry
	for _, f := range functions {
		name := new(uintptr)
		params, known := d.parameters(f)
		if a.call(a.funcName, uintptr(unsafe.Pointer(name)), f) != success || *name == 0 || !known {
			return nil
		}
		symbol := dl.Text(*name)
		list = append(list, entry{symbol: symbol, name: plainName(symbol), params: params, groups: true})
	}
	return list
}

// usageOf is what a kernel can see of how its work-items are grouped.
func (p *program) usageOf(k *kernel) ragged.Usage {
	if p.uses != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.uses.Of(k.entry)
	}
	for i := range p.entries {
		if e := &p.entries[i]; e.symbol == k.symbol && !e.groups && p.ptx != nil {
			// It takes its place from its block's number, so a local size that
			// divides range and offset is better than a window.
			return ragged.GroupID
		}
	}
	return ragged.Groups | ragged.GroupID
}

// window is the function of the variant of a kernel that has a window. The
// context is current. The error says why there is none.
func (p *program) window(symbol string) (uintptr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fn := p.windows[symbol]; fn != 0 {
		return fn, nil
	}
	i := slices.IndexFunc(p.entries, func(e entry) bool { return e.symbol == symbol })
	if i < 0 {
		return 0, errors.New("its text is not known")
	}
	if p.entries[i].groups {
		return 0, errors.New("its threads work together in blocks, which would be incomplete")
	}
	text, err := windowed(p.ptx, &p.entries[i])
	if err != nil {
		return 0, err
	}
	module, log, err := p.d.load(text)
	if err != nil {
		return 0, fmt.Errorf("%w (%s)", err, firstLine(log))
	}
	fn, code := p.d.function(module, symbol)
	if code != success {
		p.d.api.call(p.d.api.moduleUnload, module)
		return 0, p.d.fail(code, "cuModuleGetFunction(%s)", symbol)
	}
	if p.windows == nil {
		p.windows = map[string]uintptr{}
	}
	p.windows[symbol] = fn
	p.modules = append(p.modules, module)
	return fn, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// list prints names, "a, b, c".
func list(names []string) string { return strings.Join(names, ", ") }

// compileError is the error of a source that does not build.
func (d *device) compileError(src *devices.Source, log string, err error) error {
	name := src.Name
	if name == "" {
		name = "source"
	}
	return &devices.CompileError{Source: name, Device: d.info.ID, Log: log, Err: err}
}

// Log implements devices.Program.
func (p *program) Log() string { return p.log }

// Close implements devices.Program. Kernels made from the program stay usable.
func (p *program) Close() error {
	if !p.closed.CompareAndSwap(false, true) {
		return nil
	}
	p.d.open[kindProgram].Add(-1)
	return p.letGo()
}

// letGo unloads the modules when neither the program nor a kernel of it is
// open any more.
func (p *program) letGo() error {
	if p.kernels.Add(-1) > 0 || p.d.lostErr() != nil {
		return nil
	}
	p.d.aux.mu.Lock()
	defer p.d.aux.mu.Unlock()
	if p.d.aux.stream == 0 {
		return nil // the device is closed
	}
	if err := p.d.enter(); err != nil {
		return err
	}
	defer p.d.leave()
	for _, m := range append(p.modules, p.module) {
		if code := p.d.api.call(p.d.api.moduleUnload, m); code != success {
			return p.d.fail(code, "cuModuleUnload(%s)", p.src.Name)
		}
	}
	return nil
}
