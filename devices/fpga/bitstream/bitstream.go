// Package bitstream reads what FPGA images say of themselves, without vendor
// tools: GBS files of Intel boards, AOCX files of Intel's OpenCL compiler and
// xclbin files of Xilinx. Sizes and offsets in a file are not trusted.
package bitstream

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// Format is a file format.
type Format string

// The formats.
const (
	GBS    Format = "gbs"
	AOCX   Format = "aocx"
	XCLBIN Format = "xclbin"
)

// File is what an image says of itself. Fields that a format does not have
// are empty.
type File struct {
	Format  Format `json:"format"`
	Version string `json:"version,omitempty"` // of the tool that made it
	Board   string `json:"board,omitempty"`   // the board's name in the vendor's words
	Target  string `json:"target,omitempty"`  // "fpga", "hw", "hw_emu"

	// InterfaceID is the region that the image fits into, as 32 hexadecimal
	// digits; a board has the same one or cannot load the image.
	InterfaceID string `json:"interface_id,omitempty"`
	// ID identifies the image itself, as 32 hexadecimal digits.
	ID string `json:"id,omitempty"`

	Accelerators []Accelerator `json:"accelerators,omitempty"`
	Kernels      []Kernel      `json:"kernels,omitempty"`
	ClocksMHz    []Clock       `json:"clocks,omitempty"`
	Sections     []Section     `json:"sections,omitempty"`
}

// Accelerator is one function of an Intel image.
type Accelerator struct {
	Name     string `json:"name"`
	ID       string `json:"id"` // 32 hexadecimal digits
	Contexts int    `json:"contexts"`
}

// Kernel is a kernel with its arguments.
type Kernel struct {
	Name string `json:"name"`
	Args []Arg  `json:"args"`
}

// Arg is an argument of a kernel, in the vendor's words.
type Arg struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Space string `json:"space,omitempty"` // address space
	Bytes int    `json:"bytes,omitempty"`
}

// Clock is a clock that the image runs with.
type Clock struct {
	Name string  `json:"name"`
	MHz  float64 `json:"mhz"`
}

// Section is a part of the file.
type Section struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
}

// Read reads an image of any of the formats. Errors wrap devices.ErrInvalid
// and say at which byte what is wrong.
func Read(data []byte) (*File, error) {
	switch {
	case bytes.HasPrefix(data, []byte(gbsMagic)):
		return readGBS(data)
	case bytes.HasPrefix(data, []byte(xclbinMagic)):
		return readXclbin(data)
	case bytes.HasPrefix(data, []byte("\x7fELF")):
		return readAOCX(data)
	}
	return nil, fmt.Errorf("no FPGA image: it begins with %q, not as GBS, AOCX (ELF) or xclbin do: %w", data[:min(len(data), 8)], devices.ErrInvalid)
}

// A MismatchError is an image for another board. It wraps devices.ErrInvalid.
type MismatchError struct {
	Board string // the board's interface id
	Image string // the image's
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("the image is for interface %s, the board has %s: %v", e.Image, e.Board, devices.ErrInvalid)
}

// Unwrap gives devices.ErrInvalid.
func (e *MismatchError) Unwrap() error { return devices.ErrInvalid }

// Fits reports whether a board with the given interface id can load the image:
// nil, or a *MismatchError with both ids. An image that names none fits.
func (f *File) Fits(interfaceID string) error {
	board := NormalID(interfaceID)
	if f.InterfaceID == "" || board == f.InterfaceID {
		return nil
	}
	return &MismatchError{Board: board, Image: f.InterfaceID}
}

// NormalID writes an id in small letters without dashes, blanks and "0x".
func NormalID(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	return strings.ReplaceAll(strings.TrimPrefix(id, "0x"), "-", "")
}

// isID reports whether s is 32 hexadecimal digits.
func isID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// part is data[at:at+size], or an error that says what lies outside.
func part(data []byte, what string, at, size uint64) ([]byte, error) {
	if at > uint64(len(data)) || size > uint64(len(data))-at {
		return nil, fmt.Errorf("%s: %d bytes at %d are outside of the %d that there are: %w", what, size, at, len(data), devices.ErrInvalid)
	}
	return data[at : at+size], nil
}

// word is a zero-terminated string in a field.
func word(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "?"))
}
