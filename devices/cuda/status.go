package cuda

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// Status codes that the driver looks at itself.
const (
	codeInvalidValue      = 1
	codeOutOfMemory       = 2
	codeNotInitialized    = 3
	codeNoDevice          = 100
	codeInvalidContext    = 201
	codePeerEnabled       = 704
	codeNotFound          = 500
	codeNotReady          = 600
	codeHostRegistered    = 712
	codeHostNotRegistered = 713
	codeNotSupported      = 801
)

// codes maps the driver's status codes to their symbol and to the class of
// failure. It needs no library. A lost code is sticky: it means that the
// context, with all memory in it, is gone, and every later call returns it.
var codes = map[int32]struct {
	symbol string
	class  error
}{
	1:   {"CUDA_ERROR_INVALID_VALUE", devices.ErrInvalid},
	2:   {"CUDA_ERROR_OUT_OF_MEMORY", devices.ErrOutOfMemory},
	3:   {"CUDA_ERROR_NOT_INITIALIZED", devices.ErrUnavailable},
	4:   {"CUDA_ERROR_DEINITIALIZED", devices.ErrDeviceLost},
	5:   {"CUDA_ERROR_PROFILER_DISABLED", devices.ErrUnsupported},
	34:  {"CUDA_ERROR_STUB_LIBRARY", devices.ErrUnavailable},
	36:  {"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", devices.ErrUnavailable},
	46:  {"CUDA_ERROR_DEVICE_UNAVAILABLE", devices.ErrUnavailable},
	100: {"CUDA_ERROR_NO_DEVICE", devices.ErrUnavailable},
	101: {"CUDA_ERROR_INVALID_DEVICE", devices.ErrInvalid},
	102: {"CUDA_ERROR_DEVICE_NOT_LICENSED", devices.ErrUnavailable},
	200: {"CUDA_ERROR_INVALID_IMAGE", devices.ErrInvalid},
	201: {"CUDA_ERROR_INVALID_CONTEXT", devices.ErrInvalid},
	205: {"CUDA_ERROR_MAP_FAILED", devices.ErrUnsupported},
	206: {"CUDA_ERROR_UNMAP_FAILED", devices.ErrUnsupported},
	207: {"CUDA_ERROR_ARRAY_IS_MAPPED", devices.ErrInvalid},
	208: {"CUDA_ERROR_ALREADY_MAPPED", devices.ErrInvalid},
	209: {"CUDA_ERROR_NO_BINARY_FOR_GPU", devices.ErrUnsupported},
	210: {"CUDA_ERROR_ALREADY_ACQUIRED", devices.ErrInvalid},
	211: {"CUDA_ERROR_NOT_MAPPED", devices.ErrInvalid},
	214: {"CUDA_ERROR_ECC_UNCORRECTABLE", devices.ErrDeviceLost},
	215: {"CUDA_ERROR_UNSUPPORTED_LIMIT", devices.ErrUnsupported},
	216: {"CUDA_ERROR_CONTEXT_ALREADY_IN_USE", devices.ErrInvalid},
	217: {"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", devices.ErrUnsupported},
	218: {"CUDA_ERROR_INVALID_PTX", devices.ErrInvalid},
	220: {"CUDA_ERROR_NVLINK_UNCORRECTABLE", devices.ErrDeviceLost},
	221: {"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", devices.ErrUnsupported},
	222: {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", devices.ErrUnsupported},
	223: {"CUDA_ERROR_JIT_COMPILATION_DISABLED", devices.ErrUnsupported},
	224: {"CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", devices.ErrUnsupported},
	225: {"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", devices.ErrUnsupported},
	226: {"CUDA_ERROR_CONTAINED", devices.ErrDeviceLost},
	300: {"CUDA_ERROR_INVALID_SOURCE", devices.ErrInvalid},
	301: {"CUDA_ERROR_FILE_NOT_FOUND", devices.ErrUnavailable},
	302: {"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", devices.ErrUnavailable},
	303: {"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", devices.ErrUnavailable},
	304: {"CUDA_ERROR_OPERATING_SYSTEM", devices.ErrUnavailable},
	400: {"CUDA_ERROR_INVALID_HANDLE", devices.ErrInvalid},
	401: {"CUDA_ERROR_ILLEGAL_STATE", devices.ErrInvalid},
	500: {"CUDA_ERROR_NOT_FOUND", devices.ErrInvalid},
	600: {"CUDA_ERROR_NOT_READY", devices.ErrInvalid},
	700: {"CUDA_ERROR_ILLEGAL_ADDRESS", devices.ErrDeviceLost},
	701: {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", devices.ErrInvalid},
	702: {"CUDA_ERROR_LAUNCH_TIMEOUT", devices.ErrDeviceLost},
	703: {"CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", devices.ErrInvalid},
	704: {"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", devices.ErrInvalid},
	705: {"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", devices.ErrInvalid},
	708: {"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", devices.ErrInvalid},
	709: {"CUDA_ERROR_CONTEXT_IS_DESTROYED", devices.ErrDeviceLost},
	710: {"CUDA_ERROR_ASSERT", devices.ErrDeviceLost},
	711: {"CUDA_ERROR_TOO_MANY_PEERS", devices.ErrUnsupported},
	712: {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", devices.ErrInvalid},
	713: {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", devices.ErrInvalid},
	714: {"CUDA_ERROR_HARDWARE_STACK_ERROR", devices.ErrDeviceLost},
	715: {"CUDA_ERROR_ILLEGAL_INSTRUCTION", devices.ErrDeviceLost},
	716: {"CUDA_ERROR_MISALIGNED_ADDRESS", devices.ErrDeviceLost},
	717: {"CUDA_ERROR_INVALID_ADDRESS_SPACE", devices.ErrDeviceLost},
	718: {"CUDA_ERROR_INVALID_PC", devices.ErrDeviceLost},
	719: {"CUDA_ERROR_LAUNCH_FAILED", devices.ErrDeviceLost},
	720: {"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", devices.ErrInvalid},
	721: {"CUDA_ERROR_TENSOR_MEMORY_LEAK", devices.ErrDeviceLost},
	800: {"CUDA_ERROR_NOT_PERMITTED", devices.ErrUnsupported},
	801: {"CUDA_ERROR_NOT_SUPPORTED", devices.ErrUnsupported},
	802: {"CUDA_ERROR_SYSTEM_NOT_READY", devices.ErrUnavailable},
	803: {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", devices.ErrUnavailable},
	804: {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", devices.ErrUnavailable},
	805: {"CUDA_ERROR_MPS_CONNECTION_FAILED", devices.ErrUnavailable},
	806: {"CUDA_ERROR_MPS_RPC_FAILURE", devices.ErrDeviceLost},
	807: {"CUDA_ERROR_MPS_SERVER_NOT_READY", devices.ErrUnavailable},
	808: {"CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", devices.ErrUnavailable},
	809: {"CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", devices.ErrUnavailable},
	810: {"CUDA_ERROR_MPS_CLIENT_TERMINATED", devices.ErrDeviceLost},
	811: {"CUDA_ERROR_CDP_NOT_SUPPORTED", devices.ErrUnsupported},
	812: {"CUDA_ERROR_CDP_VERSION_MISMATCH", devices.ErrUnsupported},
	900: {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", devices.ErrUnsupported},
	901: {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", devices.ErrInvalid},
	902: {"CUDA_ERROR_STREAM_CAPTURE_MERGE", devices.ErrInvalid},
	903: {"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", devices.ErrInvalid},
	904: {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", devices.ErrInvalid},
	905: {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", devices.ErrInvalid},
	906: {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", devices.ErrInvalid},
	907: {"CUDA_ERROR_CAPTURED_EVENT", devices.ErrInvalid},
	908: {"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", devices.ErrInvalid},
	909: {"CUDA_ERROR_TIMEOUT", devices.ErrTimeout},
	910: {"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", devices.ErrInvalid},
	911: {"CUDA_ERROR_EXTERNAL_DEVICE", devices.ErrDeviceLost},
	912: {"CUDA_ERROR_INVALID_CLUSTER_SIZE", devices.ErrInvalid},
	913: {"CUDA_ERROR_FUNCTION_NOT_LOADED", devices.ErrInvalid},
	914: {"CUDA_ERROR_INVALID_RESOURCE_TYPE", devices.ErrInvalid},
	915: {"CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", devices.ErrInvalid},
	999: {"CUDA_ERROR_UNKNOWN", devices.ErrDeviceLost},
}

// symbol is the name of a status code.
func symbol(code int32) string {
	if c, ok := codes[code]; ok {
		return c.symbol
	}
	return "unknown status"
}

// sticky reports whether a code means that the context is lost.
func sticky(code int32) bool { return codes[code].class == devices.ErrDeviceLost }

// failed is the error of a call that returned code. call says which, with its
// values: "cuMemAlloc(4096 bytes)".
func failed(code int32, call string, args ...any) error {
	class := devices.ErrInvalid
	if c, ok := codes[code]; ok {
		class = c.class
	}
	return &devices.StatusError{
		Driver: backend, Call: fmt.Sprintf(call, args...), Code: int64(code), Symbol: symbol(code), Err: class,
	}
}
