package opencl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// failOn gives the conformance kit a command that the library accepted and
// that failed: a marker with a predecessor that breaks afterwards, of which
// the library knows nothing. A failure that the library itself reports is no
// choice here: after one, PoCL 3.1 never returns from clFinish on that queue,
// and takes the commands behind it along (TestNativeFailure).
func failOn(dq devices.Queue) (devices.Event, error) {
	q := dq.(*queue)
	bad, err := q.d.pool.get(q.d)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	e, err := q.event(command{kernel: "test"})
	if err == nil {
		if code := q.d.api.call(q.d.api.enqueueMarkerWithWaitList, q.handle, 0, 0, uintptr(unsafe.Pointer(&e.mem.handle))); code != success {
			err = fmt.Errorf("marker: %s", symbol(code))
		}
	}
	if err != nil {
		q.mu.Unlock()
		return nil, err
	}
	e.deps = append(e.deps, bad) // takes the reference
	bad.err = fmt.Errorf("%s: a command that fails on purpose: %w", q.d.info.ID, devices.ErrInvalid)
	bad.state.Store(broke)
	q.deps = q.deps[:0]
	q.enqueued(e)
	ev := q.hand(e)
	q.mu.Unlock()
	_ = devices.Wait(context.Background(), ev)
	return ev, nil
}

// inChild runs one test alone in a process of its own, for what would spoil
// this one. It reports whether this is that process.
func inChild(t *testing.T, env ...string) bool {
	t.Helper()
	const variable = "TANDEM_TEST_ALONE"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(append(os.Environ(), variable+"="+t.Name()), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// userEvent makes an event that the test finishes with the function returned.
func (d *device) userEvent() (*event, func(status int32) int32, error) {
	e, err := d.pool.get(d)
	if err != nil {
		return nil, nil, err
	}
	code := new(int32)
	e.mem.handle = dl.Call(d.api.createUserEvent, d.ctx, uintptr(unsafe.Pointer(code)))
	if *code != success {
		return nil, nil, fmt.Errorf("clCreateUserEvent: %s", symbol(*code))
	}
	e.statusArgs[0] = e.mem.handle
	e.cmd = command{kernel: "test"}
	d.open[kindEvent].Add(1)
	handle := e.mem.handle
	return e, func(status int32) int32 { return d.api.call(d.api.setUserEventStatus, handle, uintptr(status)) }, nil
}

// outcome asks until a command has finished.
func outcome(t *testing.T, e devices.Event) error {
	t.Helper()
	for {
		if done, err := e.Done(); done {
			return err
		}
		if t.Context().Err() != nil {
			t.Fatal("not finished")
		}
		goruntime.Gosched()
	}
}

// TestNativeFailure has the library fail commands that are in flight.
func TestNativeFailure(t *testing.T) {
	need(t)
	if !inChild(t) {
		return
	}
	defer os.Exit(0) // the queues cannot be closed any more, see failOn
	d := open(t, 0)
	q, q2 := newQueue(t, d), newQueue(t, d)
	bad, set, err := d.userEvent()
	if err != nil {
		t.Fatal(err)
	}
	bad.q = q
	k := kernelOf(t, compile(t, d, "__kernel void inc(__global int *x) { x[get_global_id(0)] += 1; }"), "inc")
	x := alloc(t, d, 64)
	upload(t, q2, x, make([]byte, 64))
	l := &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{16}}, Args: []devices.Arg{{Buffer: x}}}
	first := enqueue(t, q, l, bad)
	second := enqueue(t, q2, l, first)
	if code := set(-5); code != success {
		t.Fatalf("clSetUserEventStatus: %s", symbol(code))
	}
	// Asking and not being told: PoCL 3.1 calls back only for success.
	err2, err1, badErr := outcome(t, second), outcome(t, first), outcome(t, bad)
	if !errors.Is(badErr, devices.ErrOutOfMemory) || !strings.Contains(badErr.Error(), "CL_OUT_OF_RESOURCES") {
		t.Errorf("the failed event: %v", badErr)
	}
	if err1 == nil || err1 != badErr || err2 != badErr {
		t.Errorf("the commands that wait for it: %v and %v, want %v", err1, err2, badErr)
	}
	late := enqueue(t, q2, l, second)
	if done, err := late.Done(); !done || err != badErr {
		t.Errorf("a command enqueued after the failure: %v, %v", done, err)
	}
	if _, err := late.Times(); err != nil {
		t.Errorf("times of a failed command: %v", err)
	}
	if t.Failed() {
		os.Exit(1)
	}
}
