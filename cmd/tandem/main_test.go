package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/cudatest"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl"
	"github.com/tandemrun/tandem/devices/sycl/find"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

func TestMain(m *testing.M) {
	if opencl.RunProbeChild() || sycl.RunProbeChild() || cuda.RunProbeChild() {
		os.Exit(0)
	}
	// What the tests run has empty caches: it would build the shim each time.
	if os.Getenv(sycl.ShimVariable) == "" {
		if path, _, err := sycl.BuildShim(context.Background(), ""); err == nil {
			os.Setenv(sycl.ShimVariable, path)
		}
	}
	testscript.Main(m, map[string]func(){"tandem": main})
}

// TestScripts runs the scripts that need nothing but Go.
func TestScripts(t *testing.T) {
	runScripts(t, "cpu", func(e *testscript.Env) {
		e.Setenv(opencl.LibraryVariable, filepath.Join(e.WorkDir, "no-such-library.so"))
		e.Setenv(find.RootVariable, filepath.Join(e.WorkDir, "no-such-folder"))
		program, _, _ := strings.Cut(e.Getenv("PATH"), string(filepath.ListSeparator))
		e.Setenv("PATH", program) // no tools for FPGAs, no compilers
		e.Setenv(cuda.LibraryVariable, filepath.Join(e.WorkDir, "no-such-library.so"))
	})
}

// TestOpenCLScripts runs those that need an OpenCL device.
func TestOpenCLScripts(t *testing.T) {
	requireOpenCL(t)
	runScripts(t, "opencl", func(*testscript.Env) {})
}

// TestFPGAScripts runs those that need the tools of the FPGA emulation. They
// share what is built.
func TestFPGAScripts(t *testing.T) {
	devicetest.Require(t, "fpga", (&fpga.Driver{}).Probe(t.Context()).Reason)
	cache := os.Getenv("TANDEM_FPGA_TEST_CACHE")
	if cache == "" {
		cache = t.TempDir()
	}
	runScripts(t, "fpga", func(e *testscript.Env) { e.Setenv("TANDEM_CACHE_DIR", cache) })
}

// TestFPGAEmulationScripts runs those that need Intel's FPGA emulation.
func TestFPGAEmulationScripts(t *testing.T) {
	path := find.FPGAEmulation()
	if path == "" {
		devicetest.Require(t, "fpga-emu", errors.New("Intel's FPGA emulation is not installed"))
	}
	runScripts(t, "fpga-emu", func(e *testscript.Env) {
		e.Setenv(find.FPGARootVariable, filepath.Dir(path))
	})
}

// TestSYCLScripts runs those that need a SYCL runtime, its headers, a compiler
// for C++, and PoCL.
func TestSYCLScripts(t *testing.T) {
	requireOpenCL(t)
	devicetest.Require(t, "sycl", (&sycl.Driver{}).Probe(t.Context()).Reason)
	runScripts(t, "sycl", func(e *testscript.Env) {
		e.Setenv(find.RootVariable, os.Getenv(find.RootVariable))
		program, _, _ := strings.Cut(e.Getenv("PATH"), string(filepath.ListSeparator))
		e.Setenv("PROGRAM", program)
	})
}

func requireOpenCL(t *testing.T) {
	t.Helper()
	b := (&opencl.Driver{Beside: all.IntelOpenCL()}).Probe(t.Context())
	if !b.Available {
		devicetest.Require(t, "opencl", b.Reason)
	}
}

// TestCUDAScripts runs those that need the test double of CUDA's driver, and
// NVRTC.
func TestCUDAScripts(t *testing.T) {
	library := cudatest.Build(t)
	_, err := nvrtc.Open(nvrtc.Options{})
	devicetest.Require(t, "nvrtc", err)
	runScripts(t, "cuda", func(e *testscript.Env) {
		e.Setenv(opencl.LibraryVariable, filepath.Join(e.WorkDir, "no-such-library.so"))
		e.Setenv(find.RootVariable, filepath.Join(e.WorkDir, "no-such-folder"))
		e.Setenv(cuda.LibraryVariable, library)
		e.Setenv(nvrtc.LibraryVariable, os.Getenv(nvrtc.LibraryVariable))
	})
}

