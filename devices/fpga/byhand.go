package fpga

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
)

//go:embed harness/byhand.v
var handText string

//go:embed harness/byhand.cpp
var handProgram string

// HandSource is the source of the kernel that ByHand runs, multiply_add: one
// array of uint32, streamed in place, and two numbers.
func HandSource() *devices.Source {
	return &devices.Source{Name: "byhand.v", Language: devices.LangRTL, Text: []byte(handText)}
}

// ByHand is a kernel translated by Verilator and clocked by a C++ program of its
// own, as Verilator's manual shows: what the emulation is measured against.
type ByHand struct {
	d    *Driver
	path string
}

// The options that such a program is built with.
var (
	handVerilate = []string{"--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-Wno-fatal",
		"--prefix", "Vkernel", "--Mdir", "model", "--top-module", "multiply_add", "byhand.v"}
	handCompile = []string{"-std=c++17", "-O2", "-w", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-I.", "-Imodel"}
)

// NewByHand builds the program with d's tools, or takes it from d's cache. It
// has to be closed.
func NewByHand(ctx context.Context, d *Driver) (*ByHand, error) {
	verilator, err := d.available(ctx)
	if err != nil {
		return nil, fmt.Errorf("fpga: by hand: %w", err)
	}
	cxx, err := d.version(ctx, toolchain.CXX)
	if err != nil {
		return nil, fmt.Errorf("fpga: by hand: %w", err)
	}
	dir, err := os.MkdirTemp("", "tandem-fpga-")
	if err != nil {
		return nil, fmt.Errorf("fpga: by hand: %w", err)
	}
	h := &ByHand{d: d, path: filepath.Join(dir, "byhand")}
	key := buildcache.MakeKey("fpga by hand 1", handText, handProgram, strings.Join(handVerilate, " "), strings.Join(handCompile, " "),
		verilator, cxx, runtime.GOOS+"/"+runtime.GOARCH)
	cache := d.cache()
	e, ok := cache.Get(key)
	if ok {
		err = os.WriteFile(h.path, e.Binary, 0o700)
	} else if err = h.build(ctx, dir); err == nil {
		if e.Binary, err = os.ReadFile(h.path); err == nil {
			cache.Put(key, e)
		}
	}
	if err != nil {
		h.Close()
		return nil, fmt.Errorf("fpga: by hand: %w", err)
	}
	return h, nil
}

func (h *ByHand) build(ctx context.Context, dir string) error {
	for name, text := range map[string]string{"byhand.v": handText, "byhand.cpp": handProgram} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	tools := h.d.Tools
	if log, err := tools.Run(ctx, dir, toolchain.Verilator, handVerilate...); err != nil {
		return &buildError{"multiply_add", log, err}
	}
	include, err := verilatorInclude(ctx, tools)
	if err != nil {
		return err
	}
	parts, err := filepath.Glob(filepath.Join(dir, "model", "*.cpp"))
	if err != nil {
		return err
	}
	// One translation unit, so that the compiler sees through the model's calls.
	all := "#include \"byhand.cpp\"\n"
	for _, p := range parts {
		all += fmt.Sprintf("#include %q\n", "model/"+filepath.Base(p))
	}
	if err := os.WriteFile(filepath.Join(dir, "all.cpp"), []byte(all), 0o600); err != nil {
		return err
	}
	args := append(append([]string{}, handCompile...), "-I"+include, "-o", "byhand", "all.cpp")
	for _, f := range runtimeFiles {
		args = append(args, filepath.Join(include, f))
	}
	if log, err := tools.Run(ctx, dir, toolchain.CXX, append(args, "-lpthread")...); err != nil {
		return &buildError{"multiply_add", log, err}
	}
	return nil
}

// Rate streams words through the kernel, so many rounds, and returns the
// million words per second of the best round.
func (h *ByHand) Rate(ctx context.Context, words, rounds int) (float64, error) {
	tools := h.d.Tools
	tools.CXX = h.path // it runs within the same bounds as a tool
	out, err := tools.Run(ctx, filepath.Dir(h.path), toolchain.CXX, strconv.Itoa(words), strconv.Itoa(rounds))
	if err != nil {
		return 0, fmt.Errorf("fpga: by hand: %w", err)
	}
	rate, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil || !(rate > 0) {
		return 0, fmt.Errorf("fpga: by hand: the program said %q: %w", out, devices.ErrInvalid)
	}
	return rate, nil
}

// Close removes the program.
func (h *ByHand) Close() { _ = os.RemoveAll(filepath.Dir(h.path)) }
