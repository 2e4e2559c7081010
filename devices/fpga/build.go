package fpga

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
)

//go:embed harness/harness.cpp
var harnessText string

//go:embed harness/runtime.h
var runtimeText string

// unit is one kernel, built and loaded. It belongs to its driver and is
// shared by all programs of the same source.
type unit struct {
	module *verilog.Module
	base   string // the source's name in its build folder
	lib    *library
	log    string
	took   time.Duration // of the build; 0 from the cache
	cached bool
	fmax   float64 // MHz, where Analyze has found it before; 0: not known
}

// How a model is translated and compiled. Bits without a value are filled in
// when the model is made, so that a check can fill them in twice.
var (
	verilateFlags = []string{"--cc", "-O3", "--x-assign", "unique", "--x-initial", "unique", "--assert", "-Wno-fatal",
		"-Wno-DECLFILENAME", "--prefix", "Vkernel", "--Mdir", "model"}
	// The two about thread-local storage: Verilator's runtime looks at some of
	// its own twice in an evaluation, none of it has a constructor, and through
	// calls that costs a tenth of the throughput.
	compileFlags = []string{"-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-fno-extern-tls-init", "-ftls-model=local-dynamic", "-w", "-pipe",
		"-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-include", "runtime.h"}
)

// builder builds the kernels of one source.
type builder struct {
	d       *Driver
	src     *devices.Source
	params  map[string]string
	version [2]string // of Verilator and of the compiler
	include string    // Verilator's folder
	cache   *buildcache.Cache
}

// options reads the options of a source: -GNAME=VALUE and -IFOLDER.
func options(src *devices.Source) (params map[string]string, images []string, err error) {
	params = map[string]string{}
	for i := 0; i < len(src.Options); i++ {
		o := src.Options[i]
		switch {
		case strings.HasPrefix(o, "-G"):
			name, v, ok := strings.Cut(o[2:], "=")
			if !ok {
				return nil, nil, fmt.Errorf("option %q: want -GNAME=VALUE: %w", o, devices.ErrInvalid)
			}
			params[name] = v
		case o == "-I" && i+1 < len(src.Options):
			i++
			images = append(images, src.Options[i])
		case strings.HasPrefix(o, "-I") && len(o) > 2:
			images = append(images, o[2:])
		default:
			return nil, nil, fmt.Errorf("option %q: there are -GNAME=VALUE, the value of a Verilog parameter, and -IFOLDER, where memory images are: %w", o, devices.ErrInvalid)
		}
	}
	return params, images, nil
}

// ReadSource reads the kernels of a Verilog source and checks them, without
// building anything. Errors are those of verilog.Read.
func ReadSource(ctx context.Context, tools toolchain.Tools, src *devices.Source) ([]*verilog.Module, error) {
	params, images, err := options(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src.Name, err)
	}
	return verilog.Read(ctx, verilog.Request{File: src.Name, Text: string(src.Text), Set: params, Images: images, Tools: tools})
}

// build reads, builds and loads all kernels of a source.
func (d *Driver) build(ctx context.Context, src *devices.Source) ([]*unit, error) {
	modules, err := ReadSource(ctx, d.Tools, src)
	if err != nil {
		return nil, err
	}
	b := &builder{d: d, src: src, cache: d.cache()}
	b.params, _, _ = options(src) // read once above
	for i, tool := range []toolchain.Tool{toolchain.Verilator, toolchain.CXX} {
		if b.version[i], err = d.version(ctx, tool); err != nil {
			return nil, err
		}
	}
	// Translating and compiling take a core each; more would only fight.
	units := make([]*unit, len(modules))
	faults := make([]error, len(modules))
	slots := make(chan struct{}, max(1, min(runtime.NumCPU()/2, 4)))
	var all sync.WaitGroup
	for i, m := range modules {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			units[i], faults[i] = b.unit(ctx, m)
		})
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	for _, u := range units {
		u.fmax = d.knownFmax(ctx, src, u.module)
	}
	return units, nil
}

