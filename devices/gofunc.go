package devices

import "unsafe"

// A GoFunc is a kernel in Go. It is called with a range of work-items, never
// one at a time, and has to run each of them; several calls with disjoint
// ranges may run at the same time on different threads. It keeps nothing of
// its arguments. A panic fails the launch.
type GoFunc func(r Range, a *Args)

// Range is a box of work-items: in dimension d those with Lo[d] ≤ id < Hi[d].
// Unused dimensions hold the one id 0. Dimension 0 varies fastest.
type Range struct {
	Lo, Hi [3]int
	Global [3]int // the whole ND-range, as get_global_size gives it
}

// Args are the arguments of a GoFunc, by position.
type Args struct {
	v []HostArg
}

// HostArg is one argument as the host sees it: the bytes of a buffer or of a
// value.
type HostArg struct {
	Bytes []byte
}

// MakeArgs wraps v, which it keeps.
func MakeArgs(v []HostArg) Args { return Args{v} }

// Len is the number of arguments.
func (a *Args) Len() int { return len(a.v) }

// Bytes are the bytes of argument i.
func (a *Args) Bytes(i int) []byte { return a.v[i].Bytes }

// Number is a type that a buffer's elements or a value can have in Go.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// Slice views argument i as a slice of T, as many as fit. It panics if the
// bytes are not aligned for T (buffers always are).
func Slice[T any](a *Args, i int) []T { return View[T](a.v[i].Bytes) }

// Value reads argument i, a value, as T. It panics if the size differs.
func Value[T Number](a *Args, i int) T {
	b := a.v[i].Bytes
	var v T
	if len(b) != int(unsafe.Sizeof(v)) {
		panic("devices.Value: argument has another size")
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), len(b)), b)
	return v
}

// View reinterprets b as a slice of T without copying: as many whole elements
// as fit. It panics if b is not aligned for T.
func View[T any](b []byte) []T {
	var z T
	size := int(unsafe.Sizeof(z))
	n := len(b) / size
	if n == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%unsafe.Alignof(z) != 0 {
		panic("devices.View: memory is not aligned for the element type")
	}
	return unsafe.Slice((*T)(p), n)
}

// AsBytes is the memory of v as bytes, without copying.
func AsBytes[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}
