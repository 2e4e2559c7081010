package opencl

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// codes maps OpenCL's status codes to their symbol and to the class of
// failure. It needs no library.
var codes = map[int32]struct {
	symbol string
	class  error
}{
	-1:    {"CL_DEVICE_NOT_FOUND", devices.ErrUnavailable},
	-2:    {"CL_DEVICE_NOT_AVAILABLE", devices.ErrDeviceLost},
	-3:    {"CL_COMPILER_NOT_AVAILABLE", devices.ErrUnsupported},
	-4:    {"CL_MEM_OBJECT_ALLOCATION_FAILURE", devices.ErrOutOfMemory},
	-5:    {"CL_OUT_OF_RESOURCES", devices.ErrOutOfMemory},
	-6:    {"CL_OUT_OF_HOST_MEMORY", devices.ErrOutOfMemory},
	-7:    {"CL_PROFILING_INFO_NOT_AVAILABLE", devices.ErrInvalid},
	-8:    {"CL_MEM_COPY_OVERLAP", devices.ErrInvalid},
	-9:    {"CL_IMAGE_FORMAT_MISMATCH", devices.ErrInvalid},
	-10:   {"CL_IMAGE_FORMAT_NOT_SUPPORTED", devices.ErrUnsupported},
	-11:   {"CL_BUILD_PROGRAM_FAILURE", devices.ErrInvalid},
	-12:   {"CL_MAP_FAILURE", devices.ErrUnsupported},
	-13:   {"CL_MISALIGNED_SUB_BUFFER_OFFSET", devices.ErrInvalid},
	-14:   {"CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", devices.ErrInvalid},
	-15:   {"CL_COMPILE_PROGRAM_FAILURE", devices.ErrInvalid},
	-16:   {"CL_LINKER_NOT_AVAILABLE", devices.ErrUnsupported},
	-17:   {"CL_LINK_PROGRAM_FAILURE", devices.ErrInvalid},
	-18:   {"CL_DEVICE_PARTITION_FAILED", devices.ErrUnsupported},
	-19:   {"CL_KERNEL_ARG_INFO_NOT_AVAILABLE", devices.ErrUnsupported},
	-30:   {"CL_INVALID_VALUE", devices.ErrInvalid},
	-31:   {"CL_INVALID_DEVICE_TYPE", devices.ErrInvalid},
	-32:   {"CL_INVALID_PLATFORM", devices.ErrInvalid},
	-33:   {"CL_INVALID_DEVICE", devices.ErrInvalid},
	-34:   {"CL_INVALID_CONTEXT", devices.ErrInvalid},
	-35:   {"CL_INVALID_QUEUE_PROPERTIES", devices.ErrUnsupported},
	-36:   {"CL_INVALID_COMMAND_QUEUE", devices.ErrInvalid},
	-37:   {"CL_INVALID_HOST_PTR", devices.ErrInvalid},
	-38:   {"CL_INVALID_MEM_OBJECT", devices.ErrInvalid},
	-39:   {"CL_INVALID_IMAGE_FORMAT_DESCRIPTOR", devices.ErrInvalid},
	-40:   {"CL_INVALID_IMAGE_SIZE", devices.ErrInvalid},
	-41:   {"CL_INVALID_SAMPLER", devices.ErrInvalid},
	-42:   {"CL_INVALID_BINARY", devices.ErrInvalid},
	-43:   {"CL_INVALID_BUILD_OPTIONS", devices.ErrInvalid},
	-44:   {"CL_INVALID_PROGRAM", devices.ErrInvalid},
	-45:   {"CL_INVALID_PROGRAM_EXECUTABLE", devices.ErrInvalid},
	-46:   {"CL_INVALID_KERNEL_NAME", devices.ErrInvalid},
	-47:   {"CL_INVALID_KERNEL_DEFINITION", devices.ErrInvalid},
	-48:   {"CL_INVALID_KERNEL", devices.ErrInvalid},
	-49:   {"CL_INVALID_ARG_INDEX", devices.ErrInvalid},
	-50:   {"CL_INVALID_ARG_VALUE", devices.ErrInvalid},
	-51:   {"CL_INVALID_ARG_SIZE", devices.ErrInvalid},
	-52:   {"CL_INVALID_KERNEL_ARGS", devices.ErrInvalid},
	-53:   {"CL_INVALID_WORK_DIMENSION", devices.ErrInvalid},
	-54:   {"CL_INVALID_WORK_GROUP_SIZE", devices.ErrInvalid},
	-55:   {"CL_INVALID_WORK_ITEM_SIZE", devices.ErrInvalid},
	-56:   {"CL_INVALID_GLOBAL_OFFSET", devices.ErrInvalid},
	-57:   {"CL_INVALID_EVENT_WAIT_LIST", devices.ErrInvalid},
	-58:   {"CL_INVALID_EVENT", devices.ErrInvalid},
	-59:   {"CL_INVALID_OPERATION", devices.ErrUnsupported},
	-61:   {"CL_INVALID_BUFFER_SIZE", devices.ErrOutOfMemory},
	-63:   {"CL_INVALID_GLOBAL_WORK_SIZE", devices.ErrInvalid},
	-64:   {"CL_INVALID_PROPERTY", devices.ErrInvalid},
	-66:   {"CL_INVALID_COMPILER_OPTIONS", devices.ErrInvalid},
	-67:   {"CL_INVALID_LINKER_OPTIONS", devices.ErrInvalid},
	-68:   {"CL_INVALID_DEVICE_PARTITION_COUNT", devices.ErrInvalid},
	-71:   {"CL_INVALID_SPEC_ID", devices.ErrInvalid},
	-72:   {"CL_MAX_SIZE_RESTRICTION_EXCEEDED", devices.ErrOutOfMemory},
	-1001: {"CL_PLATFORM_NOT_FOUND_KHR", devices.ErrUnavailable},
	-9999: {"NVIDIA_ILLEGAL_ACCESS", devices.ErrDeviceLost},
}

// symbol is the name of a status code.
func symbol(code int32) string {
	if c, ok := codes[code]; ok {
		return c.symbol
	}
	return "unknown status"
}

// failed is the error of a call that returned code. call says which, with its
// values: "clCreateBuffer(4096 bytes)".
func failed(code int32, call string, args ...any) error {
	class := devices.ErrInvalid
	if c, ok := codes[code]; ok {
		class = c.class
	}
	return &devices.StatusError{
		Driver: backend, Call: fmt.Sprintf(call, args...), Code: int64(code), Symbol: symbol(code), Err: class,
	}
}

// aborted is the error of a command that was enqueued and then ended with a
// negative execution status. The codes mean something else there than as the
// result of a call.
func aborted(code int32, command string) error {
	e := &devices.StatusError{
		Driver: backend, Call: command, Code: int64(code), Symbol: symbol(code), Err: devices.ErrDeviceLost,
	}
	switch code {
	case codeDeviceNotFound: // what PoCL gives to every command that it gave up
		e.Symbol, e.Err = "command failed", devices.ErrInvalid
	case codeMemObjectAllocation, -5, -6:
		e.Err = devices.ErrOutOfMemory
	case codeErrorInWaitList:
		e.Err = devices.ErrInvalid
	}
	return e
}
