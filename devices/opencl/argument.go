package opencl

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/argcheck"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// parameters reads a kernel's parameters; false where the driver does not
// tell.
func (d *device) parameters(kernel uintptr) ([]argcheck.Parameter, bool) {
	b, code := d.api.query(d.api.getKernelInfo, kernelNumArgs, kernel)
	if code != success {
		return nil, false
	}
	list := make([]argcheck.Parameter, number(b))
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
			list[i].Space = argcheck.Global
		case addressLocal:
			list[i].Space = argcheck.Local
		case addressPrivate:
			list[i].Space = argcheck.Value
		}
		name, _ := ask(kernelArgName)
		typ, _ := ask(kernelArgTypeName)
		list[i].Name, list[i].Type = text(name), text(typ)
		if list[i].Space == argcheck.Value {
			list[i].Size = argcheck.ValueSize(list[i].Type)
		}
	}
	return list, true
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

// Holds implements argcheck.Owner.
func (d *device) Holds(b devices.Buffer) (ours, freed bool) {
	own, ok := b.(*buffer)
	if !ok || own == nil || own.d != d {
		return false, false
	}
	return true, own.freed.Load()
}

// checkArgs checks the arguments of a launch against the kernel's parameters.
func (k *kernel) checkArgs(args []devices.Arg) error {
	if err := k.check.Count(k.info.Args, len(args)); err != nil {
		return err
	}
	local, values, most := k.info.LocalBytes, 0, k.d.info.LocalMemory
	for i := range args {
		a := &args[i]
		if err := k.check.Check(i, i, a, k.d); err != nil {
			return err
		}
		switch {
		case a.Value != nil:
			if len(a.Value) > maxValue {
				return k.check.Wrong(i, i, "the value has %d bytes, at most %d are possible", len(a.Value), maxValue)
			}
			values += len(a.Value)
		case a.LocalBytes != 0:
			if err := k.check.AddLocal(i, a, &local, most); err != nil {
				return err
			}
		default:
			values += 8
		}
	}
	if most > 0 && local > most {
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
			return k.check.Wrong(i, i, "%v", failed(code, "clSetKernelArg(%d bytes)", size))
		}
		was.kind, was.size, was.id = now, size, id
		if now == boundValue {
			copy(was.value[:], a.Value)
		}
	}
	return nil
}