// unit builds one kernel, or takes it from the cache, and loads it.
func (b *builder) unit(ctx context.Context, m *verilog.Module) (*unit, error) {
	u := &unit{module: m, base: verilog.BaseName(b.src.Name)}
	images := packImages(m.Images)
	prelude := b.prelude(m)
	key := buildcache.MakeKey("fpga build 1", string(b.src.Text), u.base, m.Entry, prelude, string(slices.Concat(images...)),
		fmt.Sprint(b.settings(m)), harnessText, runtimeText, strings.Join(verilateFlags, " "), strings.Join(compileFlags, " "),
		b.version[0], b.version[1], runtime.GOOS+"/"+runtime.GOARCH)

	b.d.mu.Lock()
	lib := b.d.loaded[key]
	b.d.mu.Unlock()
	entry, ok := b.cache.Get(key)
	if ok && lib == nil {
		// One that does not load any more is built again.
		lib, _ = load(entry.Binary)
	}
	u.cached = lib != nil
	u.log = entry.Log
	if lib == nil {
		begun := time.Now()
		binary, log, err := b.compile(ctx, m, prelude, images)
		if err != nil {
			return nil, err
		}
		u.log = log
		if lib, err = load(binary); err != nil {
			return nil, fmt.Errorf("kernel %s: %w", m.Entry, err)
		}
		u.took = time.Since(begun)
		b.cache.Put(key, buildcache.Entry{Binary: binary, Log: log})
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.d.loaded == nil {
		b.d.loaded = map[buildcache.Key]*library{}
	}
	if first := b.d.loaded[key]; first != nil {
		lib = first
	}
	b.d.loaded[key] = lib
	u.lib = lib
	return u, nil
}

// settings are the parameters of the source that the module has, as options
// of Verilator.
func (b *builder) settings(m *verilog.Module) []string {
	var list []string
	for name, v := range b.params {
		if _, has := m.Defaults[name]; has {
			list = append(list, "-G"+name+"="+v)
		}
	}
	slices.Sort(list)
	return list
}

// prelude is what the harness has to know of a kernel.
func (b *builder) prelude(m *verilog.Module) string {
	var s strings.Builder
	s.WriteString("#include \"verilated.h\"\n#include <cstdarg>\n#include <cstdio>\n#include <cstring>\n#include <exception>\n" +
		"#include <memory>\n#include <string>\n#include \"Vkernel.h\"\n#include \"Vkernel__Syms.h\"\n")
	s.WriteString("#define KERNEL_INPUTS(X)")
	for i, in := range m.Inputs {
		last := 0
		if in.Last {
			last = 1
		}
		fmt.Fprintf(&s, " X(%d, %s, %d, %d)", i, in.Prefix, in.Bytes, last)
	}
	s.WriteString("\n#define KERNEL_OUTPUTS(X)")
	for i, out := range m.Outputs {
		fmt.Fprintf(&s, " X(%d, %s, %d)", i, out.Prefix, out.Bytes)
	}
	config := 0
	if m.Config {
		config = 1
	}
	fmt.Fprintf(&s, "\n#define KERNEL_CONFIG %d\n", config)
	names := "#define KERNEL_IMAGES(X)"
	for i, img := range m.Images {
		symbol := fmt.Sprintf("tandem_image_%d", i)
		fmt.Fprintf(&s, "asm(\".section .rodata\\n.balign 16\\n%s:\\n.incbin \\\"image%d.bin\\\"\\n.previous\\n\");\n", symbol, i)
		fmt.Fprintf(&s, "extern \"C\" __attribute__((visibility(\"hidden\"))) const uint8_t %s[];\n", symbol)
		names += fmt.Sprintf(" X(%q, %s)", img.Name, symbol)
	}
	s.WriteString(names + "\n#include \"harness.cpp\"\n")
	return s.String()
}

// packImages lays memory images out as the harness reads them.
func packImages(images []verilog.Image) [][]byte {
	var all [][]byte
	for _, img := range images {
		pieces := 1
		for _, w := range img.Words {
			pieces = max(pieces, len(w.Bits))
		}
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(img.Words)))
		b = binary.LittleEndian.AppendUint64(b, uint64(pieces))
		for _, w := range img.Words {
			b = binary.LittleEndian.AppendUint64(b, w.Address)
			for i := range pieces {
				v := uint32(0)
				if i < len(w.Bits) {
					v = w.Bits[i]
				}
				b = binary.LittleEndian.AppendUint32(b, v)
			}
		}
		all = append(all, b)
	}
	return all
}

// compile translates a kernel to C++ and compiles it. The log is Verilator's.
func (b *builder) compile(ctx context.Context, m *verilog.Module, prelude string, images [][]byte) (binary []byte, log string, err error) {
	dir, err := os.MkdirTemp("", "tandem-fpga-")
	if err != nil {
		return nil, "", fmt.Errorf("build folder: %w", err)
	}
	defer os.RemoveAll(dir)
	base := verilog.BaseName(b.src.Name)
	files := map[string][]byte{base: b.src.Text, "runtime.h": []byte(runtimeText), "harness.cpp": []byte(harnessText), "unit.cpp": []byte(prelude),
		"exports": []byte("{ global: tandem_*; local: *; };\n")}
	for i, img := range images {
		files[fmt.Sprintf("image%d.bin", i)] = img
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, "", fmt.Errorf("build folder: %w", err)
		}
	}
	args := append(slices.Clone(verilateFlags), "--top-module", m.Entry)
	args = append(append(args, b.settings(m)...), base)
	log, err = b.d.Tools.Run(ctx, dir, toolchain.Verilator, args...)
	log = strings.TrimSpace(strings.ReplaceAll(log, base+":", b.src.Name+":"))
	if err != nil {
		return nil, "", &buildError{m.Entry, log, err}
	}
	parts, err := filepath.Glob(filepath.Join(dir, "model", "*.cpp"))
	if err != nil {
		return nil, "", fmt.Errorf("build folder: %w", err)
	}
	slices.Sort(parts)
	model := ""
	for _, p := range parts {
		model += fmt.Sprintf("#include \"model/%s\"\n", filepath.Base(p))
	}
	if err := os.WriteFile(filepath.Join(dir, "model.h"), []byte(model), 0o600); err != nil {
		return nil, "", fmt.Errorf("build folder: %w", err)
	}
	objects, err := b.runtimeObjects(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	args = append(slices.Clone(compileFlags), "-I.", "-Imodel", "-I"+b.include, "-shared", "-Wl,-Bsymbolic",
		"-Wl,--version-script=exports", "-o", "kernel.so", "unit.cpp")
	args = append(append(args, objects...), "-lpthread")
	if out, err := b.d.Tools.Run(ctx, dir, toolchain.CXX, args...); err != nil {
		return nil, "", &buildError{m.Entry, out, err}
	}
	binary, err = os.ReadFile(filepath.Join(dir, "kernel.so"))
	return binary, log, err
}

// buildError is a tool that refused a kernel.
type buildError struct {
	entry string
	log   string
	err   error
}

func (e *buildError) Error() string {
	if strings.TrimSpace(e.log) == "" {
		return fmt.Sprintf("kernel %s: %v", e.entry, e.err)
	}
	return e.log
}

func (e *buildError) Unwrap() error { return e.err }
