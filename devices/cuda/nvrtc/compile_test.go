package nvrtc

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// open opens the newest NVRTC with a cache of the test's own.
func open(t *testing.T) *Library {
	t.Helper()
	l, err := Open(Options{CacheDir: t.TempDir()})
	devicetest.Require(t, "nvrtc", err)
	return l
}

const scale = `namespace mine { template<class T> __global__ void scale(T *x, T f) { x[threadIdx.x] *= f; } }
__global__ void bump(int *x) { int unused; x[threadIdx.x]++; }`

func TestCompile(t *testing.T) {
	l := open(t)
	if v := l.Version(); v.Less(Version{11, 2}) || v.Major > 99 {
		t.Errorf("version %v", v)
	}
	if !slices.IsSorted(l.Archs()) || !slices.Contains(l.Archs(), 90) {
		t.Errorf("architectures %v", l.Archs())
	}
	if got := l.Arch(92); got != 90 {
		t.Errorf("for 9.2 it compiles for %d, want 90", got)
	}
	if got := l.Arch(20); got != 0 {
		t.Errorf("for 2.0 it compiles for %d, want none", got)
	}
	r := Request{Name: "two.cu", Text: scale, Arch: 80, Names: []string{"mine::scale<float>", "bump"}}
	res, err := l.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"mine::scale<float>": "_ZN4mine5scaleIfEEvPT_S1_", "bump": "_Z4bumpPi"} {
		if res.Lowered[name] != want {
			t.Errorf("%s is %q, want %q", name, res.Lowered[name], want)
		}
		if !bytes.Contains(res.Image, []byte(".entry "+want)) {
			t.Errorf("the PTX has no entry %s", want)
		}
	}
	if !bytes.Contains(res.Image, []byte(".target sm_80")) || bytes.IndexByte(res.Image, 0) >= 0 {
		t.Errorf("this is no PTX for sm_80: %.200q", res.Image)
	}
	if want := "two.cu:2:36: warning: variable \"unused\""; !strings.HasPrefix(res.Log, want) {
		t.Errorf("log %q, want %q first", res.Log, want)
	}
	if res.FromCache || res.Time <= 0 {
		t.Errorf("from the cache: %v, time %v", res.FromCache, res.Time)
	}
	again, err := l.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	if !again.FromCache || !bytes.Equal(again.Image, res.Image) || again.Log != res.Log || again.Lowered["bump"] != res.Lowered["bump"] {
		t.Errorf("the second result is another: %+v", again)
	}
	r.Cubin = true
	cubin, err := l.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(cubin.Image, []byte("\x7fELF")) {
		t.Errorf("this is no cubin: %.20q", cubin.Image)
	}
}

func TestCompileFails(t *testing.T) {
	l := open(t)
	for _, c := range []struct {
		r    Request
		line string
	}{
		{Request{Name: "x.cu", Text: "#line 40 \"dir name/k.cl\"\n__global__ void f(float *x) { x[0] = smooth(1); }", Arch: 75},
			`dir name/k.cl:40:38: error: identifier "smooth" is undefined`},
		{Request{Name: "x.cu", Text: "__global__ void f(float *x) {}\n__global__ void f(int *x) {}", Arch: 75, Names: []string{"f"}}, "overload"},
	} {
		_, err := l.Compile(c.r)
		ce, ok := errors.AsType[*devices.CompileError](err)
		if !ok || !errors.Is(err, devices.ErrInvalid) {
			t.Fatalf("got %v, want a *devices.CompileError", err)
		}
		if ce.Source != "x.cu" || !strings.Contains(ce.FirstLine(), c.line) {
			t.Errorf("%s: first line %q, want %q", ce.Source, ce.FirstLine(), c.line)
		}
	}
	good := Request{Name: "x.cu", Text: "int x;", Arch: 75}
	for what, change := range map[string]func(*Request){
		"empty":               func(r *Request) { r.Text = "" },
		"byte of value 0":     func(r *Request) { r.Text = "a\x00b" },
		"compute capability":  func(r *Request) { r.Arch = 0 },
		"holds a byte":        func(r *Request) { r.Options = []string{"-D\x00"} },
		"options and names":   func(r *Request) { r.Names = make([]string, maxOptions+1) },
		"write a file":        func(r *Request) { r.Options = []string{"--time=/tmp/x"} },
		"\"-pch-dir":          func(r *Request) { r.Options = []string{"-pch-dir=/tmp"} },
		"unrecognized option": func(r *Request) { r.Options = []string{"--no-such-option"} },
	} {
		r := good
		change(&r)
		if _, err := l.Compile(r); !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// TestCompileAtOnce: compilations may overlap.
func TestCompileAtOnce(t *testing.T) {
	l := open(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			entry := string(rune('a' + i))
			res, err := l.Compile(Request{Name: entry, Text: "extern \"C\" __global__ void " + entry + "(int *x) { *x = 1; }", Arch: 90})
			if err != nil || !bytes.Contains(res.Image, []byte(".entry "+entry+"(")) {
				t.Errorf("%s: %v", entry, err)
			}
		})
	}
	wg.Wait()
}

// TestEveryVersion: each library that the variable names works by itself.
func TestEveryVersion(t *testing.T) {
	list := filepath.SplitList(os.Getenv(LibraryVariable))
	if len(list) < 2 {
		t.Skipf("%s names no two libraries", LibraryVariable)
	}
	for _, path := range list {
		t.Setenv(LibraryVariable, path)
		l, err := Open(Options{CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		res, err := l.Compile(Request{Name: "k.cu", Text: scale, Arch: 75, Names: []string{"bump"}})
		if err != nil || res.Lowered["bump"] != "_Z4bumpPi" {
			t.Errorf("%s, version %v: %v", path, l.Version(), err)
		}
		// For a driver of an older minor version, the same library is taken.
		if v := l.Version(); v.Minor > 0 {
			if older, err := Open(Options{Driver: Version{v.Major, v.Minor - 1}}); err != nil || older.Version() != v {
				t.Errorf("%s for a driver of %d.%d: %v", path, v.Major, v.Minor-1, err)
			}
		}
		if _, err := Open(Options{Driver: Version{l.Version().Major - 1, 9}}); !errors.Is(err, devices.ErrUnavailable) {
			t.Errorf("%s for a driver of %d.9: %v", path, l.Version().Major-1, err)
		}
	}
}
