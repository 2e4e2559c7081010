package cuda

import (
	"fmt"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// api is the function table of a loaded CUDA driver library. A function that is
// newer than CUDA 11.0 is 0 where the library lacks it.
type api struct {
	lib *dl.Library

	init, driverGetVersion                                     uintptr
	deviceGetCount, deviceGet, deviceGetName, deviceGetUUID    uintptr
	deviceTotalMem, deviceGetAttribute, deviceGetPCIBusID      uintptr
	deviceCanAccessPeer                                        uintptr
	primaryRetain, primaryRelease, primaryReset, primaryFlags  uintptr
	ctxPush, ctxPop, ctxSynchronize, ctxEnablePeerAccess       uintptr
	ctxGetDevice                                               uintptr
	memGetInfo, memAlloc, memFree                              uintptr
	memHostAlloc, memFreeHost                                  uintptr
	memHostRegister, memHostUnregister, memHostDevicePointer   uintptr
	copyHtoD, copyDtoH, copyDtoD, copyPeer                     uintptr
	streamCreate, streamDestroy, streamQuery, streamSync       uintptr
	streamWaitEvent, launchHostFunc                            uintptr
	eventCreate, eventDestroy, eventRecord, eventQuery         uintptr
	eventSync, eventElapsed                                    uintptr
	moduleLoad, moduleUnload, moduleFunction                   uintptr
	funcGetAttribute, funcSetAttribute, launchKernel           uintptr
	beginCapture, endCapture, graphLaunch                      uintptr
	graphDestroy, graphExecDestroy                             uintptr
	graphInstantiate                                           uintptr
	graphInstantiateOld                                        uintptr // before CUDA 11.4; takes a log
	memAllocAsync, memFreeAsync, defaultPool                   uintptr // CUDA 11.2
	poolSetAttribute, poolGetAttribute, poolSetAccess          uintptr
	moduleFunctionCount, moduleEnumerate, funcName, funcParams uintptr // CUDA 12.4
}

// bind looks every function up. One that CUDA 11.0 has and the library lacks
// is an error that names it.
func bind(lib *dl.Library) (*api, error) {
	a := &api{lib: lib}
	for _, f := range []struct {
		addr     *uintptr
		optional bool
		names    []string // newest first
	}{
		{&a.init, false, []string{"cuInit"}},
		{&a.driverGetVersion, false, []string{"cuDriverGetVersion"}},
		{&a.deviceGetCount, false, []string{"cuDeviceGetCount"}},
		{&a.deviceGet, false, []string{"cuDeviceGet"}},
		{&a.deviceGetName, false, []string{"cuDeviceGetName"}},
		{&a.deviceGetUUID, false, []string{"cuDeviceGetUuid_v2", "cuDeviceGetUuid"}},
		{&a.deviceTotalMem, false, []string{"cuDeviceTotalMem_v2"}},
		{&a.deviceGetAttribute, false, []string{"cuDeviceGetAttribute"}},
		{&a.deviceGetPCIBusID, false, []string{"cuDeviceGetPCIBusId"}},
		{&a.deviceCanAccessPeer, false, []string{"cuDeviceCanAccessPeer"}},
		{&a.primaryRetain, false, []string{"cuDevicePrimaryCtxRetain"}},
		{&a.primaryRelease, false, []string{"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"}},
		{&a.primaryReset, false, []string{"cuDevicePrimaryCtxReset_v2", "cuDevicePrimaryCtxReset"}},
		{&a.primaryFlags, false, []string{"cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxSetFlags"}},
		{&a.ctxPush, false, []string{"cuCtxPushCurrent_v2"}},
		{&a.ctxPop, false, []string{"cuCtxPopCurrent_v2"}},
		{&a.ctxSynchronize, false, []string{"cuCtxSynchronize"}},
		{&a.ctxGetDevice, false, []string{"cuCtxGetDevice"}},
		{&a.ctxEnablePeerAccess, false, []string{"cuCtxEnablePeerAccess"}},
		{&a.memGetInfo, false, []string{"cuMemGetInfo_v2"}},
		{&a.memAlloc, false, []string{"cuMemAlloc_v2"}},
		{&a.memFree, false, []string{"cuMemFree_v2"}},
		{&a.memHostAlloc, false, []string{"cuMemHostAlloc"}},
		{&a.memFreeHost, false, []string{"cuMemFreeHost"}},
		{&a.memHostRegister, false, []string{"cuMemHostRegister_v2"}},
		{&a.memHostUnregister, false, []string{"cuMemHostUnregister"}},
		{&a.memHostDevicePointer, false, []string{"cuMemHostGetDevicePointer_v2"}},
		{&a.copyHtoD, false, []string{"cuMemcpyHtoDAsync_v2"}},
		{&a.copyDtoH, false, []string{"cuMemcpyDtoHAsync_v2"}},
		{&a.copyDtoD, false, []string{"cuMemcpyDtoDAsync_v2"}},
		{&a.copyPeer, false, []string{"cuMemcpyPeerAsync"}},
		{&a.streamCreate, false, []string{"cuStreamCreate"}},
		{&a.streamDestroy, false, []string{"cuStreamDestroy_v2"}},
		{&a.streamQuery, false, []string{"cuStreamQuery"}},
		{&a.streamSync, false, []string{"cuStreamSynchronize"}},
		{&a.streamWaitEvent, false, []string{"cuStreamWaitEvent"}},
		{&a.launchHostFunc, false, []string{"cuLaunchHostFunc"}},
		{&a.eventCreate, false, []string{"cuEventCreate"}},
		{&a.eventDestroy, false, []string{"cuEventDestroy_v2"}},
		{&a.eventRecord, false, []string{"cuEventRecord"}},
		{&a.eventQuery, false, []string{"cuEventQuery"}},
		{&a.eventSync, false, []string{"cuEventSynchronize"}},
		{&a.eventElapsed, false, []string{"cuEventElapsedTime_v2", "cuEventElapsedTime"}},
		{&a.moduleLoad, false, []string{"cuModuleLoadDataEx"}},
		{&a.moduleUnload, false, []string{"cuModuleUnload"}},
		{&a.moduleFunction, false, []string{"cuModuleGetFunction"}},
		{&a.funcGetAttribute, false, []string{"cuFuncGetAttribute"}},
		{&a.funcSetAttribute, false, []string{"cuFuncSetAttribute"}},
		{&a.launchKernel, false, []string{"cuLaunchKernel"}},
		{&a.beginCapture, true, []string{"cuStreamBeginCapture_v2"}},
		{&a.endCapture, true, []string{"cuStreamEndCapture"}},
		{&a.graphInstantiate, true, []string{"cuGraphInstantiateWithFlags"}},
		{&a.graphInstantiateOld, true, []string{"cuGraphInstantiate_v2"}},
		{&a.graphLaunch, true, []string{"cuGraphLaunch"}},
		{&a.graphDestroy, true, []string{"cuGraphDestroy"}},
		{&a.graphExecDestroy, true, []string{"cuGraphExecDestroy"}},
		{&a.memAllocAsync, true, []string{"cuMemAllocAsync"}},
		{&a.memFreeAsync, true, []string{"cuMemFreeAsync"}},
		{&a.defaultPool, true, []string{"cuDeviceGetDefaultMemPool"}},
		{&a.poolSetAttribute, true, []string{"cuMemPoolSetAttribute"}},
		{&a.poolGetAttribute, true, []string{"cuMemPoolGetAttribute"}},
		{&a.poolSetAccess, true, []string{"cuMemPoolSetAccess"}},
		{&a.moduleFunctionCount, true, []string{"cuModuleGetFunctionCount"}},
		{&a.moduleEnumerate, true, []string{"cuModuleEnumerateFunctions"}},
		{&a.funcName, true, []string{"cuFuncGetName"}},
		{&a.funcParams, true, []string{"cuFuncGetParamInfo"}},
	} {
		var err error
		for _, name := range f.names {
			if *f.addr, err = lib.Lookup(name); err == nil {
				break
			}
		}
		if err != nil && !f.optional {
			return nil, fmt.Errorf("cuda: older than CUDA 11.0: %w: %w", err, devices.ErrUnavailable)
		}
	}
	return a, nil
}

// call calls a function that returns a status. A Go pointer is converted to
// uintptr in the argument list itself, which keeps what it points to alive and
// in place for the call; paths that must not allocate use dl.CallArgs.
//
//go:uintptrescapes
func (a *api) call(fn uintptr, args ...uintptr) int32 { return int32(dl.Call(fn, args...)) }

// replays reports whether sequences of launches can be recorded.
func (a *api) replays() bool {
	return a.beginCapture != 0 && a.endCapture != 0 && a.graphLaunch != 0 && a.graphDestroy != 0 &&
		a.graphExecDestroy != 0 && (a.graphInstantiate != 0 || a.graphInstantiateOld != 0)
}

// pools reports whether the library has stream-ordered memory pools.
func (a *api) pools() bool {
	return a.memAllocAsync != 0 && a.memFreeAsync != 0 && a.defaultPool != 0 && a.poolSetAttribute != 0 && a.poolGetAttribute != 0
}

// attribute reads a number that the driver knows of a device; 0 where it does
// not know the question.
func (a *api) attribute(dev int32, which uintptr) int {
	v := new(int32)
	if a.call(a.deviceGetAttribute, uintptr(unsafe.Pointer(v)), which, uintptr(dev)) != success {
		return 0
	}
	return int(*v)
}
