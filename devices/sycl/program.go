package sycl

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/internal/buildlog"
	"github.com/tandemrun/tandem/devices/internal/compilation"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/ragged"
	"github.com/tandemrun/tandem/devices/sycl/freefunc"
)

// The shim's languages.
const (
	langOpenCL     = 1
	langSPIRV      = 2
	langBinary     = 3
	langSYCL       = 4
	langSYCLBinary = 5
)

// buildBlock is the shim's Build.
type buildBlock struct {
	language, options  int32
	text, size, option uintptr
	names, _           int32
	name               uintptr
}

// program is a built program together with what its kernels' launches need to
// know of the source.
type program struct {
	d        *device
	src      *devices.Source
	built    built
	sealed   bool // there is no source to build for a geometry
	library  *userLibrary
	specials ragged.Builds[uint64] // programs, by geometry
	closed   atomic.Bool

	functions []freefunc.Function // of SYCL C++

	mu    sync.Mutex
	uses  *ragged.Scan // of a source
	fixed ragged.Usage // of a binary
}

// built is the result of one compilation.
type built struct {
	handle    uint64 // of the shim; 0 for a library
	log       string
	params    map[string]string // by entry, in the shim's words
	entries   []string
	time      time.Duration
	fromCache bool
}

// buildMeta is what is kept of a build beside its binary: programs made from
// a binary do not know their parameters' names.
type buildMeta struct {
	Params map[string]string `json:",omitempty"`
}

// argInfoOption makes the compiler keep the parameters' names.
const argInfoOption = "-cl-kernel-arg-info"

// build makes a program of a source in any language.
func (d *device) build(src *devices.Source) (*program, error) {
	if len(src.Text) == 0 {
		return nil, d.compileError(src, "", fmt.Errorf("the source is empty: %w", devices.ErrInvalid))
	}
	p := &program{d: d, src: src}
	if src.Language == LangLibrary {
		lib, err := d.openUserLibrary(src)
		if err != nil {
			return nil, err
		}
		p.library, p.fixed, p.sealed = lib, ragged.None, true
		d.open[kindProgram].Add(1)
		return p, nil
	}
	kept := *src
	kept.Text = compilation.Named(src)
	b, err := d.compile(&kept)
	if err != nil {
		return nil, err
	}
	p.built = b
	switch src.Language {
	case devices.LangOpenCL:
		p.uses = ragged.OpenCL(string(src.Text))
	case devices.LangSYCL:
		p.functions = freefunc.Functions(string(src.Text))
		p.built.entries = freefunc.Kernels(p.functions)
		p.uses, p.sealed = ragged.SYCL(string(src.Text)), true
	default:
		p.fixed, p.sealed = ragged.SPIRV(src.Text), true
	}
	d.open[kindProgram].Add(1)
	return p, nil
}

