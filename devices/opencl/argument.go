package opencl

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// space is where a kernel parameter's value lives.
type space uint8

const (
	spaceUnknown space = iota
	spaceGlobal        // __global or __constant: a buffer
	spaceLocal         // __local: an amount of memory
	spaceValue         // by value
)

// parameter is what a compiled kernel says of one of its parameters.
type parameter struct {
	Name  string
	Type  string
	Space space
}

// parameters reads a kernel's parameters; false where the driver does not
// tell.
func (d *device) parameters(kernel uintptr) ([]parameter, bool) {
	b, code := d.api.query(d.api.getKernelInfo, kernelNumArgs, kernel)
	if code != success {
		return nil, false
	}
	list := make([]parameter, number(b))
	for i := range list {
		ask := func(param uint32) ([]byte, int32) {
			size, value := new(uintptr), make([]byte, 512)
			code := d.api.call(d.api.getKernelArgInfo, kernel, uintptr(i), uintptr(param), uintptr(len(value)), uintptr(unsafe.Pointer(&value[0])), uintptr(unsafe.Pointer(size)))
			return value[:min(*size, uintptr(len(value)))], code
		}
		address, code := ask(kernelArgAddress)
		if code != success {
			return nil, false
		}
		switch number(address) {
		case addressGlobal, addressConstant:
			list[i].Space = spaceGlobal
		case addressLocal:
			list[i].Space = spaceLocal
		case addressPrivate:
			list[i].Space = spaceValue
		}
		name, _ := ask(kernelArgName)
		typ, _ := ask(kernelArgTypeName)
		list[i].Name, list[i].Type = text(name), text(typ)
	}
	return list, true
}

// scalarSizes are the types that OpenCL C defines and kernels may take.
var scalarSizes = map[string]int{
	"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
	"half": 2, "float": 4, "double": 8,
	"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8, "unsigned": 4,
}

