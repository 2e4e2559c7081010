package argcheck

import (
	"strconv"
	"strings"
)

// scalarSizes are the types that OpenCL C defines and kernels may take.
var scalarSizes = map[string]int{
	"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
	"half": 2, "float": 4, "double": 8,
	"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8, "unsigned": 4,
}

// ValueSize is the size in bytes of a type of OpenCL C, 0 when it is not one
// of the language's own: a typedef or a struct.
func ValueSize(typ string) int {
	if n, ok := scalarSizes[typ]; ok {
		return n
	}
	base := strings.TrimRight(typ, "0123456789")
	n, ok := scalarSizes[base]
	lanes, err := strconv.Atoi(typ[len(base):])
	if !ok || err != nil {
		return 0
	}
	switch lanes {
	case 3: // takes the room of four
		return 4 * n
	case 2, 4, 8, 16:
		return lanes * n
	}
	return 0
}
