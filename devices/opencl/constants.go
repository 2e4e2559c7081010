package opencl

// The numbers of the OpenCL headers that the driver uses. Their names are
// those of the specification without CL_ and in Go's spelling.
const (
	success = 0

	platformVersion = 0x0901
	platformName    = 0x0902
	platformVendor  = 0x0903

	deviceTypeAll         = 0xFFFFFFFF
	deviceTypeCPU         = 1 << 1
	deviceTypeGPU         = 1 << 2
	deviceTypeAccelerator = 1 << 3

	deviceType                  = 0x1000
	deviceMaxComputeUnits       = 0x1002
	deviceMaxWorkGroupSize      = 0x1004
	deviceMaxWorkItemSizes      = 0x1005
	deviceMaxClockFrequency     = 0x100C
	deviceMaxMemAllocSize       = 0x1010
	deviceMaxParameterSize      = 0x1017
	deviceMemBaseAddrAlign      = 0x1019
	deviceGlobalMemSize         = 0x101F
	deviceLocalMemSize          = 0x1023
	deviceAvailable             = 0x1027
	deviceCompilerAvailable     = 0x1028
	deviceName                  = 0x102B
	deviceVendor                = 0x102C
	driverVersion               = 0x102D
	deviceVersion               = 0x102F
	deviceExtensions            = 0x1030
	deviceDoubleFPConfig        = 0x1032
	deviceHalfFPConfig          = 0x1033
	deviceHostUnifiedMemory     = 0x1035
	devicePartitionMaxSub       = 0x1043
	devicePartitionProperties   = 0x1044
	deviceILVersion             = 0x105B
	deviceNonUniformWorkGroups  = 0x1065
	deviceUUID                  = 0x106A // cl_khr_device_uuid
	devicePCIBusInfo            = 0x410F // cl_khr_pci_bus_info
	deviceWarpSizeNV            = 0x4003
	deviceAsyncEnginesNV        = 0x4007
	devicePCIBusNV              = 0x4008
	devicePCISlotNV             = 0x4009
	devicePCIDomainNV           = 0x400A
	deviceTopologyAMD           = 0x4037
	deviceWavefrontWidthAMD     = 0x4043
	deviceSubGroupSizesIntel    = 0x4108
	partitionEqually            = 0x1086
	partitionByCounts           = 0x1087
	partitionByCountsListEnd    = 0
	contextPlatform             = 0x1084
	queueProperties             = 0x1093
	queueProfilingEnable        = 1 << 1
	memReadWrite                = 1 << 0
	memUseHostPtr               = 1 << 3
	memAllocHostPtr             = 1 << 4
	mapRead                     = 1 << 0
	mapWrite                    = 1 << 1
	mapWriteInvalidate          = 1 << 2
	programBinarySizes          = 0x1165
	programBinaries             = 0x1166
	programKernelNames          = 0x1168
	programBuildLog             = 0x1183
	kernelNumArgs               = 0x1191
	kernelArgAddress            = 0x1196
	kernelArgTypeName           = 0x1198
	kernelArgName               = 0x119A
	kernelWorkGroupSize         = 0x11B0
	kernelCompileWorkGroupSize  = 0x11B1
	kernelLocalMemSize          = 0x11B2
	kernelPreferredMultiple     = 0x11B3
	kernelPrivateMemSize        = 0x11B4
	addressGlobal               = 0x119B
	addressLocal                = 0x119C
	addressConstant             = 0x119D
	addressPrivate              = 0x119E
	eventExecutionStatus        = 0x11D3
	profilingQueued             = 0x1280
	statusComplete              = 0
	codeDeviceNotFound          = -1
	codeProfilingNotAvailable   = -7
	codeMemObjectAllocation     = -4
	codeErrorInWaitList         = -14
	codeInvalidValue            = -30
	codeInvalidKernelName       = -46
	codePlatformNotFound        = -1001
	codeKernelArgInfoNotPresent = -19
)
