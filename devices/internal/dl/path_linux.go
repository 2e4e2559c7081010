package dl

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// infoLinkMap is RTLD_DI_LINKMAP of dlfcn.h, the same in glibc and musl.
const infoLinkMap = 2

// linkMap is the public head of struct link_map in link.h.
type linkMap struct {
	_    uintptr // where it was loaded
	name uintptr
}

func loadedPath(handle uintptr, name string) string {
	dlinfo, err := purego.Dlsym(purego.RTLD_DEFAULT, "dlinfo")
	if err != nil {
		return name
	}
	var m *linkMap
	if int32(Call(dlinfo, handle, infoLinkMap, uintptr(unsafe.Pointer(&m)))) != 0 || m == nil {
		return name
	}
	if path := Text(m.name); path != "" {
		return path
	}
	return name
}
