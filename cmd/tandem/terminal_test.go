//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// program is the test binary, which is tandem when called so.
func program(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "tandem")
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(link, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "TANDEM_CACHE_DIR="+filepath.Join(dir, ".cache"))
	return c
}

// terminal opens a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

func writeFloats(t *testing.T, path string, v []float32) {
	t.Helper()
	h := arrayfile.Header{DType: devices.Float32, Shape: []int64{int64(len(v))}}
	if err := arrayfile.Write(path, h, devices.AsBytes(v), arrayfile.Options{}); err != nil {
		t.Fatal(err)
	}
}

const barJob = `buffers:
  x: {file: x.npy}
  t: {dtype: float32, shape: [65536], out: t.npy}
steps:
  - for: {k: [0, 40]}
    steps:
      - {kernel: vector.saxpy, args: {a: 2, x: x, y: t}}
`

// runOnTerminal runs tandem with standard error on a terminal and returns what
// the terminal got.
func runOnTerminal(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	writeFloats(t, filepath.Join(dir, "x.npy"), make([]float32, 65536))
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(barJob), 0o600); err != nil {
		t.Fatal(err)
	}
	master, slave := terminal(t)
	c := program(t, dir, args...)
	c.Env = append(c.Env, opencl.LibraryVariable+"=/no/such/library.so", "TERM=xterm")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, slave
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		t.Fatal(err)
	}
	// Reading ends with an error once the program has closed its side.
	shown, _ := io.ReadAll(master)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v; the terminal shows %q", err, shown)
	}
	return string(shown)
}

func TestProgressBarOnTerminal(t *testing.T) {
	shown := runOnTerminal(t, "run", "job.yaml")
	if !strings.Contains(shown, "40 / 40 tasks") {
		t.Errorf("the terminal shows %q, want a bar that ends at 40 / 40 tasks", shown)
	}
}

func TestNoProgressBarWhenQuiet(t *testing.T) {
	if shown := runOnTerminal(t, "run", "job.yaml", "--quiet"); shown != "" {
		t.Errorf("the terminal shows %q, want nothing", shown)
	}
}

// burnCL runs for a time that grows with its count. It cannot be stopped.
const burnCL = `__kernel void burn(__global uint *x, uint count) {
    uint i = get_global_id(0), v = x[i];
    for (uint k = 0; k < count; k++) v = v * 1664525u + 1013904223u;
    x[i] = v;
}
`