// usageOf is what the kernel with the given entry uses.
func (p *program) usageOf(entry string) ragged.Usage {
	if p.uses == nil {
		return p.fixed
	}
	if i := strings.LastIndex(entry, "::"); i >= 0 {
		entry = entry[i+2:]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.uses.Of(entry)
}

// compile builds a source, or takes the build from the cache. The text is
// complete: nothing is added to it.
func (d *device) compile(src *devices.Source) (built, error) {
	options := slices.Clone(src.Options)
	var names []string
	language, kept := int32(langOpenCL), int32(langBinary)
	cached := d.traits.native
	switch src.Language {
	case devices.LangOpenCL:
		if d.traits.native && !slices.Contains(options, argInfoOption) {
			options = append(options, argInfoOption)
		}
	case devices.LangSPIRV:
		language = langSPIRV
	case devices.LangSYCL:
		language, kept, cached = langSYCL, langSYCLBinary, true
		// Kernels that are extern "C" are found by their names as they are. Of a
		// program with others, which have to be asked for, the runtime does not
		// give the binary.
		for _, f := range freefunc.Functions(string(src.Text)) {
			if f.Kernel() && !f.ExternC {
				names, cached = append(names, f.Name), false
			}
		}
	}
	key := buildcache.MakeKey("sycl build 1", string(src.Language), string(src.Text), strings.Join(options, "\x00"),
		d.info.Platform, d.info.Name, d.info.Vendor, d.info.DriverVersion, fmt.Sprint(d.info.ComputeUnits), d.traits.backEnd,
		d.api.runtimeVersion(), stamp(d.lib.runtime.SYCL), stamp(d.lib.runtime.JIT))
	if e, ok := d.cache.Get(key); cached && ok {
		// A binary that the runtime does not take any more is built again.
		if b, err := d.buildText(src, kept, e.Binary, options, nil); err == nil {
			var meta buildMeta
			if json.Unmarshal(e.Meta, &meta) == nil && len(meta.Params) > 0 {
				b.params = meta.Params
			}
			b.log, b.time, b.fromCache = e.Log, 0, true
			return b, nil
		}
	}
	b, err := d.buildText(src, language, src.Text, options, names)
	if err != nil {
		return built{}, err
	}
	if cached {
		if binary, err := d.api.ask(d.api.programBinary, b.handle, "binary"); err == nil && binary != "" {
			if meta, err := json.Marshal(buildMeta{b.params}); err == nil {
				d.cache.Put(key, buildcache.Entry{Binary: []byte(binary), Log: b.log, Meta: meta})
			}
		}
	}
	return b, nil
}

// pinStrings makes a list of zero-terminated strings that stays where it is
// until the pinner lets go. It returns its address.
func pinStrings(pin *goruntime.Pinner, list []string) uintptr {
	pointers := make([]*byte, len(list)+1)
	pin.Pin(&pointers[0])
	for i, s := range list {
		z := append([]byte(s), 0)
		pin.Pin(&z[0])
		pointers[i] = &z[0]
	}
	return uintptr(unsafe.Pointer(&pointers[0]))
}

// buildText has the shim build a text or a binary.
func (d *device) buildText(src *devices.Source, language int32, text []byte, options, names []string) (built, error) {
	var pin goruntime.Pinner
	defer pin.Unpin()
	for _, o := range slices.Concat(options, names) {
		if strings.ContainsRune(o, 0) {
			return built{}, d.compileError(src, "", fmt.Errorf("option %q: %w", o, devices.ErrInvalid))
		}
	}
	pin.Pin(&text[0])
	block := &buildBlock{
		language: language, text: uintptr(unsafe.Pointer(&text[0])), size: uintptr(len(text)),
		options: int32(len(options)), option: pinStrings(&pin, options),
		names: int32(len(names)), name: pinStrings(&pin, names),
	}
	handle, e := new(uint64), new(errorBlock)
	start := time.Now()
	code := int32(dl.Call(d.api.build, uintptr(d.handle), uintptr(unsafe.Pointer(block)), uintptr(unsafe.Pointer(handle)), uintptr(unsafe.Pointer(e))))
	b := built{handle: *handle, time: time.Since(start), params: map[string]string{}}
	if b.handle != 0 {
		b.log, _ = d.api.ask(d.api.programLog, b.handle, "log")
	}
	if code != statusOK {
		if b.handle != 0 {
			dl.Call(d.api.programFree, uintptr(b.handle))
		}
		return built{}, d.compileError(src, b.log, failed(e, "build(%s)", strings.Join(options, " ")))
	}
	b.log = buildlog.Clean(b.log)
	if src.Language == devices.LangSYCL {
		b.log = userLines(b.log, string(src.Text))
	}
	known, _ := d.api.ask(d.api.programNames, b.handle, "names")
	for name := range strings.Lines(known) {
		if name = strings.TrimSpace(name); name != "" {
			b.entries = append(b.entries, name)
		}
	}
	slices.Sort(b.entries)
	for _, entry := range b.entries {
		k, err := d.createKernel(b.handle, entry)
		if err != nil {
			continue
		}
		if text, err := d.api.ask(d.api.info, k, "kernel info"); err == nil {
			b.params[entry] = readFacts(text)["parameter"]
		}
		dl.Call(d.api.kernelFree, uintptr(k))
	}
	return b, nil
}

// compileError is the error of a source that does not build.
func (d *device) compileError(src *devices.Source, log string, err error) error {
	name := src.Name
	if name == "" {
		name = "source"
	}
	source := ""
	switch src.Language {
	case devices.LangOpenCL:
		source = string(src.Text)
	case devices.LangSYCL:
		log = userLines(log, string(src.Text))
	}
	return &devices.CompileError{Source: name, Device: d.info.ID, Log: buildlog.Errors(log, source), Err: err}
}

// createKernel makes a kernel of the shim's.
func (d *device) createKernel(program uint64, entry string) (uint64, error) {
	name, handle, e := append([]byte(entry), 0), new(uint64), new(errorBlock)
	if code := int32(dl.Call(d.api.kernel, uintptr(program), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(handle)), uintptr(unsafe.Pointer(e)))); code != statusOK {
		return 0, failed(e, "kernel(%s)", entry)
	}
	return *handle, nil
}

