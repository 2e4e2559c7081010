// Package gorgonia shares CUDA contexts and device memory between tandem and
// programs that use gorgonia.org/cu. It is a module of its own: cu needs cgo,
// CUDA's headers (of CUDA 12 or earlier) and libcuda when a program is linked,
// and tandem itself needs none of them.
//
// Both sides have to use the same libcuda, which is so unless
// TANDEM_CUDA_LIBRARY names another one.
package gorgonia

import (
	"context"
	"fmt"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda"
	tandem "github.com/tandemrun/tandem/runtime"
)

// A cu.CUContext is a struct around one C pointer, which it does not give away.
const _ = uint(unsafe.Sizeof(cu.CUContext{}) - unsafe.Sizeof(uintptr(0)))

// Driver makes a driver for tandem.Config.Drivers that shows one device, the
// GPU of ctx, and works in ctx. The caller keeps ctx until the session is
// closed. tandem makes ctx current for the time of its calls and then puts
// back what was.
func Driver(ctx cu.CUContext) *cuda.Driver {
	return &cuda.Driver{Context: *(*uintptr)(unsafe.Pointer(&ctx))}
}

// Context is the context in which a device works: give it to
// cu.SetCurrentContext on a locked OS thread to work beside tandem. It stays
// tandem's and must not be destroyed. A device that is not one of CUDA is
// devices.ErrInvalid.
func Context(d devices.Device) (cu.CUContext, error) {
	handle, err := cuda.ContextOf(d)
	if err != nil {
		return cu.CUContext{}, err
	}
	return *(*cu.CUContext)(unsafe.Pointer(&handle)), nil
}

// Buffer makes size bytes of memory that cu allocated in d's context a buffer of
// d. It stays the caller's, see cuda.MemoryOf.
func Buffer(d devices.Device, mem cu.DevicePtr, size int64) (devices.Buffer, error) {
	return cuda.MemoryOf(d, mem.Uintptr(), size)
}

// Pointer is the address of a buffer, for cu's functions; see cuda.AddressOf.
func Pointer(b devices.Buffer) (cu.DevicePtr, error) {
	address, err := cuda.AddressOf(b)
	return cu.DevicePtr(address), err
}

// Load fills a session's buffer with device memory of cu's, as many bytes as the
// buffer has. A session moves its buffers as it sees fit, so their bytes are
// copied, by way of the host. cuCtx is the context that mem was allocated in.
// The caller's own work on mem has to be done.
func Load(ctx context.Context, to *tandem.Buffer, cuCtx cu.CUContext, mem cu.DevicePtr) error {
	return to.Update(ctx, func(host []byte) error {
		if len(host) == 0 {
			return nil
		}
		return within(cuCtx, func() error {
			if err := cu.MemcpyDtoH(unsafe.Pointer(&host[0]), mem, int64(len(host))); err != nil {
				return fmt.Errorf("gorgonia: cuMemcpyDtoH(%d bytes into %s): %w", len(host), to.Name(), err)
			}
			return nil
		})
	})
}

// Store copies a session's buffer into device memory of cu's, which has at least
// as many bytes. It waits for the tasks that write the buffer.
func Store(ctx context.Context, cuCtx cu.CUContext, mem cu.DevicePtr, from *tandem.Buffer) error {
	return from.Read(ctx, func(host []byte) error {
		if len(host) == 0 {
			return nil
		}
		return within(cuCtx, func() error {
			if err := cu.MemcpyHtoD(mem, unsafe.Pointer(&host[0]), int64(len(host))); err != nil {
				return fmt.Errorf("gorgonia: cuMemcpyHtoD(%d bytes of %s): %w", len(host), from.Name(), err)
			}
			return nil
		})
	})
}

// within runs f on a locked thread with the context current.
func within(c cu.CUContext, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.PushCurrentCtx(c); err != nil {
		return fmt.Errorf("gorgonia: cuCtxPushCurrent: %w", err)
	}
	err := f()
	if _, perr := cu.PopCurrentCtx(); perr != nil && err == nil {
		err = fmt.Errorf("gorgonia: cuCtxPopCurrent: %w", perr)
	}
	return err
}
