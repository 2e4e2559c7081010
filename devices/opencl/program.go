package opencl

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
	"github.com/tandemrun/tandem/devices/internal/argcheck"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/internal/buildlog"
	"github.com/tandemrun/tandem/devices/internal/compilation"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// program is a built cl_program together with what its kernels' launches need
// to know of the source.
type program struct {
	d          *device
	src        *devices.Source
	built      built
	log        string
	sealed     bool                   // there is no source to build for a geometry
	nonUniform bool                   // built so that groups need not be of one size
	specials   ragged.Builds[uintptr] // programs, by geometry
	closed     atomic.Bool

	mu    sync.Mutex
	uses  *ragged.Scan // of a source
	fixed ragged.Usage // of a binary
}

// built is the result of one compilation.
type built struct {
	handle    uintptr
	log       string
	params    map[string][]argcheck.Parameter // by entry; an entry that is not there: not known
	entries   []string
	time      time.Duration
	fromCache bool
}

// buildMeta is what is kept of a build beside its binary: programs made from
// a binary do not know their parameters' names.
type buildMeta struct {
	Params map[string][]argcheck.Parameter
}

// argInfoOption makes the compiler keep the parameters' names.
const argInfoOption = "-cl-kernel-arg-info"

// build makes a program of a source in any language.
func (d *device) build(src *devices.Source) (*program, error) {
	if len(src.Text) == 0 {
		return nil, d.compileError(src, "", fmt.Errorf("the source is empty: %w", devices.ErrInvalid))
	}
	kept := *src
	kept.Text = compilation.Named(src)
	b, err := d.compile(&kept)
	if err != nil {
		return nil, err
	}
	p := &program{d: d, src: src, built: b, log: buildlog.Clean(b.log)}
	switch src.Language {
	case devices.LangOpenCL:
		p.uses = ragged.OpenCL(string(src.Text))
		p.nonUniform = nonUniformOptions(src.Options)
	case devices.LangSPIRV:
		p.fixed, p.sealed = ragged.SPIRV(src.Text), true
	default:
		p.fixed, p.sealed = ragged.All, true
	}
	d.open[kindProgram].Add(1)
	return p, nil
}

// nonUniformOptions reports whether groups of different sizes are allowed:
// they are from OpenCL C 2.0 on, unless the options say otherwise.
func nonUniformOptions(options []string) bool {
	modern := false
	for _, o := range strings.Fields(strings.Join(options, " ")) {
		if o == "-cl-uniform-work-group-size" {
			return false
		}
		if std, ok := strings.CutPrefix(o, "-cl-std=CL"); ok {
			modern = std >= "2.0"
		}
	}
	return modern
}

