// Package toolchain finds and runs the programs that FPGA kernels are read,
// built and measured with: yosys, verilator, a C++ compiler and nextpnr.
//
// Kernels are not trusted: no shell is involved, a tool runs in a folder of
// its own with an environment that holds nothing of the caller's but what it
// needs, and with bounds on time, processor time, memory, file size and the
// length of what it says.
package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Tools are the programs. An empty field is looked up by its usual name; a
// Tools is a value and holds no state.
type Tools struct {
	Yosys     string // default "yosys"
	Verilator string // default "verilator"
	CXX       string // default: what the environment variable CXX says, else "g++"
	Nextpnr   string // default "nextpnr-ice40"

	// Timeout bounds one run of one tool. Default: 2 minutes.
	Timeout time.Duration
}

func (t Tools) withDefaults() Tools {
	set := func(field *string, values ...string) {
		for _, v := range values {
			if *field == "" {
				*field = v
			}
		}
	}
	set(&t.Yosys, "yosys")
	set(&t.Verilator, "verilator")
	set(&t.CXX, os.Getenv("CXX"), "g++")
	set(&t.Nextpnr, "nextpnr-ice40")
	if t.Timeout <= 0 {
		t.Timeout = 2 * time.Minute
	}
	return t
}

// A Tool is one program of a set.
type Tool int

// The tools.
const (
	Yosys Tool = iota
	Verilator
	CXX
	Nextpnr
)

// Debian's packages of the tools.
var packages = [...]string{"yosys", "verilator", "g++", "nextpnr-ice40 fpga-icestorm"}

func (t Tools) name(tool Tool) string {
	t = t.withDefaults()
	return [...]string{t.Yosys, t.Verilator, t.CXX, t.Nextpnr}[tool]
}

// A MissingError says which programs are not installed and how to get them. It
// wraps devices.ErrUnavailable.
type MissingError struct {
	Programs []string
	Packages []string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("not installed: %s: %v", strings.Join(e.Programs, ", "), devices.ErrUnavailable)
}

// Hint is the command that installs what is missing.
func (e *MissingError) Hint() string { return "apt-get install " + strings.Join(e.Packages, " ") }

// Unwrap gives devices.ErrUnavailable.
func (e *MissingError) Unwrap() error { return devices.ErrUnavailable }

// Missing is a *MissingError if one of the tools cannot be found, else nil.
func (t Tools) Missing(tools ...Tool) error {
	var missing MissingError
	for _, tool := range tools {
		if _, err := exec.LookPath(t.name(tool)); err != nil {
			missing.Programs = append(missing.Programs, t.name(tool))
			missing.Packages = append(missing.Packages, packages[tool])
		}
	}
	if len(missing.Programs) == 0 {
		return nil
	}
	return &missing
}

// Path is where a tool was found.
func (t Tools) Path(tool Tool) (string, error) {
	path, err := exec.LookPath(t.name(tool))
	if err != nil {
		return "", &MissingError{[]string{t.name(tool)}, []string{packages[tool]}}
	}
	return filepath.Abs(path)
}

// Version is the first line of what a tool says of itself.
func (t Tools) Version(ctx context.Context, tool Tool) (string, error) {
	flag := "--version"
	if tool == Yosys {
		flag = "-V"
	}
	if path, err := t.Path(tool); err == nil && tool == Verilator {
		// verilator is a script around the program beside it, and takes ten
		// times as long to say the same.
		if _, err := os.Stat(path + "_bin"); err == nil {
			t.Verilator = path + "_bin"
		}
	}
	dir, err := os.MkdirTemp("", "tandem-tool-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	out, err := t.Run(ctx, dir, tool, flag)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return line, nil
}

// A RunError is a tool that failed. Its Error is one line; Log is all that the
// tool said.
type RunError struct {
	Tool string
	Log  string
	Err  error // *exec.ExitError, a timeout (devices.ErrTimeout) or the context's cause
}

func (e *RunError) Error() string { return fmt.Sprintf("%s: %v", e.Tool, e.Err) }

// Unwrap gives the cause.
func (e *RunError) Unwrap() error { return e.Err }

// What a tool may use.
const (
	maxOutput    = 1 << 20 // bytes of standard output and error kept
	maxMemory    = 8 << 30 // bytes of address space
	maxFile      = 1 << 30 // bytes of one file
	graceForExit = 5 * time.Second
)

// Run runs a tool in dir and returns what it said on standard output and
// error, in order; what is longer than a megabyte is cut. A failure is a
// *RunError. On a timeout, or when ctx ends, the tool and what it started are
// killed.
func (t Tools) Run(ctx context.Context, dir string, tool Tool, args ...string) (string, error) {
	t = t.withDefaults()
	path, err := t.Path(tool)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, fmt.Errorf("not finished after %v: %w", t.Timeout, devices.ErrTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir
	cmd.Env = environment(dir)
	cmd.WaitDelay = graceForExit
	var out bounded
	cmd.Stdout, cmd.Stderr = &out, &out
	confine(cmd)
	if err := cmd.Start(); err != nil {
		return "", &RunError{t.name(tool), "", err}
	}
	limit(cmd.Process.Pid, t.Timeout)
	err = cmd.Wait()
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	if err != nil {
		return out.String(), &RunError{t.name(tool), out.String(), err}
	}
	return out.String(), nil
}

// environment is what a tool sees: where programs are, and its own folder for
// everything that it keeps.
func environment(dir string) []string {
	env := []string{"HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C"}
	for _, name := range []string{"PATH", "VERILATOR_ROOT", "LD_LIBRARY_PATH", "SystemRoot"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// bounded keeps the first maxOutput bytes.
type bounded struct {
	buf bytes.Buffer
	cut bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxOutput - b.buf.Len(); len(p) > room {
		b.buf.Write(p[:room])
		b.cut = true
		return len(p), nil
	}
	return b.buf.Write(p)
}

func (b *bounded) String() string {
	if b.cut {
		return b.buf.String() + "\n(cut)\n"
	}
	return b.buf.String()
}

// IsMissing reports whether err says that a tool is not installed, and how to
// get it.
func IsMissing(err error) (hint string, missing bool) {
	var m *MissingError
	if errors.As(err, &m) {
		return m.Hint(), true
	}
	return "", false
}
