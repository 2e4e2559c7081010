// Package binary makes kernels of programs that were built before, in their
// vendor's own format. Such a file need not tell the signatures of its kernels,
// so whoever loads it states them.
package binary

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// maxBytes bounds a file; images of large FPGAs have some hundred MB.
const maxBytes = 1 << 30

// formats are the beginnings of the formats that are known: Intel's (AOCX, and
// what its emulation makes) are ELF files, AMD's are xclbin.
var formats = [][]byte{[]byte("\x7fELF"), []byte("xclbin2\x00")}

// A File is a program in a vendor's format, read into memory. It does not change
// and is safe for concurrent use.
type File struct{ source *devices.Source }

// Load reads a file. One of another format, or of more than a GiB, is
// devices.ErrInvalid.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file: %w", path, devices.ErrInvalid)
	case info.Size() > maxBytes:
		return nil, fmt.Errorf("%s has %d bytes, a program at most %d: %w", path, info.Size(), maxBytes, devices.ErrInvalid)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return nil, err
	}
	for _, magic := range formats {
		if bytes.HasPrefix(text, magic) {
			return &File{&devices.Source{Name: filepath.Base(path), Language: devices.LangBinary, Text: text}}, nil
		}
	}
	return nil, fmt.Errorf("%s is no program for FPGAs: it begins neither as an ELF file (AOCX) nor as xclbin: %w", path, devices.ErrInvalid)
}

// Kernel is the kernel of that entry point, whose parameters are as stated; the
// device is asked for the entry when the program is loaded there, and for the
// number of its parameters when it is launched. Kernels of one File are one
// program. They run on FPGAs and are never divided.
func (f *File) Kernel(entry string, params []kernels.Param) *kernels.Kernel {
	return &kernels.Kernel{
		Name: entry, Params: params,
		NoSplit: "a binary does not tell what its kernels do with their indices",
		Variants: []kernels.Variant{{Language: devices.LangBinary, Source: f.source, Entry: entry,
			Needs: kernels.Needs{Kind: devices.KindFPGA}}},
	}
}