// Kernel implements devices.Program.
func (p *program) Kernel(entry string) (devices.Kernel, error) {
	if p.closed.Load() {
		return nil, fmt.Errorf("%s: kernel %q: program %s is closed: %w", p.d.info.ID, entry, p.src.Name, devices.ErrClosed)
	}
	if err := p.d.usable("kernel " + entry); err != nil {
		return nil, err
	}
	if p.library != nil {
		return p.libraryKernel(entry)
	}
	if entry == "" || strings.ContainsRune(entry, 0) || len(p.built.entries) > 0 && !slices.Contains(p.built.entries, entry) || p.src.Language == devices.LangSYCL && len(p.built.entries) == 0 {
		return nil, p.noEntry(entry)
	}
	handle, err := p.d.createKernel(p.built.handle, entry)
	if err != nil {
		if s, ok := err.(*devices.StatusError); ok && strings.HasPrefix(s.Symbol, codes[statusNoKernel].symbol) {
			return nil, p.noEntry(entry)
		}
		return nil, fmt.Errorf("%s: %s: %w", p.d.info.ID, p.src.Name, err)
	}
	k, err := newKernel(p, entry, handle)
	if err != nil {
		dl.Call(p.d.api.kernelFree, uintptr(handle))
		return nil, err
	}
	return k, nil
}

// noEntry is the error of an entry point that does not exist, or of a function
// that is none.
func (p *program) noEntry(entry string) error {
	for i := range p.functions {
		f := &p.functions[i]
		if f.Name != entry {
			continue
		}
		what := "has no nd_range_kernel property"
		if f.SingleTask {
			what = "has the property single_task_kernel in place of nd_range_kernel"
		}
		return fmt.Errorf("%s: %s: line %d: the function %q %s, so it is no kernel to launch over a range; write SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) before it: %w",
			p.d.info.ID, p.src.Name, f.Line, entry, what, devices.ErrInvalid)
	}
	return fmt.Errorf("%s: %s has no kernel %q, only %s: %w",
		p.d.info.ID, p.src.Name, entry, strings.Join(p.built.entries, ", "), devices.ErrInvalid)
}

// Log implements devices.Program.
func (p *program) Log() string { return p.built.log }

// Close implements devices.Program. Kernels made from the program stay usable.
func (p *program) Close() error {
	if !p.closed.CompareAndSwap(false, true) {
		return nil
	}
	p.d.open[kindProgram].Add(-1)
	p.specials.Clear(p.freeProgram)
	if p.built.handle != 0 {
		dl.Call(p.d.api.programFree, uintptr(p.built.handle))
	}
	return nil
}
