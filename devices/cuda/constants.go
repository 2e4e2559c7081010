package cuda

// Numbers of cuda.h that the driver uses, under names of Go.

const success int32 = 0

// Flags.
const (
	eventDefault       = 0
	eventBlockingSync  = 1
	eventDisableTiming = 2

	streamNonBlocking = 1

	ctxSchedBlockingSync = 4

	hostAllocPortable  = 1
	hostAllocDeviceMap = 2

	hostRegisterPortable  = 1
	hostRegisterDeviceMap = 2

	captureThreadLocal = 1

	poolReleaseThreshold = 4
	poolReservedCurrent  = 5
	poolUsedCurrent      = 7
)

// Attributes of a device.
const (
	attrMaxThreadsPerBlock   = 1
	attrMaxBlockDimX         = 2
	attrMaxGridDimX          = 5
	attrSharedPerBlock       = 8
	attrWarpSize             = 10
	attrClockRateKHz         = 13
	attrTextureAlignment     = 14
	attrMultiprocessors      = 16
	attrKernelTimeout        = 17
	attrIntegrated           = 18
	attrCanMapHost           = 19
	attrComputeMode          = 20
	attrConcurrentKernels    = 31
	attrECC                  = 32
	attrTCC                  = 35
	attrMemoryClockKHz       = 36
	attrMemoryBusBits        = 37
	attrAsyncEngines         = 40
	attrUnifiedAddressing    = 41
	attrMajor                = 75
	attrMinor                = 76
	attrManagedMemory        = 83
	attrPageableAccess       = 88
	attrHostRegister         = 99
	attrSharedOptIn          = 97
	attrMemoryPools          = 115
	attrReadOnlyHostRegister = 113
)

const computeModeProhibited = 2

// Attributes of a function.
const (
	funcMaxThreads      = 0
	funcSharedBytes     = 1
	funcConstBytes      = 2
	funcLocalBytes      = 3
	funcRegisters       = 4
	funcPTXVersion      = 5
	funcBinaryVersion   = 6
	funcMaxDynamic      = 8
	funcClusterRequired = 14
)

// Options of cuModuleLoadDataEx.
const (
	jitInfoLog       = 3
	jitInfoLogBytes  = 4
	jitErrorLog      = 5
	jitErrorLogBytes = 6
)

const (
	maxGridX  = 1<<31 - 1
	maxGridYZ = 65535
)
