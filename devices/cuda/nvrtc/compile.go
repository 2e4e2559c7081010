package nvrtc

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"strings"
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// Bounds on what is compiled and on what comes back. Beyond them is an error.
const (
	maxText    = 64 << 20
	maxOptions = 1000
	maxOutput  = 1 << 30
)

// A Request is one compilation.
type Request struct {
	Name string // of the source, for messages
	Text string // CUDA C, self-contained: includes have been put in place

	// Arch is the compute capability to compile for, 75 for 7.5.
	Arch int
	// Cubin asks for machine code of exactly Arch in place of PTX, which
	// drivers compile for their GPU.
	Cubin bool
	// Options are further options of NVRTC, one each, in order. The target
	// architecture is not among them.
	Options []string
	// Names are expressions for kernels (and variables) in C++, "scale" or
	// "mine::scale<float>": Result.Lowered says what they are called in the
	// compiled program. One that names nothing, or an overloaded function, is an
	// error of the compilation.
	Names []string
}

// A Result is a compiled program.
type Result struct {
	Image     []byte            // PTX as text without a zero at its end, or a cubin
	Log       string            // warnings, "file:line:column: warning: text"; "" for none
	Lowered   map[string]string // by name expression
	Time      time.Duration     // what compiling took; 0 from the cache
	FromCache bool
}

// kept is what the cache keeps of a Result beside the image and the log.
type kept struct {
	Lowered map[string]string `json:",omitempty"`
}

// target is the option that names the architecture.
func (r *Request) target() string {
	kind := "compute"
	if r.Cubin {
		kind = "sm"
	}
	return fmt.Sprintf("--gpu-architecture=%s_%d", kind, r.Arch)
}

// Compile compiles a source, or takes the result from the cache. It takes
// 10 ms to some seconds and cannot be interrupted. A source that the compiler
// refuses is a *devices.CompileError with the whole log, whose Device is the
// compiler and the architecture; the caller may put a device's id there.
func (l *Library) Compile(r Request) (*Result, error) {
	if err := l.checkRequest(&r); err != nil {
		return nil, err
	}
	options := append([]string{r.target()}, r.Options...)
	key := buildcache.MakeKey("nvrtc 1", l.version.String(), r.Name, r.Text, strings.Join(options, "\x00"), strings.Join(r.Names, "\x00"))
	if e, ok := l.cache.Get(key); ok {
		var meta kept
		if json.Unmarshal(e.Meta, &meta) == nil && len(meta.Lowered) == len(r.Names) {
			return &Result{Image: e.Binary, Log: e.Log, Lowered: meta.Lowered, FromCache: true}, nil
		}
	}
	start := time.Now()
	res, err := l.compile(&r, options)
	if err != nil {
		return nil, err
	}
	res.Time = time.Since(start)
	if meta, err := json.Marshal(kept{res.Lowered}); err == nil {
		l.cache.Put(key, buildcache.Entry{Binary: res.Image, Log: res.Log, Meta: meta})
	}
	return res, nil
}

func (l *Library) checkRequest(r *Request) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("nvrtc: %s: %s: %w", r.Name, fmt.Sprintf(format, args...), devices.ErrInvalid)
	}
	switch {
	case len(r.Text) == 0:
		return wrong("the source is empty")
	case len(r.Text) > maxText:
		return wrong("the source has %d bytes, more than the %d that are compiled", len(r.Text), maxText)
	case strings.ContainsRune(r.Text, 0):
		return wrong("this is no text: it holds a byte of value 0")
	case len(r.Options)+len(r.Names) > maxOptions:
		return wrong("%d options and names, more than %d", len(r.Options)+len(r.Names), maxOptions)
	case r.Arch < 10 || r.Arch > 9999:
		return wrong("%d is no compute capability", r.Arch)
	}
	for _, o := range r.Options {
		if writes(o) {
			return wrong("the option %q makes the compiler write a file, which is not allowed", o)
		}
	}
	for _, s := range append(append([]string{r.Name}, r.Options...), r.Names...) {
		if strings.ContainsRune(s, 0) {
			return wrong("%q holds a byte of value 0", s)
		}
	}
	return nil
}

