package toolchain

import (
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// confine makes the tool the head of a process group of its own, which dies
// as a whole.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// limit bounds what the process may use. It is set from outside, a moment
// after the start: what the process has started by then is bounded by time
// alone.
func limit(pid int, timeout time.Duration) {
	seconds := uint64(timeout/time.Second) + 1
	for resource, most := range map[int]uint64{
		unix.RLIMIT_AS: maxMemory, unix.RLIMIT_FSIZE: maxFile, unix.RLIMIT_CPU: seconds, unix.RLIMIT_CORE: 0,
	} {
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
	}
}
