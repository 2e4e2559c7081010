package toolchain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// script makes a program of a shell script, which stands for a tool.
func script(t *testing.T, text string) Tools {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the tools are shell scripts")
	}
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return Tools{Yosys: path, Timeout: 20 * time.Second}
}

func TestRun(t *testing.T) {
	t.Setenv("SECRET_OF_THE_CALLER", "x")
	dir := t.TempDir()
	tools := script(t, `pwd; echo "$1|$HOME|$TMPDIR|$SECRET_OF_THE_CALLER"; echo late >&2`)
	out, err := tools.Run(t.Context(), dir, Yosys, "a b; $(c)")
	if want := dir + "\na b; $(c)|" + dir + "|" + dir + "|\nlate\n"; err != nil || out != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
	_, err = script(t, "echo no; exit 3").Run(t.Context(), dir, Yosys)
	var run *RunError
	if !errors.As(err, &run) || run.Log != "no\n" || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a failure: %v", err)
	}
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	tools := script(t, "sleep 100 & sleep 100")
	tools.Timeout = 200 * time.Millisecond
	begun := time.Now()
	_, err := tools.Run(t.Context(), dir, Yosys)
	if !errors.Is(err, devices.ErrTimeout) || !strings.Contains(err.Error(), "not finished after 200ms") || time.Since(begun) > 15*time.Second {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tools.Run(ctx, dir, Yosys); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	out, err := script(t, "head -c 3000000 /dev/zero").Run(t.Context(), dir, Yosys)
	if err != nil || len(out) > maxOutput+100 || !strings.HasSuffix(out, "(cut)\n") {
		t.Errorf("%d bytes said, %v", len(out), err)
	}
}

func TestMissing(t *testing.T) {
	tools := Tools{Yosys: "no-such-yosys", Nextpnr: "no-such-nextpnr", CXX: "sh"}
	err := tools.Missing(Yosys, CXX, Nextpnr)
	hint, missing := IsMissing(err)
	if !missing || !errors.Is(err, devices.ErrUnavailable) || hint != "apt-get install yosys nextpnr-ice40 fpga-icestorm" || !strings.Contains(err.Error(), "no-such-yosys, no-such-nextpnr") {
		t.Errorf("%v; %q", err, hint)
	}
	if runtime.GOOS != "windows" && tools.Missing(CXX) != nil {
		t.Error("sh is missing")
	}
	if _, err := tools.Run(t.Context(), t.TempDir(), Yosys); !errors.Is(err, devices.ErrUnavailable) {
		t.Errorf("running what is missing: %v", err)
	}
}
