package robustness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running is a call of the program that goes on.
type running struct {
	t              *testing.T
	cmd            *exec.Cmd
	tmp            string // its folder for temporary files
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

func start(t *testing.T, dir string, settings []string, args ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(program, args...), tmp: t.TempDir(), ended: make(chan struct{})}
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = dir, &r.stdout, &r.stderr
	r.cmd.Env = environment(append(settings, "TMPDIR="+r.tmp)...)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		_ = r.cmd.Wait() // the exit code tells
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.ended
	})
	return r
}

// over reports whether the program has ended.
func (r *running) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// until polls until something is true of the program, which must not end.
func (r *running) until(what string, is func() bool) {
	r.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(limit)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			r.t.Fatalf("not yet %s", what)
		case <-r.ended:
			r.t.Fatalf("ended before it was %s, with code %d\n%s%s", what, r.cmd.ProcessState.ExitCode(), &r.stdout, &r.stderr)
		}
	}
}

// busy waits until the program has computed for so long, on all threads.
func (r *running) busy(cpu time.Duration) {
	r.t.Helper()
	r.until("computing", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.cmd.Process.Pid))
		if err != nil {
			return false
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		user, err1 := strconv.Atoi(f[11])
		system, err2 := strconv.Atoi(f[12])
		const tick = 10 * time.Millisecond // USER_HZ is 100 everywhere
		return err1 == nil && err2 == nil && time.Duration(user+system)*tick >= cpu
	})
}

// signal sends a signal and waits for the end, which has to come in time with
// the code. again sends more of it until then.
func (r *running) signal(s syscall.Signal, code int, most time.Duration, again bool) {
	r.t.Helper()
	begun := time.Now()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
	var more <-chan time.Time
	if again {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		more = tick.C
	}
	late := time.After(most + 10*time.Second)
	for {
		select {
		case <-more:
			_ = r.cmd.Process.Signal(s) // it may be over
			continue
		case <-late:
			r.t.Fatalf("still there %v after %v", time.Since(begun), s)
		case <-r.ended:
		}
		break
	}
	if took := time.Since(begun); took > most {
		r.t.Errorf("ended %v after %v, want at most %v", took, s, most)
	}
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		r.t.Errorf("exit code %d after %v, want %d\n%s", got, s, code, &r.stderr)
	}
	if pids := leftBehind(r.t); len(pids) > 0 {
		r.t.Errorf("processes %v are left behind", pids)
	}
	if left := contents(r.t, r.tmp); len(left) > 0 {
		r.t.Errorf("temporary files are left behind: %v", ordered(left))
	}
	if r.stdout.Len() > 0 && !json.Valid(r.stdout.Bytes()) {
		r.t.Errorf("standard output is no JSON document: %q", &r.stdout)
	}
}

// TestInterrupt: a run that a signal ends leaves in time and with the signal's
// code, the old result as it was, and nothing behind it.
func TestInterrupt(t *testing.T) {
	needOpenCL(t)
	shared := contents(t, "/dev/shm")
	prepare := func(t *testing.T) string {
		dir := folder(t, "16-interrupted-runs")
		if err := os.Rename(filepath.Join(dir, "old_result.npy"), filepath.Join(dir, "result.npy")); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	afterwards := func(t *testing.T, dir string) {
		holds(t, dir, "result.npy", repeated(4242, 64)...)
		if now := contents(t, "/dev/shm"); len(now) > len(shared) {
			t.Errorf("shared memory is left behind: %v", ordered(now))
		}
		ran(t, dir, "job-short.yaml")
		sameFile(t, dir, "result.npy", "want_1000.npy")
	}
	for _, c := range []struct {
		name  string
		sig   syscall.Signal
		code  int
		most  time.Duration
		again bool
	}{
		{"SIGINT", syscall.SIGINT, 130, 5 * time.Second, false},
		{"SIGTERM", syscall.SIGTERM, 143, 5 * time.Second, false},
		{"second SIGINT", syscall.SIGINT, 130, time.Second, true},
		{"second SIGTERM", syscall.SIGTERM, 143, time.Second, true},
	} {
		t.Run(c.name+" in a kernel", func(t *testing.T) {
			dir := prepare(t)
			before := contents(t, dir)
			r := start(t, dir, nil, "run", "job-long.yaml", "--json")
			r.busy(1500 * time.Millisecond)
			r.signal(c.sig, c.code, c.most, c.again)
			unchanged(t, dir, before)
			text := r.stderr.String()
			if !c.again && !strings.Contains(text, "interrupted") && !strings.Contains(text, "terminated") {
				t.Errorf("standard error does not say why it ended: %q", text)
			}
			afterwards(t, dir)
		})
		t.Run(c.name+" between kernels", func(t *testing.T) {
			dir := folder(t, "06-handle-leak")
			edit(t, dir, "job.yaml", "repeat: 200000", "repeat: 100000000")
			before := contents(t, dir)
			r := start(t, dir, nil, "run", "job.yaml")
			r.busy(1500 * time.Millisecond)
			r.signal(c.sig, c.code, 2*time.Second, c.again)
			unchanged(t, dir, before)
		})
	}
	t.Run("SIGKILL", func(t *testing.T) {
		dir := prepare(t)
		before := contents(t, dir)
		r := start(t, dir, nil, "run", "job-long.yaml")
		r.busy(1500 * time.Millisecond)
		r.signal(syscall.SIGKILL, -1, time.Second, false)
		unchanged(t, dir, before)
		afterwards(t, dir)
	})
	t.Run("SIGINT while a vendor library hangs", func(t *testing.T) {
		entries := vendors(t, map[string]string{"hang.icd": broken(t, "libhang.so", 2)})
		r := start(t, t.TempDir(), []string{entries, "TANDEM_CACHE_DIR=" + t.TempDir()}, "probe")
		r.until("asking", func() bool { return len(leftBehind(t)) > 1 })
		r.signal(syscall.SIGINT, 130, 2*time.Second, false)
	})
}
