package opencl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func compileError(t *testing.T, d devices.Device, src *devices.Source) *devices.CompileError {
	t.Helper()
	p, err := d.Compile(t.Context(), src)
	var ce *devices.CompileError
	if !errors.As(err, &ce) {
		if err == nil {
			_ = p.Close()
		}
		t.Fatalf("got %v, want a *CompileError", err)
	}
	return ce
}

func TestBuildErrors(t *testing.T) {
	d := open(t, 0)
	for _, c := range []struct {
		name, text string
		first      []string
	}{
		{"undefined identifier", "/* a */\n__kernel void k(__global float *x) {\n  x[0] = missing_constant;\n}\n", []string{"user.cl:3:", "missing_constant"}},
		{"in an included file", "#line 1 \"inc dir/bad_coef.h\"\n\n\nfloat twice(float v) { return missing_constant; }\n#line 2 \"user.cl\"\n__kernel void k(__global float *x) { x[0] = twice(x[0]); }\n", []string{"inc dir/bad_coef.h:3:", "missing_constant"}},
		{"undefined function", "float smooth(float v);\n__kernel void k(__global float *x) {\n  x[0] = smooth(x[0]);\n}\n", []string{"user.cl:3:", "error", "smooth"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ce := compileError(t, d, &devices.Source{Name: "user.cl", Language: devices.LangOpenCL, Text: []byte(c.text)})
			for _, w := range c.first {
				if !strings.Contains(ce.FirstLine(), w) {
					t.Errorf("first line %q does not say %q\nlog:\n%s", ce.FirstLine(), w, ce.Log)
				}
			}
			if whole := fmt.Sprintf("%+v", ce); !strings.Contains(whole, ce.Log) || ce.Device != d.info.ID || ce.Source != "user.cl" {
				t.Errorf("device %q, source %q, %%+v %q", ce.Device, ce.Source, whole)
			}
		})
	}
	ce := compileError(t, d, &devices.Source{Name: "empty.cl", Language: devices.LangOpenCL})
	if !errors.Is(ce, devices.ErrInvalid) || !strings.Contains(ce.Error(), "empty") {
		t.Errorf("an empty source: %v", ce)
	}
	ce = compileError(t, d, &devices.Source{Name: "junk.bin", Language: devices.LangBinary, Text: []byte("no binary of any device")})
	if !errors.Is(ce, devices.ErrInvalid) || !strings.Contains(ce.Error(), "CL_INVALID_BINARY") {
		t.Errorf("a binary of junk: %v", ce)
	}
	_, err := d.Compile(t.Context(), &devices.Source{Name: "x.cu", Language: devices.LangCUDA, Text: []byte("x")})
	if !errors.Is(err, devices.ErrUnsupported) || !strings.Contains(err.Error(), "cuda") {
		t.Errorf("CUDA C: %v", err)
	}
}

const warns = `__kernel void affine(__global const float *x, __global float *y)
{
    size_t i = get_global_id(0);
    float v = x[i];
    if (v = 3.0f)
        v = 4.0f;
    y[i] = v;
}
`

// TestBuildCache builds twice: the second time the program, its warnings and
// its parameters' names come from the disk. A damaged entry is built again.
func TestBuildCache(t *testing.T) {
	need(t)
	dir := t.TempDir()
	driver := &Driver{CacheDir: dir}
	src := &devices.Source{Name: "only_warns.cl", Language: devices.LangOpenCL, Text: []byte(warns)}
	// Each in a test of its own, whose end closes the device: one that is open
	// beside another of PoCL builds for itself.
	build := func(wantCached bool) {
		t.Helper()
		t.Run(fmt.Sprintf("from cache %v", wantCached), func(t *testing.T) {
			d := openWith(t, driver, 0)
			p, err := d.Compile(context.Background(), src)
			if err != nil {
				t.Fatalf("%+v", err)
			}
			defer p.Close()
			if log := p.Log(); !strings.Contains(log, "warning") || !strings.Contains(log, "only_warns.cl:5") {
				t.Errorf("log %q lacks the warning of line 5", log)
			}
			k, err := p.Kernel("affine")
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			info := k.Info()
			if info.BuildFromCache != wantCached || wantCached != (info.BuildTime == 0) || info.Args != 2 {
				t.Errorf("%+v, want from cache: %v", info, wantCached)
			}
			if params := k.(*kernel).check.Params; len(params) != 2 || params[1].Name != "y" || params[1].Type != "float*" {
				t.Errorf("parameters %+v", params)
			}
			x, y, q := alloc(t, d, 16), alloc(t, d, 16), newQueue(t, d)
			upload(t, q, x, make([]byte, 16))
			launch(t, q, &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{4}}, Args: []devices.Arg{{Buffer: x}, {Buffer: y}}})
			if got := devices.View[float32](download(t, q, y)); fmt.Sprint(got) != "[4 4 4 4]" {
				t.Errorf("y = %v, want four times 4", got)
			}
		})
	}
	build(false)
	build(true)
	files, _ := filepath.Glob(filepath.Join(dir, "builds", "*.build"))
	if len(files) != 1 {
		t.Fatalf("entries on disk: %v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	build(false)
	build(true)
	src.Options = []string{"-DUNUSED=1"}
	build(false)
}

// TestQuietLog has a source without warnings: its log is "".
func TestQuietLog(t *testing.T) {
	p := compile(t, open(t, 0), "__kernel void quiet(__global int *x) { x[0] = 1; }\n")
	if p.Log() != "" {
		t.Errorf("log %q, want none", p.Log())
	}
}

// TestBinary runs a program from its binary, as a user hands one in.
func TestBinary(t *testing.T) {
	d := open(t, 0)
	p := compile(t, d, "__kernel void k(__global int *x) { x[get_global_id(0)] = 3 + get_group_id(0); }")
	binary := d.binaryOf(p.built.handle)
	if len(binary) == 0 {
		t.Skip("the driver gives no binaries")
	}
	b, err := d.Compile(t.Context(), &devices.Source{Name: "k.bin", Language: devices.LangBinary, Text: binary})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	defer b.Close()
	k, err := b.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	q, x := newQueue(t, d), alloc(t, d, 4*100)
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{100}, Local: [3]int{25}}, Args: []devices.Arg{{Buffer: x}}}
	launch(t, q, l)
	if got := ints(download(t, q, x)); got[0] != 3 || got[99] != 6 {
		t.Errorf("x[0] = %d, x[99] = %d, want 3 and 6", got[0], got[99])
	}
	l.Range.Local[0] = 0
	launch(t, q, l)
	l.Range.Local[0] = 64
	if _, err := q.Launch(l, nil); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "64") {
		t.Errorf("a ragged launch of a binary, which cannot be built for it: %v", err)
	}
}

func TestCompileCanceled(t *testing.T) {
	d := open(t, 0)
	cause := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err := d.Compile(ctx, &devices.Source{Name: "k.cl", Language: devices.LangOpenCL, Text: []byte("__kernel void k(void) {}")})
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	// Canceled while the compiler runs: whoever wins, nothing is left over.
	for i := range 5 {
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		p, err := d.Compile(ctx, &devices.Source{Name: "k.cl", Language: devices.LangOpenCL, Text: fmt.Appendf(nil, "__kernel void k(__global int *x) { x[0] = %d; }", i)})
		switch {
		case err == nil:
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		case !errors.Is(err, context.Canceled):
			t.Errorf("got %v", err)
		}
		cancel()
	}
	d.builds.Wait()
	if n := d.open[kindProgram].Load(); n != 0 {
		t.Errorf("%d programs are open", n)
	}
}
