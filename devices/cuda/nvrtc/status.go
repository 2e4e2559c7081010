package nvrtc

import "github.com/tandemrun/tandem/devices"

// Result codes that are told apart.
const (
	statusSuccess     = 0
	statusCompilation = 6
)

// codes are nvrtcResult in nvrtc.h with the class of failure of each.
var codes = map[int32]struct {
	symbol   string
	sentinel error
}{
	1:                 {"NVRTC_ERROR_OUT_OF_MEMORY", devices.ErrOutOfMemory},
	2:                 {"NVRTC_ERROR_PROGRAM_CREATION_FAILURE", devices.ErrUnavailable},
	3:                 {"NVRTC_ERROR_INVALID_INPUT", devices.ErrInvalid},
	4:                 {"NVRTC_ERROR_INVALID_PROGRAM", devices.ErrInvalid},
	5:                 {"NVRTC_ERROR_INVALID_OPTION", devices.ErrInvalid},
	statusCompilation: {"NVRTC_ERROR_COMPILATION", devices.ErrInvalid},
	7:                 {"NVRTC_ERROR_BUILTIN_OPERATION_FAILURE", devices.ErrUnavailable},
	8:                 {"NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", devices.ErrInvalid},
	9:                 {"NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION", devices.ErrInvalid},
	10:                {"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID", devices.ErrInvalid},
	11:                {"NVRTC_ERROR_INTERNAL_ERROR", devices.ErrUnavailable},
	12:                {"NVRTC_ERROR_TIME_FILE_WRITE_FAILED", devices.ErrUnavailable},
	13:                {"NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED", devices.ErrUnsupported},
	14:                {"NVRTC_ERROR_PCH_CREATE_HEAP_EXHAUSTED", devices.ErrOutOfMemory},
	15:                {"NVRTC_ERROR_PCH_CREATE", devices.ErrUnavailable},
	16:                {"NVRTC_ERROR_CANCELLED", devices.ErrUnavailable},
	17:                {"NVRTC_ERROR_TIME_TRACE_FILE_WRITE_FAILED", devices.ErrUnavailable},
}

// status is a result code's symbol, "" for one that is not known here, and its
// class.
func status(code int32) (symbol string, sentinel error) {
	if c, ok := codes[code]; ok {
		return c.symbol, c.sentinel
	}
	return "", devices.ErrUnavailable
}
