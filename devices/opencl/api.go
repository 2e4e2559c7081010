package opencl

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// api is the function table of a loaded OpenCL library. A function that is
// newer than OpenCL 1.2 is 0 where the library lacks it.
type api struct {
	lib *dl.Library

	getPlatformIDs, getPlatformInfo                      uintptr
	getDeviceIDs, getDeviceInfo                          uintptr
	createSubDevices, releaseDevice                      uintptr
	createContext, releaseContext                        uintptr
	createCommandQueue, releaseCommandQueue              uintptr
	createBuffer, releaseMemObject                       uintptr
	createProgramWithSource, createProgramWithBinary     uintptr
	buildProgram, getProgramInfo, getProgramBuildInfo    uintptr
	releaseProgram                                       uintptr
	createKernel, releaseKernel, setKernelArg            uintptr
	getKernelInfo, getKernelArgInfo                      uintptr
	getKernelWorkGroupInfo                               uintptr
	enqueueNDRangeKernel                                 uintptr
	enqueueReadBuffer, enqueueWriteBuffer                uintptr
	enqueueCopyBuffer                                    uintptr
	enqueueMapBuffer, enqueueUnmapMemObject              uintptr
	enqueueMarkerWithWaitList                            uintptr
	getEventInfo, getEventProfilingInfo                  uintptr
	setEventCallback, waitForEvents, releaseEvent        uintptr
	createUserEvent, setUserEventStatus                  uintptr
	flush, finish                                        uintptr
	createCommandQueueWithProperties, createProgramForIL uintptr
}

// bind looks every function up. One that OpenCL 1.2 has and the library lacks
// is an error that names it.
func bind(lib *dl.Library) (*api, error) {
	a := &api{lib: lib}
	for _, f := range []struct {
		name string
		addr *uintptr
	}{
		{"clGetPlatformIDs", &a.getPlatformIDs}, {"clGetPlatformInfo", &a.getPlatformInfo},
		{"clGetDeviceIDs", &a.getDeviceIDs}, {"clGetDeviceInfo", &a.getDeviceInfo},
		{"clCreateSubDevices", &a.createSubDevices}, {"clReleaseDevice", &a.releaseDevice},
		{"clCreateContext", &a.createContext}, {"clReleaseContext", &a.releaseContext},
		{"clCreateCommandQueue", &a.createCommandQueue}, {"clReleaseCommandQueue", &a.releaseCommandQueue},
		{"clCreateBuffer", &a.createBuffer}, {"clReleaseMemObject", &a.releaseMemObject},
		{"clCreateProgramWithSource", &a.createProgramWithSource},
		{"clCreateProgramWithBinary", &a.createProgramWithBinary},
		{"clBuildProgram", &a.buildProgram}, {"clGetProgramInfo", &a.getProgramInfo},
		{"clGetProgramBuildInfo", &a.getProgramBuildInfo}, {"clReleaseProgram", &a.releaseProgram},
		{"clCreateKernel", &a.createKernel}, {"clReleaseKernel", &a.releaseKernel},
		{"clSetKernelArg", &a.setKernelArg}, {"clGetKernelInfo", &a.getKernelInfo},
		{"clGetKernelArgInfo", &a.getKernelArgInfo}, {"clGetKernelWorkGroupInfo", &a.getKernelWorkGroupInfo},
		{"clEnqueueNDRangeKernel", &a.enqueueNDRangeKernel},
		{"clEnqueueReadBuffer", &a.enqueueReadBuffer}, {"clEnqueueWriteBuffer", &a.enqueueWriteBuffer},
		{"clEnqueueCopyBuffer", &a.enqueueCopyBuffer},
		{"clEnqueueMapBuffer", &a.enqueueMapBuffer}, {"clEnqueueUnmapMemObject", &a.enqueueUnmapMemObject},
		{"clEnqueueMarkerWithWaitList", &a.enqueueMarkerWithWaitList},
		{"clGetEventInfo", &a.getEventInfo}, {"clGetEventProfilingInfo", &a.getEventProfilingInfo},
		{"clSetEventCallback", &a.setEventCallback}, {"clWaitForEvents", &a.waitForEvents},
		{"clReleaseEvent", &a.releaseEvent}, {"clCreateUserEvent", &a.createUserEvent},
		{"clSetUserEventStatus", &a.setUserEventStatus}, {"clFlush", &a.flush}, {"clFinish", &a.finish},
	} {
		addr, err := lib.Lookup(f.name)
		if err != nil {
			return nil, fmt.Errorf("opencl: older than OpenCL 1.2: %w: %w", err, devices.ErrUnavailable)
		}
		*f.addr = addr
	}
	a.createCommandQueueWithProperties, _ = lib.Lookup("clCreateCommandQueueWithProperties")
	a.createProgramForIL, _ = lib.Lookup("clCreateProgramWithIL")
	return a, nil
}

// call calls a function that returns a status. A Go pointer is converted to
// uintptr in the argument list itself, which keeps what it points to alive and
// in place for the call; paths that must not allocate use dl.CallArgs.
//
//go:uintptrescapes
func (a *api) call(fn uintptr, args ...uintptr) int32 { return int32(dl.Call(fn, args...)) }

// query reads a property of an object: the shape that all clGet...Info
// functions share. object has one handle, or two where the function takes two
// (clGetProgramBuildInfo: program and device).
func (a *api) query(fn uintptr, param uint32, object ...uintptr) ([]byte, int32) {
	args := func(size, value, sizeOut uintptr) []uintptr {
		return append(append([]uintptr(nil), object...), uintptr(param), size, value, sizeOut)
	}
	size := new(uintptr)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(size)
	if code := int32(dl.CallArgs(fn, args(0, 0, uintptr(unsafe.Pointer(size))))); code != success {
		return nil, code
	}
	if *size == 0 {
		return nil, success
	}
	value := make([]byte, *size)
	pin.Pin(&value[0])
	if code := int32(dl.CallArgs(fn, args(*size, uintptr(unsafe.Pointer(&value[0])), 0))); code != success {
		return nil, code
	}
	return value, success
}
