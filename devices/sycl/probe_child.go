package sycl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/sycl/find"
	"path/filepath"
)

// probeChildVariable makes a program that calls RunProbeChild a probe child.
const probeChildVariable = "TANDEM_PROBE_CHILD"

// reportMark stands before the child's report: a runtime may write to standard
// output too.
const reportMark = "tandem-probe-report "

// childReport is what a probe child found.
type childReport struct {
	Devices int    `json:"devices"`
	Error   string `json:"error,omitempty"` // it did not load: not the child's failure
}

// RunProbeChild loads the SYCL runtime, lists its devices and reports whether
// it did. A program whose path is a Driver's Child calls it before anything
// else and returns at once when it is true. It does nothing unless a Driver of
// the parent process started the program for that.
func RunProbeChild() (handled bool) {
	if os.Getenv(probeChildVariable) != backend {
		return false
	}
	var report childReport
	if r, ok := find.SYCL(); !ok {
		report.Error = "the runtime is gone"
	} else if a, err := load(r, os.Getenv(ShimVariable)); err != nil {
		report.Error = err.Error()
	} else if list, err := a.describe(); err != nil {
		report.Error = err.Error()
	} else {
		report.Devices = len(list)
	}
	if b, err := json.Marshal(report); err == nil {
		fmt.Printf("\n%s%s\n", reportMark, b)
	}
	return true
}

// verdict is what asking in a child led to. It is kept on disk for as long as
// the libraries do not change.
type verdict struct {
	Broken string // "": it went well
	At     time.Time
}

// badFor is how long a verdict against a runtime holds: it may have been the
// machine's state and not the runtime.
const badFor = 24 * time.Hour

// askInChild finds out whether the runtime can be loaded. Without a Child it
// is taken to be so.
func (d *Driver) askInChild(ctx context.Context, r find.Runtime, shim string) error {
	if d.Child == "" {
		return nil
	}
	dir := ""
	if root := d.cacheRoot(); root != "" {
		dir = filepath.Join(root, "probe")
	}
	cache := buildcache.Open(dir, 1<<20)
	key := buildcache.MakeKey("sycl probe 1", stamp(r.SYCL), stamp(r.OpenCL), stamp(r.IntelOpenCL), stamp(shim),
		os.Getenv("ONEAPI_DEVICE_SELECTOR"), os.Getenv("OCL_ICD_VENDORS"), os.Getenv(filenamesVariable), os.Getenv("LD_LIBRARY_PATH"))
	var v verdict
	if e, ok := cache.Get(key); !ok || json.Unmarshal(e.Meta, &v) != nil || v.Broken != "" && time.Since(v.At) > badFor {
		how, err := d.runChild(ctx, shim)
		if err != nil {
			return err
		}
		v = verdict{Broken: how, At: time.Now()}
		if b, err := json.Marshal(v); err == nil {
			cache.Put(key, buildcache.Entry{Meta: b})
		}
	}
	if v.Broken == "" {
		return nil
	}
	return &devices.LoadError{Driver: backend, Tried: []string{r.SYCL},
		Err: &missingError{v.Broken, "see what `sycl-ls` says, or name another runtime with " + find.RootVariable}}
}

// runChild asks in a child. The text says how the runtime broke; "" that it
// did not.
func (d *Driver) runChild(ctx context.Context, shim string) (string, error) {
	limit := d.timeout()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(bounded, d.Child)
	cmd.Env = append(os.Environ(), probeChildVariable+"="+backend, ShimVariable+"="+shim, "GOTRACEBACK=none")
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	var out, errs head
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	if err == nil {
		for line := range bytes.Lines(out.b) {
			body, ok := bytes.CutPrefix(line, []byte(reportMark))
			var report childReport
			if ok && json.Unmarshal(body, &report) == nil {
				return "", nil // also with an error: it comes again, as an error and not as a crash
			}
		}
		return "it ended the process while being asked (exit status 0)", nil
	}
	var exit *exec.ExitError
	switch {
	case bounded.Err() != nil:
		return fmt.Sprintf("it gave no answer within %v", limit), nil
	case errors.As(err, &exit):
		return "it broke while being asked (" + death(exit, string(errs.b)) + ")", nil
	}
	return "", nil // the child itself cannot be run: ask in this process, as without it
}

// head keeps the first 64 KiB written to it.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 1<<16-len(h.b))]...)
	return len(p), nil
}

// death says how a child ended. Go's runtime catches the signals by which C
// code dies, prints their name and exits with status 2, so the text tells and
// not the status.
func death(exit *exec.ExitError, stderr string) string {
	for _, name := range []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS"} {
		if strings.Contains(stderr, name) {
			return name
		}
	}
	return exit.Error()
}