func runScripts(t *testing.T, dir string, setup func(*testscript.Env)) {
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir() // of the vendor's compiler: one for all scripts
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata/script", dir),
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("TANDEM_CACHE_DIR", filepath.Join(e.WorkDir, ".cache", "tandem"))
			e.Setenv("POCL_CACHE_DIR", cache)
			e.Setenv("MODULE", module)
			e.Setenv(sycl.ShimVariable, os.Getenv(sycl.ShimVariable))
			setup(e)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "json": cmdJSON, "npy": cmdNpy, "same": cmdSame,
		},
	})
}

// cmdExits runs a command that has to end with a code: exits 2 tandem run x.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			ts.Fatalf("%v", err)
		}
		got = ee.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d; standard error:\n%s", got, want, ts.ReadFile("stderr"))
	}
}

// cmdJSON compares a value of a JSON document: json FILE a.0.b VALUE. VALUE may
// be "len:3" (that many elements), ">0" (a number above), "*" (there, and not
// empty), or "~text" (contains it). With ! the path must not be there.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 && (!neg || len(args) != 2) {
		ts.Fatalf("usage: json FILE PATH VALUE")
	}
	var doc any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("%s is no JSON: %v", args[0], err)
	}
	if dec.More() {
		ts.Fatalf("%s holds more than one document", args[0])
	}
	v, ok := lookUp(doc, args[1])
	if neg {
		if ok {
			ts.Fatalf("%s is there: %v", args[1], v)
		}
		return
	}
	if !ok {
		ts.Fatalf("there is no %s", args[1])
	}
	got, want := fmt.Sprint(v), args[2]
	good := got == want
	switch {
	case want == "*":
		good = got != "" && v != nil
	case strings.HasPrefix(want, "~"):
		good = strings.Contains(got, want[1:])
	case strings.HasPrefix(want, "len:"):
		list, isList := v.([]any)
		got = "len:" + fmt.Sprint(len(list))
		good = isList && got == want
	case strings.HasPrefix(want, ">"):
		least, err := strconv.ParseFloat(want[1:], 64)
		ts.Check(err)
		f, err := strconv.ParseFloat(got, 64)
		good = err == nil && f > least
	}
	if !good {
		ts.Fatalf("%s is %s, want %s", args[1], got, want)
	}
}

// lookUp follows a path of keys and indices; "" is the document itself.
func lookUp(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	key, rest, _ := strings.Cut(path, ".")
	switch v := v.(type) {
	case map[string]any:
		inner, ok := v[key]
		if !ok {
			return nil, false
		}
		return lookUp(inner, rest)
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return lookUp(v[i], rest)
	}
	return nil, false
}

// cmdNpy makes an array file: npy FILE DTYPE SHAPE FILL, where FILL is a number
// for all elements or "iota".
func cmdNpy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: npy FILE DTYPE SHAPE FILL")
	}
	t, ok := devices.ParseDType(args[1])
	if !ok {
		ts.Fatalf("%q is no type", args[1])
	}
	h := arrayfile.Header{DType: t}
	for part := range strings.SplitSeq(args[2], ",") {
		n, err := strconv.ParseInt(part, 10, 64)
		ts.Check(err)
		h.Shape = append(h.Shape, n)
	}
	values := make([]float64, h.Elements())
	for i := range values {
		if values[i] = float64(i); args[3] != "iota" {
			f, err := strconv.ParseFloat(args[3], 64)
			ts.Check(err)
			values[i] = f
		}
	}
	var data []byte
	switch t {
	case devices.Float32:
		data = encode[float32](values)
	case devices.Float64:
		data = encode[float64](values)
	case devices.Int32:
		data = encode[int32](values)
	case devices.Uint8:
		data = encode[uint8](values)
	default:
		ts.Fatalf("npy: %s is not done", t)
	}
	ts.Check(arrayfile.Write(ts.MkAbs(args[0]), h, data, arrayfile.Options{}))
}

func encode[T devices.Number](values []float64) []byte {
	v := make([]T, len(values))
	for i, f := range values {
		v[i] = T(f)
	}
	return devices.AsBytes(v)
}

// cmdSame compares two files byte for byte: same A B.
func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same A B")
	}
	if same := ts.ReadFile(args[0]) == ts.ReadFile(args[1]); same == neg {
		ts.Fatalf("%s and %s: same is %v", args[0], args[1], same)
	}
}
