package opencl

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

	"github.com/tandemrun/tandem/devices/internal/dl"
)

// probeChildVariable makes a program that calls RunProbeChild a probe child.
const probeChildVariable = "TANDEM_PROBE_CHILD"

// vendorMode is its value where the library is no loader.
const vendorMode = "opencl-vendor"

// reportMark stands before the child's report: a vendor library may write to
// standard output too.
const reportMark = "tandem-probe-report "

// childReport is what a probe child found.
type childReport struct {
	Platforms int      `json:"platforms"`
	Devices   int      `json:"devices"`
	Error     string   `json:"error,omitempty"` // the library did not load: not the child's failure
	Notes     []string `json:"notes,omitempty"` // entries whose library does not load
}

// RunProbeChild asks the vendor libraries and reports whether it did. A
// program whose path is a Driver's Child calls it before anything else and
// returns at once when it is true:
//
//	func main() {
//		if opencl.RunProbeChild() {
//			return
//		}
//
// It does nothing unless a Driver of the parent process started the program
// for that.
func RunProbeChild() (handled bool) {
	mode := os.Getenv(probeChildVariable)
	if mode != backend && mode != vendorMode {
		return false
	}
	var report childReport
	d := &Driver{Beside: besideFromEnvironment()}
	d.Beside.load()
	if a, err := load(d.libraryNames()); err != nil {
		report.Error = err.Error()
	} else {
		found := (&library{api: a}).list(selection{})
		report.Platforms, report.Devices = found.platforms, len(found.devices)
	}
	var list []icd
	if mode == backend {
		list = icds()
	}
	for _, i := range list {
		note := i.missing()
		if note == "" {
			if _, err := dl.Open(i.Library); err != nil {
				note = fmt.Sprintf("%s: %v", i.name(), err)
			}
		}
		if note != "" {
			report.Notes = append(report.Notes, "vendor entry without effect: "+note)
		}
	}
	b, err := json.Marshal(report)
	if err == nil {
		fmt.Printf("\n%s%s\n", reportMark, b)
	}
	return true
}

// brokenError says how a vendor library broke while it was asked.
type brokenError struct{ how string }

func (e *brokenError) Error() string { return e.how }

// runChild asks with env added to the environment. A *brokenError is the
// vendor library's doing, another error is not.
func (d *Driver) runChild(ctx context.Context, env ...string) (childReport, error) {
	limit := d.timeout()
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(bounded, d.Child)
	mode := backend
	if d.Vendor {
		mode = vendorMode
	}
	cmd.Env = append(os.Environ(), probeChildVariable+"="+mode, "GOTRACEBACK=none")
	if name := d.customLibrary(); name != "" {
		cmd.Env = append(cmd.Env, LibraryVariable+"="+name)
	}
	cmd.Env = append(append(cmd.Env, d.Beside.environment()...), env...)
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	var out, errs head
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return childReport{}, cause
	}
	if err == nil {
		for line := range bytes.Lines(out.b) {
			if body, ok := bytes.CutPrefix(line, []byte(reportMark)); ok {
				var report childReport
				if json.Unmarshal(body, &report) == nil {
					return report, nil
				}
			}
		}
		return childReport{}, &brokenError{"it ended the process while being asked (exit status 0)"}
	}
	var exit *exec.ExitError
	switch {
	case bounded.Err() != nil:
		return childReport{}, &brokenError{fmt.Sprintf("it gave no answer within %v", limit)}
	case errors.As(err, &exit):
		return childReport{}, &brokenError{"it broke while being asked (" + death(exit, string(errs.b)) + ")"}
	}
	return childReport{}, err
}

// head keeps the first 64 KiB written to it.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 1<<16-len(h.b))]...)
	return len(p), nil
}

// signals are those by which C code dies. Go's runtime catches them, prints
// their name and exits with status 2, so the text tells and not the status.
var signals = [...]struct {
	name   string
	number int
}{{"SIGSEGV", 11}, {"SIGABRT", 6}, {"SIGBUS", 7}, {"SIGILL", 4}, {"SIGFPE", 8}, {"SIGTRAP", 5}, {"SIGSYS", 31}}

// death says how a child ended.
func death(exit *exec.ExitError, stderr string) string {
	for _, s := range signals {
		if strings.Contains(stderr, s.name) {
			return fmt.Sprintf("signal %d, %s", s.number, s.name)
		}
	}
	return exit.Error()
}