// usageOf is what the kernel with the given entry uses.
func (p *program) usageOf(entry string) ragged.Usage {
	if p.uses == nil {
		return p.fixed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.uses.Of(entry)
}

// rules are what the launches of a kernel of p go by.
func (p *program) rules(entry string, info devices.KernelInfo) ragged.Rules {
	d := &p.d.info
	r := ragged.Rules{
		Uses:       p.usageOf(entry),
		Sealed:     p.sealed,
		Fixed:      info.FixedWorkGroup,
		MaxGroup:   info.MaxWorkGroup,
		MaxItems:   d.MaxItemSizes,
		Units:      d.ComputeUnits,
		HostCores:  p.d.traits.cpu,
		NonUniform: d.NonUniform && p.nonUniform,
	}
	if n := d.MaxWorkGroup; n > 0 && (r.MaxGroup <= 0 || n < r.MaxGroup) {
		r.MaxGroup = n
	}
	return r
}

// compile builds a source, or takes the build from the cache. The text is
// complete: nothing is added to it.
func (d *device) compile(src *devices.Source) (built, error) {
	options := strings.Join(src.Options, " ")
	if src.Language == devices.LangOpenCL && !strings.Contains(options, argInfoOption) {
		options = strings.TrimSpace(options + " " + argInfoOption)
	}
	if src.Language == devices.LangBinary {
		return d.fromBinary(src, src.Text, options)
	}
	options += d.twinOption()
	key := buildcache.MakeKey("opencl build 1", string(src.Language), string(src.Text), options,
		d.platform.name, d.platform.version, d.info.Name, d.info.Vendor, d.info.DriverVersion, d.info.APIVersion,
		fmt.Sprint(d.info.ComputeUnits), d.api.lib.Path())
	if e, ok := d.cache.Get(key); ok {
		// A binary that the driver does not take any more is built again.
		if b, err := d.fromBinary(src, e.Binary, options); err == nil {
			var meta buildMeta
			if json.Unmarshal(e.Meta, &meta) == nil {
				b.params = meta.Params
			}
			b.log, b.time, b.fromCache = e.Log, 0, true
			return b, nil
		}
	}
	b, err := d.fromText(src, options)
	if err != nil {
		return built{}, err
	}
	if binary := d.binaryOf(b.handle); len(binary) > 0 {
		if meta, err := json.Marshal(buildMeta{b.params}); err == nil {
			d.cache.Put(key, buildcache.Entry{Binary: binary, Log: b.log, Meta: meta})
		}
	}
	return b, nil
}

// fromText builds OpenCL C or SPIR-V.
func (d *device) fromText(src *devices.Source, options string) (built, error) {
	code := new(int32)
	var handle uintptr
	call := "clCreateProgramWithSource"
	if src.Language == devices.LangSPIRV {
		call = "clCreateProgramWithIL"
		handle = dl.Call(d.api.createProgramForIL, d.ctx, uintptr(unsafe.Pointer(&src.Text[0])), uintptr(len(src.Text)), uintptr(unsafe.Pointer(code)))
	} else {
		// The list of texts is itself memory that holds a pointer.
		texts, size := pinText(src.Text)
		handle = dl.Call(d.api.createProgramWithSource, d.ctx, 1, uintptr(unsafe.Pointer(texts.list)), uintptr(unsafe.Pointer(size)), uintptr(unsafe.Pointer(code)))
		texts.pin.Unpin()
	}
	if *code != success || handle == 0 {
		return built{}, d.compileError(src, "", failed(*code, "%s(%d bytes)", call, len(src.Text)))
	}
	start := time.Now()
	b, err := d.finishBuild(src, handle, options)
	b.time = time.Since(start)
	return b, err
}

// fromBinary makes a program of a binary, the cache's or the user's.
func (d *device) fromBinary(src *devices.Source, binary []byte, options string) (built, error) {
	if len(binary) == 0 {
		return built{}, d.compileError(src, "", fmt.Errorf("the binary is empty: %w", devices.ErrInvalid))
	}
	start := time.Now()
	code, status := new(int32), new(int32)
	dev := []uintptr{d.id}
	texts, size := pinText(binary)
	handle := dl.Call(d.api.createProgramWithBinary, d.ctx, 1, uintptr(unsafe.Pointer(&dev[0])), uintptr(unsafe.Pointer(size)),
		uintptr(unsafe.Pointer(texts.list)), uintptr(unsafe.Pointer(status)), uintptr(unsafe.Pointer(code)))
	texts.pin.Unpin()
	if *code != success || handle == 0 {
		return built{}, d.compileError(src, "", failed(*code, "clCreateProgramWithBinary(%d bytes)", len(binary)))
	}
	b, err := d.finishBuild(src, handle, options)
	b.time = time.Since(start)
	return b, err
}

// finishBuild runs the compiler or loader, and reads what came of it. It takes
// the handle.
func (d *device) finishBuild(src *devices.Source, handle uintptr, options string) (built, error) {
	terminated := append([]byte(options), 0)
	dev := []uintptr{d.id}
	code := d.api.call(d.api.buildProgram, handle, 1, uintptr(unsafe.Pointer(&dev[0])), uintptr(unsafe.Pointer(&terminated[0])), 0, 0)
	raw, _ := d.api.query(d.api.getProgramBuildInfo, programBuildLog, handle, d.id)
	log := strings.TrimRight(string(raw), "\x00")
	if code != success {
		d.api.call(d.api.releaseProgram, handle)
		return built{}, d.compileError(src, log, failed(code, "clBuildProgram(%q)", options))
	}
	b := built{handle: handle, log: log, params: map[string][]argcheck.Parameter{}}
	names, _ := d.api.query(d.api.getProgramInfo, programKernelNames, handle)
	for name := range strings.SplitSeq(text(names), ";") {
		if name != "" {
			b.entries = append(b.entries, name)
		}
	}
	slices.Sort(b.entries)
	for _, entry := range b.entries {
		k, code := d.createKernel(handle, entry)
		if code != success {
			continue
		}
		if params, ok := d.parameters(k); ok {
			b.params[entry] = params
		}
		d.api.call(d.api.releaseKernel, k)
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
	if src.Language == devices.LangOpenCL {
		source = string(src.Text)
	}
	return &devices.CompileError{Source: name, Device: d.info.ID, Log: buildlog.Errors(log, source), Err: err}
}

// binaryOf is the program's binary, nil where the driver gives none.
func (d *device) binaryOf(handle uintptr) []byte {
	b, code := d.api.query(d.api.getProgramInfo, programBinarySizes, handle)
	if code != success || len(b) < 8 || nativeUint(b) == 0 {
		return nil
	}
	binary := make([]byte, nativeUint(b))
	texts, _ := pinText(binary)
	defer texts.pin.Unpin()
	if d.api.call(d.api.getProgramInfo, handle, programBinaries, unsafe.Sizeof(uintptr(0)), uintptr(unsafe.Pointer(texts.list)), 0) != success {
		return nil
	}
	return binary
}

// createKernel makes a cl_kernel.
func (d *device) createKernel(program uintptr, entry string) (uintptr, int32) {
	name, code := append([]byte(entry), 0), new(int32)
	k := dl.Call(d.api.createKernel, program, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(code)))
	return k, *code
}

// Kernel implements devices.Program.
func (p *program) Kernel(entry string) (devices.Kernel, error) {
	if p.closed.Load() {
		return nil, fmt.Errorf("%s: kernel %q: program %s is closed: %w", p.d.info.ID, entry, p.src.Name, devices.ErrClosed)
	}
	if err := p.d.usable("kernel " + entry); err != nil {
		return nil, err
	}
	if entry == "" || strings.ContainsRune(entry, 0) || len(p.built.entries) > 0 && !slices.Contains(p.built.entries, entry) {
		return nil, p.noEntry(entry)
	}
	handle, code := p.d.createKernel(p.built.handle, entry)
	switch {
	case code == codeInvalidKernelName:
		return nil, p.noEntry(entry)
	case code != success || handle == 0:
		return nil, fmt.Errorf("%s: %s: %w", p.d.info.ID, p.src.Name, failed(code, "clCreateKernel(%s)", entry))
	}
	for i, param := range p.built.params[entry] {
		if strings.HasPrefix(param.Type, "image") || param.Type == "sampler_t" || strings.HasPrefix(param.Type, "pipe") {
			p.d.api.call(p.d.api.releaseKernel, handle)
			return nil, fmt.Errorf("%s: %s: kernel %q: argument %d (%s %s): images, samplers and pipes cannot be passed: %w",
				p.d.info.ID, p.src.Name, entry, i, param.Type, param.Name, devices.ErrUnsupported)
		}
	}
	return newKernel(p, entry, handle), nil
}

func (p *program) noEntry(entry string) error {
	return fmt.Errorf("%s: %s has no kernel %q, only %s: %w",
		p.d.info.ID, p.src.Name, entry, strings.Join(p.built.entries, ", "), devices.ErrInvalid)
}

// Log implements devices.Program.
func (p *program) Log() string { return p.log }

// Binary implements devices.Exporter.
func (p *program) Binary() ([]byte, error) {
	if p.closed.Load() {
		return nil, fmt.Errorf("%s: binary of %s: the program is closed: %w", p.d.info.ID, p.src.Name, devices.ErrClosed)
	}
	if b := p.d.binaryOf(p.built.handle); len(b) > 0 {
		return b, nil
	}
	return nil, fmt.Errorf("%s: the driver gives no binary of %s: %w", p.d.info.ID, p.src.Name, devices.ErrUnsupported)
}

// Close implements devices.Program. Kernels made from the program stay usable.
func (p *program) Close() error {
	if !p.closed.CompareAndSwap(false, true) {
		return nil
	}
	p.d.open[kindProgram].Add(-1)
	p.specials.Clear(p.releaseProgram)
	if code := p.d.api.call(p.d.api.releaseProgram, p.built.handle); code != success {
		return fmt.Errorf("%s: %w", p.d.info.ID, failed(code, "clReleaseProgram(%s)", p.src.Name))
	}
	return nil
}

// pinnedText is a list of one pointer to bytes, as calls take it that take
// several texts.
type pinnedText struct {
	list *unsafe.Pointer
	pin  *goruntime.Pinner
}

// pinText makes a list of text, which must not be empty, and of its length.
// Both stay where they are until pin.Unpin.
func pinText(text []byte) (pinnedText, *uintptr) {
	p := pinnedText{list: new(unsafe.Pointer), pin: new(goruntime.Pinner)}
	*p.list = unsafe.Pointer(&text[0])
	p.pin.Pin(&text[0])
	p.pin.Pin(p.list)
	size := new(uintptr)
	*size = uintptr(len(text))
	p.pin.Pin(size)
	return p, size
}
