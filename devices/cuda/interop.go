package cuda

import (
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// This file is for programs that use CUDA themselves, through another library:
// contexts and memory go both ways. See also Driver.Context.

// deviceOf is the GPU of a context.
func (a *api) deviceOf(context uintptr) (int32, error) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if code := a.call(a.ctxPush, context); code != success {
		return 0, fmt.Errorf("cuda: the context %#x: %w", context, failed(code, "cuCtxPushCurrent"))
	}
	dev, old := new(int32), new(uintptr)
	code := a.call(a.ctxGetDevice, uintptr(unsafe.Pointer(dev)))
	a.call(a.ctxPop, uintptr(unsafe.Pointer(old)))
	if code != success {
		return 0, fmt.Errorf("cuda: the context %#x: %w", context, failed(code, "cuCtxGetDevice"))
	}
	return *dev, nil
}

// ours is the device behind d and its wrappers.
func ours(d devices.Device) (*device, error) {
	if own, ok := devices.As[*device](d); ok {
		return own, nil
	}
	return nil, fmt.Errorf("cuda: a device of another driver: %w", devices.ErrInvalid)
}

// ContextOf is the CUcontext in which d works, until d is closed: the GPU's
// primary context, or the one that was given to the Driver.
func ContextOf(d devices.Device) (uintptr, error) {
	own, err := ours(d)
	if err != nil {
		return 0, err
	}
	if err := own.usable("context"); err != nil {
		return 0, err
	}
	return own.ctx, nil
}

// MemoryOf makes a buffer of d of size bytes of device memory at address (a
// CUdeviceptr) that the caller allocated in d's context. It stays the
// caller's: Free forgets it, and the caller frees it after that. The
// caller's own work on it has to be done before a command that uses the buffer
// is enqueued.
func MemoryOf(d devices.Device, address uintptr, size int64) (devices.Buffer, error) {
	own, err := ours(d)
	if err != nil {
		return nil, err
	}
	if err := own.usable("memory of somebody else"); err != nil {
		return nil, err
	}
	if size < 0 || size > own.info.MemoryTotal || (address == 0) != (size == 0) {
		return nil, fmt.Errorf("%s: %d bytes at %#x are no device memory: %w", own.info.ID, size, address, devices.ErrInvalid)
	}
	return own.newBuffer(&buffer{address: address, size: size, foreign: true}), nil
}

// AddressOf is the device address (a CUdeviceptr) of a buffer of this driver;
// 0 for one of size 0. It is valid until the buffer is freed. Commands that
// the caller gives to CUDA itself are not ordered with those of queues: wait
// for their events first.
func AddressOf(b devices.Buffer) (uintptr, error) {
	own, ok := b.(*buffer)
	switch {
	case !ok || own == nil:
		return 0, fmt.Errorf("cuda: a buffer of another driver: %w", devices.ErrInvalid)
	case own.freed.Load():
		return 0, fmt.Errorf("%s: the buffer of %d bytes was freed: %w", own.d.info.ID, own.size, devices.ErrClosed)
	}
	return own.address, nil
}
