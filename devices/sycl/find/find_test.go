package find

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// alone takes the variables away that Places looks at.
func alone(t *testing.T) {
	t.Helper()
	for _, name := range []string{RootVariable, "CMPLR_ROOT", "ONEAPI_ROOT", "CONDA_PREFIX", "VIRTUAL_ENV", "LD_LIBRARY_PATH"} {
		t.Setenv(name, "")
	}
}

// fake makes a folder with empty files.
func fake(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWheel(t *testing.T) {
	alone(t)
	dir := fake(t, "lib/libsycl.so.8", "lib/libsycl.so.9", "lib/libsycl.so.9.0.1", "lib/libOpenCL.so.1", "lib/libintelocl.so",
		"lib/libsvml.so", "lib/libintlc.so.5", "include/sycl/sycl.hpp")
	t.Setenv("VIRTUAL_ENV", dir)
	r, ok := SYCL()
	lib := filepath.Join(dir, "lib")
	if !ok || r.SYCL != filepath.Join(lib, "libsycl.so.9") || r.From != "VIRTUAL_ENV" || r.LibDir != lib {
		t.Fatalf("found %v %+v", ok, r)
	}
	if r.Include != filepath.Join(dir, "include") || r.OpenCL != filepath.Join(lib, "libOpenCL.so.1") || r.IntelOpenCL != filepath.Join(lib, "libintelocl.so") || r.JIT != "" {
		t.Errorf("found %+v", r)
	}
	if want := []string{filepath.Join(lib, "libintlc.so.5"), filepath.Join(lib, "libsvml.so")}; !slices.Equal(r.Preload, want) {
		t.Errorf("to load before: %v, want %v", r.Preload, want)
	}
}

func TestOrder(t *testing.T) {
	alone(t)
	oneapi := fake(t, "compiler/latest/lib/libsycl.so.7", "compiler/latest/include/sycl/sycl.hpp")
	conda := fake(t, "lib/libsycl.so.8")
	t.Setenv("CONDA_PREFIX", conda)
	t.Setenv("ONEAPI_ROOT", oneapi)
	if r, ok := SYCL(); !ok || r.Root != filepath.Join(oneapi, "compiler", "latest") {
		t.Errorf("found %v %+v, want the one of ONEAPI_ROOT", ok, r)
	}
	// Intel's OpenCL may come without SYCL, and from elsewhere.
	other := fake(t, "lib/libintelocl.so")
	t.Setenv("VIRTUAL_ENV", other)
	if r, ok := IntelOpenCL(); !ok || r.IntelOpenCL != filepath.Join(other, "lib", "libintelocl.so") || r.SYCL != "" {
		t.Errorf("Intel's OpenCL: found %v %+v", ok, r)
	}
	// A root that is named is the only place.
	empty := fake(t)
	t.Setenv(RootVariable, empty)
	if r, ok := SYCL(); ok {
		t.Errorf("found %+v beside an empty %s", r, RootVariable)
	}
	if r, ok := IntelOpenCL(); ok {
		t.Errorf("found %+v beside an empty %s", r, RootVariable)
	}
	if got := Places(); len(got) != 1 || got[0].String() != empty+" ("+RootVariable+")" {
		t.Errorf("places: %v", got)
	}
}

func TestLibraryPath(t *testing.T) {
	alone(t)
	dir := fake(t, "libsycl.so.9")
	t.Setenv("LD_LIBRARY_PATH", dir)
	r, ok := SYCL()
	if !ok || r.SYCL != filepath.Join(dir, "libsycl.so.9") || r.From != "library path" {
		t.Errorf("found %v %+v", ok, r)
	}
}
