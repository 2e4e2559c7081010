package fpga

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/tandemrun/tandem/devices/fpga/verilog"
)

// segment is a piece of a stream, laid out as in harness.cpp.
type segment struct {
	at    uintptr
	words uint64
}

// job is laid out as in harness.cpp; it lies outside the Go heap, and so does
// all that it points to.
type job struct {
	Segments     [verilog.MaxInputs]uintptr
	SegmentCount [verilog.MaxInputs]uint64
	Total        [verilog.MaxInputs]uint64
	Out          [verilog.MaxOutputs]uintptr
	Room         [verilog.MaxOutputs]uint64
	Config       uintptr
	ConfigCount  uint64
	MaxIdle      uint64
	Seed         uint64
	HoldInput    uint32
	HoldOutput   uint32

	Cycles    uint64
	StallsIn  uint64
	StallsOut uint64
	Taken     [verilog.MaxInputs]uint64
	Given     [verilog.MaxOutputs]uint64
	Status    int32
	Line      int32
	Which     int32
	LogLength int32
	File      [128]byte
	Message   [384]byte
	Log       [4096]byte
}

const (
	jobSize     = int(unsafe.Sizeof(job{}))
	segmentSize = int(unsafe.Sizeof(segment{}))
)

func (j *job) logText() string { return string(j.Log[:j.LogLength]) }

// progress says how far a job came.
func (j *job) progress(m *verilog.Module) string {
	var parts []string
	for i, s := range m.Inputs {
		parts = append(parts, fmt.Sprintf("%s took %d of %d words", s.Prefix, j.Taken[i], j.Total[i]))
	}
	for i, s := range m.Outputs {
		parts = append(parts, fmt.Sprintf("%s gave %d of at most %d", s.Prefix, j.Given[i], j.Room[i]))
	}
	return strings.Join(parts, ", ")
}