// startBurn starts a run that takes minutes, and waits until its kernel runs:
// the program then uses all of the cores.
func startBurn(t *testing.T) (c *exec.Cmd, dir string, stderr *bytes.Buffer) {
	t.Helper()
	requireOpenCL(t)
	dir = t.TempDir()
	h := arrayfile.Header{DType: devices.Uint32, Shape: []int64{64}}
	for name, v := range map[string]uint32{"x.npy": 1, "result.npy": 4242} {
		data := make([]uint32, 64)
		for i := range data {
			data[i] = v
		}
		if err := arrayfile.Write(filepath.Join(dir, name), h, devices.AsBytes(data), arrayfile.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	job := "buffers: {x: {file: x.npy, out: result.npy}}\nsteps:\n" +
		"  - {id: burn, kernel: {file: burn.cl}, global: [64], local: [32], args: [{buf: x, mode: rw}, {val: 4000000000, type: uint}]}\n"
	for name, text := range map[string]string{"burn.cl": burnCL, "job.yaml": job} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stderr = &bytes.Buffer{}
	c = program(t, dir, "run", "job.yaml", "--devices", "opencl", "--trace", "t.json", "--json")
	c.Stderr, c.Stdout = stderr, &bytes.Buffer{}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // nothing to kill where the test went well
	// Compiling takes the time of about a second of one core; a program that
	// has used three is in its kernel.
	deadline := time.Now().Add(time.Minute)
	for cpuTime(t, c.Process.Pid) < 3*time.Second {
		if time.Now().After(deadline) {
			t.Fatalf("the kernel does not run; standard error: %s", stderr)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return c, dir, stderr
}

// cpuTime is what a process has used so far.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	var user, system int64
	if _, err := fmt.Sscan(f[11]+" "+f[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // clock ticks of 1/100 s
}

// checkInterrupted checks how an interrupted run ended and what it left.
func checkInterrupted(t *testing.T, c *exec.Cmd, dir string, code int, limit time.Duration, begun time.Time, stderr *bytes.Buffer) {
	t.Helper()
	err := c.Wait()
	if took := time.Since(begun); took > limit {
		t.Errorf("it took %v to end, want at most %v", took, limit)
	}
	if got := c.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d (%v), want %d; standard error: %s", got, err, code, stderr)
	}
	out := c.Stdout.(*bytes.Buffer)
	var doc failureJSON
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Exit != code || len(doc.Faults) != 1 {
		t.Errorf("document %q (%v), want one with exit %d and one fault", out, err, code)
	}
	var got []uint32
	if _, err := arrayfile.Read(filepath.Join(dir, "result.npy"), arrayfile.Options{}, func(arrayfile.Header) ([]byte, error) {
		got = make([]uint32, 64)
		return devices.AsBytes(got), nil
	}); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != 4242 {
			t.Fatalf("result[%d] is %d, want the 4242 from before", i, v)
		}
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := ".cache burn.cl job.yaml result.npy x.npy"; strings.Join(left, " ") != want {
		t.Errorf("the folder holds %v, want %s", left, want)
	}
}

func TestInterruptLeavesARunningKernel(t *testing.T) {
	for _, tt := range []struct {
		sig  os.Signal
		code int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}} {
		t.Run(tt.sig.String(), func(t *testing.T) {
			c, dir, stderr := startBurn(t)
			begun := time.Now()
			if err := c.Process.Signal(tt.sig); err != nil {
				t.Fatal(err)
			}
			checkInterrupted(t, c, dir, tt.code, 6*time.Second, begun, stderr)
			if !strings.Contains(stderr.String(), "cannot be stopped") {
				t.Errorf("standard error %q does not say that a kernel still runs", stderr)
			}
		})
	}
}

func TestSecondInterruptEndsAtOnce(t *testing.T) {
	c, dir, stderr := startBurn(t)
	begun := time.Now()
	for range 2 {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // two at once may arrive as one
	}
	checkInterrupted(t, c, dir, 130, 2*time.Second, begun, stderr)
}

// TestInterruptDrains interrupts a run of many short tasks: it ends by itself.
func TestInterruptDrains(t *testing.T) {
	dir := t.TempDir()
	writeFloats(t, filepath.Join(dir, "x.npy"), make([]float32, 1<<20))
	job := "buffers:\n  x: {file: x.npy, out: y.npy}\nsteps:\n  - {kernel: vector.scale.f64, repeat: 5000, args: {a: 1, x: t, y: u}}\n"
	job = strings.Replace(job, "steps:", "  t: {dtype: float64, shape: [1000000]}\n  u: {dtype: float64, shape: [1000000]}\nsteps:", 1)
	if err := os.WriteFile(filepath.Join(dir, "job.yaml"), []byte(job), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	c := program(t, dir, "run", "job.yaml", "--devices", "cpu")
	c.Env = append(c.Env, opencl.LibraryVariable+"=/no/such/library.so")
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	deadline := time.Now().Add(time.Minute)
	for cpuTime(t, c.Process.Pid) < 300*time.Millisecond {
		if time.Now().After(deadline) {
			t.Fatal("the run does not begin")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // the code says it
	if got := c.ProcessState.ExitCode(); got != 130 {
		t.Errorf("exit code %d, want 130; standard error: %s", got, stderr.String())
	}
	if got := stderr.String(); !strings.Contains(got, "tandem: interrupted; no output was written") || strings.Contains(got, "cannot be stopped") {
		t.Errorf("standard error %q, want that it was interrupted, and drained", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "y.npy")); err == nil {
		t.Error("an interrupted run wrote its output")
	}
}
