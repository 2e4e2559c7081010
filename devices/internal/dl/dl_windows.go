package dl

import (
	"github.com/ebitengine/purego"
	"golang.org/x/sys/windows"
)

func open(name string) (uintptr, error) {
	h, err := windows.LoadLibrary(name)
	return uintptr(h), err
}

func lookup(handle uintptr, symbol string) uintptr {
	p, err := windows.GetProcAddress(windows.Handle(handle), symbol)
	if err != nil {
		return 0
	}
	return p
}

func loadedPath(handle uintptr, name string) string {
	var buf [windows.MAX_LONG_PATH]uint16
	n, err := windows.GetModuleFileName(windows.Handle(handle), &buf[0], uint32(len(buf)))
	if err != nil || n == 0 {
		return name
	}
	return windows.UTF16ToString(buf[:n])
}

// callbackPlain adds the result that Windows' callbacks have to have.
func callbackPlain(fn func()) uintptr {
	return purego.NewCallback(func() uintptr { fn(); return 0 })
}