// valueSize is the size in bytes of a type of OpenCL C, 0 when it is not one
// of the language's own: a typedef or a struct.
func valueSize(typ string) int {
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

// bound remembers what an argument of a cl_kernel was last set to, so that it
// is not set again.
type bound struct {
	kind  boundKind
	size  int    // bytes of a value or of local memory
	id    uint64 // of a buffer
	value [32]byte
}

type boundKind uint8

const (
	unbound boundKind = iota
	boundBuffer
	boundNull
	boundLocal
	boundValue
)

// wrong is the error of an argument that does not fit its parameter.
func (k *kernel) wrong(i int, format string, args ...any) error {
	name := fmt.Sprintf("argument %d", i)
	if i < len(k.params) && k.params[i].Name != "" {
		name = fmt.Sprintf("argument %d (%s %s)", i, k.params[i].Type, k.params[i].Name)
		if k.params[i].Space == spaceLocal {
			name = fmt.Sprintf("argument %d (__local %s %s)", i, k.params[i].Type, k.params[i].Name)
		}
	}
	return fmt.Errorf("%s: kernel %q: %s: %s: %w", k.d.info.ID, k.entry, name, fmt.Sprintf(format, args...), devices.ErrInvalid)
}

// checkArgs checks the arguments of a launch against the kernel's parameters.
// It is done before the library sees them: some libraries take anything, and
// some abort the process.
func (k *kernel) checkArgs(args []devices.Arg) error {
	if len(args) != k.info.Args {
		return fmt.Errorf("%s: kernel %q takes %d arguments, %d were given: %w", k.d.info.ID, k.entry, k.info.Args, len(args), devices.ErrInvalid)
	}
	local, values := k.info.LocalBytes, 0
	for i := range args {
		a := &args[i]
		where := spaceUnknown
		if i < len(k.params) {
			where = k.params[i].Space
		}
		switch {
		case a.Buffer != nil:
			b, ok := a.Buffer.(*buffer)
			switch {
			case !ok || b.d != k.d:
				return k.wrong(i, "the buffer is not one of this device")
			case b.freed.Load():
				return fmt.Errorf("%w (the buffer of %d bytes was freed): %w", k.wrong(i, "no longer usable"), b.size, devices.ErrClosed)
			case a.Value != nil || a.LocalBytes != 0:
				return k.wrong(i, "both a buffer and something else were given")
			case where == spaceLocal:
				return k.wrong(i, "it needs an amount of local memory in bytes, a buffer of %d bytes was given", b.size)
			case where == spaceValue:
				return k.wrong(i, "it takes a value, a buffer of %d bytes was given", b.size)
			}
			values += 8
		case a.Value != nil:
			switch {
			case a.LocalBytes != 0:
				return k.wrong(i, "both a value and an amount of local memory were given")
			case where == spaceLocal:
				return k.wrong(i, "it needs an amount of local memory in bytes, a value of %d bytes was given", len(a.Value))
			case where == spaceGlobal:
				return k.wrong(i, "it takes a buffer, a value of %d bytes was given", len(a.Value))
			case i < len(k.sizes) && k.sizes[i] > 0 && k.sizes[i] != len(a.Value):
				return k.wrong(i, "it takes %d bytes, %d were given", k.sizes[i], len(a.Value))
			case len(a.Value) == 0:
				return k.wrong(i, "the value has no bytes")
			case len(a.Value) > maxValue:
				return k.wrong(i, "the value has %d bytes, at most %d are possible", len(a.Value), maxValue)
			}
			values += len(a.Value)
		case a.LocalBytes != 0:
			switch {
			case a.LocalBytes < 0:
				return k.wrong(i, "%d bytes of local memory", a.LocalBytes)
			case where == spaceGlobal || where == spaceValue:
				return k.wrong(i, "it is no __local pointer, %d bytes of local memory were given", a.LocalBytes)
			}
			local += a.LocalBytes
			if most := k.d.info.LocalMemory; most > 0 && local > most {
				return k.wrong(i, "%d bytes of local memory asked (%d together with what the kernel declares and its other arguments), the device has %d", a.LocalBytes, local, most)
			}
		default: // a null pointer
			switch where {
			case spaceLocal:
				return k.wrong(i, "it needs an amount of local memory in bytes, none was given")
			case spaceValue:
				return k.wrong(i, "it takes a value, none was given")
			}
			values += 8
		}
	}
	if most := k.d.info.LocalMemory; most > 0 && local > most {
		return fmt.Errorf("%s: kernel %q needs %d bytes of local memory, the device has %d: %w", k.d.info.ID, k.entry, local, most, devices.ErrInvalid)
	}
	if most := k.d.traits.maxParameters; most > 0 && values > most {
		return fmt.Errorf("%s: kernel %q: its arguments take %d bytes, the device allows %d: %w", k.d.info.ID, k.entry, values, most, devices.ErrInvalid)
	}
	return nil
}

// bind sets the arguments of a variant that are not set already.
func (k *kernel) bind(v *variant, pad *scratchpad, args []devices.Arg) error {
	for i := range args {
		a, was := &args[i], &v.bound[i]
		size, value := 8, unsafe.Pointer(&pad.value[0])
		var now boundKind
		var id uint64
		switch {
		case a.Buffer != nil:
			b := a.Buffer.(*buffer)
			now, id = boundBuffer, b.id
			if was.kind == now && was.id == id {
				continue
			}
			pad.value[0] = uint64(b.handle)
			if b.handle == 0 {
				pad.value[0] = 0 // an empty buffer: a null pointer
			}
		case a.Value != nil:
			now, size = boundValue, len(a.Value)
			if was.kind == now && was.size == size && size <= len(was.value) && bytes.Equal(was.value[:size], a.Value) {
				continue
			}
			copy(unsafe.Slice((*byte)(value), maxValue), a.Value)
		case a.LocalBytes != 0:
			now, size, value = boundLocal, int(a.LocalBytes), nil
			if was.kind == now && was.size == size {
				continue
			}
		default:
			now = boundNull
			if was.kind == now {
				continue
			}
			pad.value[0] = 0
		}
		k.setArgs = [4]uintptr{v.handle, uintptr(i), uintptr(size), uintptr(value)}
		was.kind = unbound
		if code := int32(dl.CallArgs(k.d.api.setKernelArg, k.setArgs[:])); code != success {
			return k.wrong(i, "%v", failed(code, "clSetKernelArg(%d bytes)", size))
		}
		was.kind, was.size, was.id = now, size, id
		if now == boundValue {
			copy(was.value[:], a.Value)
		}
	}
	return nil
}
