package bridge

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/kernels/clc"
)

const casesFolder = "../../internal/robustness/testdata"

// caseSource reads a source of the reported cases with its includes.
func caseSource(t *testing.T, path string) *devices.Source {
	t.Helper()
	list, err := clc.Entries(path, clc.Options{
		Include: []string{filepath.Join(filepath.Dir(path), "inc dir")}, Defines: []clc.Define{{Name: "BIAS", Value: "0.5f"}}})
	if len(list) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	return list[0].Variants[0].Source
}

// TestCases: the kernels of the reported cases compile, but for the ones that
// are there to be refused, and those are refused at the user's line.
func TestCases(t *testing.T) {
	l := compiler(t)
	wrong := map[string]string{
		"broken_header.cl":    "bad_coef.h:3:",
		"no_such_function.cl": "no_such_function.cl:5:12: error: function \"smooth\" is called and defined nowhere",
	}
	files := 0
	err := filepath.WalkDir(casesFolder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".cl") {
			return err
		}
		files++
		want, bad := wrong[e.Name()]
		if e.Name() == "only_warns.cl" {
			res, p := built(t, l, caseSource(t, path))
			if log := p.Log(res.Log); !strings.Contains(log, "only_warns.cl:5:9: warning: use of \"=\" where \"==\" may have been intended\n      if (v = 3.0f)") {
				t.Errorf("the warning is not there:\n%s", log)
			}
			return nil
		}
		if !bad {
			if p, _ := compile(t, l, caseSource(t, path), archs); len(p.Refused) > 0 {
				t.Errorf("%s: refused %v", path, p.Refused)
			}
			return nil
		}
		if log := buildLog(t, l, caseSource(t, path)); !strings.Contains(log, want) {
			t.Errorf("%s: the log does not say %q:\n%s", path, want, log)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 15 {
		t.Errorf("%d sources: the test proves little", files)
	}
}

// built builds a source for one architecture.
func built(t *testing.T, l *nvrtc.Library, src *devices.Source) (*nvrtc.Result, *Program) {
	t.Helper()
	p, err := Translate(src)
	if err != nil {
		t.Fatalf("%s: %+v", src.Name, err)
	}
	res, err := l.Compile(nvrtc.Request{Name: src.Name, Text: p.Text, Arch: 75, Options: p.Options})
	if err != nil {
		t.Fatalf("%s: %+v", src.Name, err)
	}
	return res, p
}

// buildLog is the log of a source that does not build.
func buildLog(t *testing.T, l *nvrtc.Library, src *devices.Source) string {
	t.Helper()
	p, err := Translate(src)
	if err == nil {
		_, err = l.Compile(nvrtc.Request{Name: src.Name, Text: p.Text, Arch: 75, Options: p.Options})
	}
	ce, ok := errors.AsType[*devices.CompileError](err)
	if !ok {
		t.Fatalf("%s: got %v, want a *devices.CompileError", src.Name, err)
	}
	if p == nil {
		return ce.Log
	}
	return p.Log(ce.Log)
}