// writes reports whether an option makes NVRTC write files, or take compiled
// headers from files that anybody may have written.
func writes(option string) bool {
	name := strings.TrimLeft(strings.TrimSpace(option), "-")
	for _, w := range []string{"time", "fdevice-time-trace", "device-time-trace", "pch", "create-pch", "use-pch"} {
		if name == w || strings.HasPrefix(name, w+"=") || strings.HasPrefix(name, w+"-") || strings.HasPrefix(name, w+" ") {
			return true
		}
	}
	return false
}

// cString makes a zero-terminated copy that stays where it is until the pinner
// lets go.
func cString(pin *goruntime.Pinner, s string) *byte {
	z := append([]byte(s), 0)
	pin.Pin(&z[0])
	return &z[0]
}

func (l *Library) compile(r *Request, options []string) (*Result, error) {
	var pin goruntime.Pinner
	defer pin.Unpin()
	name := r.Name
	if name == "" {
		name = "source"
	}
	prog := new(uintptr)
	code := dl.Call(l.fn.create, uintptr(unsafe.Pointer(prog)), uintptr(unsafe.Pointer(cString(&pin, r.Text))),
		uintptr(unsafe.Pointer(cString(&pin, name))), 0, 0, 0)
	if err := l.check("nvrtcCreateProgram("+name+")", code); err != nil {
		return nil, err
	}
	defer dl.Call(l.fn.destroy, uintptr(unsafe.Pointer(prog)))
	expressions := make([]*byte, len(r.Names))
	for i, n := range r.Names {
		expressions[i] = cString(&pin, n)
		if err := l.check("nvrtcAddNameExpression("+n+")", dl.Call(l.fn.addName, *prog, uintptr(unsafe.Pointer(expressions[i])))); err != nil {
			return nil, err
		}
	}
	list := make([]*byte, len(options))
	pin.Pin(&list[0])
	for i, o := range options {
		list[i] = cString(&pin, o)
	}
	code = dl.Call(l.fn.compile, *prog, uintptr(len(list)), uintptr(unsafe.Pointer(&list[0])))
	failure := l.check("nvrtcCompileProgram("+strings.Join(options, " ")+")", code)
	log, err := l.output(*prog, "nvrtcGetProgramLog", l.fn.logSize, l.fn.log)
	if err != nil && failure == nil {
		return nil, err
	}
	text := Log(strings.TrimRight(string(log), "\x00"))
	if failure != nil {
		if int32(code) == statusCompilation {
			failure = devices.ErrInvalid
		}
		return nil, &devices.CompileError{Source: name, Device: fmt.Sprintf("nvrtc %v for %s", l.version, strings.TrimPrefix(r.target(), "--gpu-architecture=")), Log: text, Err: failure}
	}
	res := &Result{Log: text, Lowered: map[string]string{}}
	if r.Cubin {
		res.Image, err = l.output(*prog, "nvrtcGetCUBIN", l.fn.cubinSize, l.fn.cubin)
	} else {
		res.Image, err = l.output(*prog, "nvrtcGetPTX", l.fn.ptxSize, l.fn.ptx)
		res.Image = []byte(strings.TrimRight(string(res.Image), "\x00"))
	}
	if err != nil {
		return nil, err
	}
	for i, n := range r.Names {
		lowered := new(uintptr) // to memory of the program
		if err := l.check("nvrtcGetLoweredName("+n+")", dl.Call(l.fn.lowered, *prog, uintptr(unsafe.Pointer(expressions[i])), uintptr(unsafe.Pointer(lowered)))); err != nil {
			return nil, err
		}
		res.Lowered[n] = dl.Text(*lowered)
	}
	return res, nil
}

// output fetches the log, PTX or cubin of a program.
func (l *Library) output(prog uintptr, what string, sizeOf, get uintptr) ([]byte, error) {
	size := new(uint64)
	if err := l.check(what+"Size", dl.Call(sizeOf, prog, uintptr(unsafe.Pointer(size)))); err != nil {
		return nil, err
	}
	if *size == 0 {
		return nil, nil
	}
	if *size > maxOutput {
		return nil, fmt.Errorf("nvrtc: %sSize: %d bytes, more than the %d that are taken: %w", what, *size, maxOutput, devices.ErrUnsupported)
	}
	out := make([]byte, *size)
	if err := l.check(what, dl.Call(get, prog, uintptr(unsafe.Pointer(&out[0])))); err != nil {
		return nil, err
	}
	return out, nil
}
