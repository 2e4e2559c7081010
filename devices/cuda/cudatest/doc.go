// Package cudatest has a test double of NVIDIA's driver library: a libcuda.so.1
// that is compiled from C when a test asks for it (Build), with the functions
// that the driver cuda uses, their rules, and an interpreter that executes
// PTX. It shows that a program speaks to the driver API as its documentation
// says, from source to right bytes, on a machine without a GPU. It shows
// nothing about speed. It is loaded by its path or not at all, and calls itself
// "tandem CUDA test double".
//
// # Functions
//
// Under the names of the binary interface (cuMemAlloc_v2 and so on), and by
// cuGetProcAddress without the version:
//
//	start       cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString cuGetProcAddress cuProfilerStart/Stop
//	devices     cuDeviceGet… (Count, Name, Uuid, Attribute, PCIBusId, ByPCIBusId, P2PAttribute, DefaultMemPool, MemPool)
//	            cuDeviceTotalMem cuDeviceComputeCapability cuDeviceCanAccessPeer cuDeviceSetMemPool
//	contexts    cuDevicePrimaryCtx… (Retain, Release, Reset, SetFlags, GetState) cuCtxCreate/Destroy
//	            cuCtxPush/Pop/Set/GetCurrent cuCtxGetDevice cuCtxSynchronize cuCtxGet/SetLimit
//	            cuCtxGet… (Flags, Id, ApiVersion, StreamPriorityRange) cuCtxEnable/DisablePeerAccess
//	memory      cuMemAlloc cuMemAllocPitch cuMemFree cuMemGetInfo cuMemGetAddressRange cuMemAllocManaged cuMemAdvise
//	            cuMemPrefetchAsync cuMemHostAlloc cuMemAllocHost cuMemFreeHost cuMemHostRegister/Unregister
//	            cuMemHostGetDevicePointer cuMemHostGetFlags cuPointerGetAttribute(s)
//	pools       cuMemAllocAsync cuMemAllocFromPoolAsync cuMemFreeAsync cuMemPool… (Create, Destroy, Set/GetAttribute, TrimTo, SetAccess)
//	copies      cuMemcpy, …HtoD, …DtoH, …DtoD, …Peer, …2D, …3D and cuMemsetD8/16/32, …D2D…; each also Async
//	streams     cuStreamCreate(WithPriority) cuStreamDestroy cuStreamSynchronize cuStreamQuery cuStreamWaitEvent
//	            cuStreamGet… (Flags, Priority, Id, Ctx) cuStreamAddCallback cuLaunchHostFunc cuStreamWrite/WaitValue32/64
//	events      cuEventCreate cuEventDestroy cuEventRecord(WithFlags) cuEventQuery cuEventSynchronize cuEventElapsedTime
//	modules     cuModuleLoad(Data, DataEx, FatBinary) cuModuleUnload cuModuleGet… (Function, Global, FunctionCount, LoadingMode)
//	            cuModuleEnumerateFunctions
//	functions   cuLaunchKernel(Ex) cuFuncGet/SetAttribute cuFuncSetCacheConfig cuFuncGet… (Name, Module, ParamInfo)
//	            cuOccupancyMaxActiveBlocksPerMultiprocessor cuOccupancyMaxPotentialBlockSize (each also WithFlags)
//	graphs      cuStreamBeginCapture cuStreamEndCapture cuStreamIsCapturing cuThreadExchangeStreamCaptureMode cuGraph…
//	            (Create, Destroy, AddKernelNode, AddEmptyNode, AddHostNode, GetNodes, NodeGetType, Instantiate, Launch, Upload,
//	            ExecDestroy, ExecUpdate, ExecKernelNodeSetParams)
//
// Functions of arrays, textures, surfaces, the linker and further nodes of
// graphs are there for programs to link against, say on standard error that
// they are not known, and return CUDA_ERROR_NOT_SUPPORTED.
//
// # PTX
//
// The interpreter takes what NVRTC makes of CUDA C for targets up to sm, from
// PTX or from a fat binary with uncompressed PTX: integers with carries, bit
// fields and permutations; float, double, half and pairs of halves with every
// rounding, .ftz and .sat; conversions; comparisons and predicates; memory of
// all spaces with generic addresses, vectors and atomics; branches, indexed
// branches, calls and recursion; barriers with counts and reductions; shuffles,
// votes, matches and reductions of a warp; printf and assert. Anything else
// makes the load fail with CUDA_ERROR_INVALID_PTX and a log that names the
// instruction and its line: tensor cores, asynchronous copies, clusters,
// textures, video instructions and calls through registers. Approximations
// (ex2.approx, rcp.approx…) give the nearest result but for those of doubles,
// which like the hardware's have 20 bits of mantissa.
//
// A warp's 32 work-items execute together; those that part meet again at the
// lowest instruction that any of them is at, and one that spins for a lock lets
// the others go on. Blocks are shared out over threads. Every access is checked:
// an address outside of an allocation (by one byte, not by a page as on
// hardware), a misaligned one, and memory of another device without peer access
// end the launch, and standard error says which kernel, line, work-item and
// address it was. New device and shared memory holds a pattern, not zeros.
//
// # Rules
//
// Calls need cuInit and, most of them, a context that is current on the calling
// thread. Handles are numbers that are given out once, so a destroyed one is
// always caught. A device's memory has addresses that the host cannot read: a
// program that follows one faults. Host pointers may be pageable, pinned or
// registered; asynchronous copies wait where a pageable side makes CUDA's wait.
// Each stream executes in order, on a thread of its own; the null stream and
// blocking streams wait for each other. A host function runs on the stream's
// thread, may not call CUDA (CUDA_ERROR_NOT_PERMITTED), and is not called where
// the context has failed. A fault of a kernel ends the context: all that is
// queued does nothing and every later call returns the fault's code.
//
// # Settings
//
// TANDEM_CUDA_DOUBLE holds NAME=VALUE words with commas between, read by the
// first cuInit or cuDriverGetVersion. A word that is none aborts the program.
//
//	devices=1           how many there are (0 to 16); CUDA_VISIBLE_DEVICES chooses among them
//	sm=80               compute capability, times ten
//	version=13050       what cuDriverGetVersion says
//	memory=1GiB         of each device; B, KiB, MiB, GiB
//	max_alloc=SIZE      the largest allocation that succeeds
//	memlock=SIZE        host memory that may be pinned or registered, in all
//	multiprocessors=4, engines=2, threads=1024, registers=65536, shared=48KiB, shared_optin=99KiB
//	workers=2           threads that interpret one kernel
//	steps=N             instructions that a warp may execute in a launch, then CUDA_ERROR_LAUNCH_TIMEOUT; 0: no limit
//	integrated, peer, pools, managed, unified, register = on or off
//	fail=NAME:N[+][:CODE]   the N-th call of function NAME (without its _v2) fails, with + every later one too;
//	                    CODE is 2 (out of memory) unless given. NAME kernel counts kernels as they execute (code 700)
//	lose=DEVICE:N[:CODE]    the device is lost at the N-th call that is made in a context of it (code 719)
//
// tandemDoubleSet and tandemDoubleCount, two functions that CUDA has not,
// change the rules fail and lose in a running program and read the counters.
package cudatest
