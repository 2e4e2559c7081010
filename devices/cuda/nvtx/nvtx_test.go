//go:build linux

package nvtx

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
)

// recorder is a library that writes down what it is told.
const recorder = `
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static uint64_t last;
static void say(const char *what, const char *text, unsigned long id) {
	FILE *f = fopen(getenv("TANDEM_TEST_NVTX_OUT"), "a");
	fprintf(f, "%s %lu %s\n", what, id, text);
	fclose(f);
}
void nvtxMarkA(const char *text) { say("mark", text, 0); }
uint64_t nvtxRangeStartA(const char *text) { say("start", text, ++last); return last; }
void nvtxRangeEnd(uint64_t id) { say("end", "", id); }
`

// build compiles a C text into a library.
func build(t *testing.T, text string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		devicetest.Require(t, "cuda-double", err)
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "nvtx.c"), filepath.Join(dir, "libnvToolsExt.so.1")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return library
}

func TestAnnotations(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("TANDEM_TEST_NVTX_OUT", out)
	t.Setenv(LibraryVariable, build(t, recorder))
	if !Profiled() {
		t.Error("a named library does not count as being profiled")
	}
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	r := l.Start("run 1")
	q := l.Start("run 2")
	l.Mark("vector.add on cuda:0")
	l.Mark("cut\x00here")
	l.Mark(strings.Repeat("x", 2*maxText))
	l.End(r)
	l.End(q)
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want := "start 1 run 1\nstart 2 run 2\nmark 0 vector.add on cuda:0\nmark 0 cut\nmark 0 " + strings.Repeat("x", maxText) + "\nend 1 \nend 2 \n"
	if string(got) != want {
		t.Errorf("the library was told\n%s\nwant\n%s", got, want)
	}
}

func TestAbsent(t *testing.T) {
	t.Setenv(LibraryVariable, filepath.Join(t.TempDir(), "none.so"))
	var load *devices.LoadError
	if _, err := Open(); !errors.As(err, &load) || !errors.Is(err, devices.ErrUnavailable) || load.Tried[0] != os.Getenv(LibraryVariable) {
		t.Errorf("no library: %v", err)
	}
	t.Setenv(LibraryVariable, build(t, "void nvtxMarkA(const char *t) {}\n"))
	if _, err := Open(); !errors.Is(err, devices.ErrUnavailable) || !strings.Contains(err.Error(), "nvtxRange") {
		t.Errorf("a library without ranges: %v", err)
	}
}

func TestNotProfiled(t *testing.T) {
	t.Setenv(LibraryVariable, "")
	t.Setenv(injectionVariable, "")
	if Profiled() {
		t.Error("nothing set, and yet profiled")
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "lib/python3.11"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VIRTUAL_ENV", root)
	want := filepath.Join(root, "lib/python3.11/site-packages/nvidia/nvtx/lib/libnvToolsExt.so.1")
	if list := candidates(); !strings.Contains(strings.Join(list, " "), want) {
		t.Errorf("candidates %q lack the wheel's %s", list, want)
	}
}
