package cuda

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels/bridge"
)

// space is where a kernel parameter's value lives.
type space uint8

const (
	spaceUnknown space = iota // a buffer's address or a value of as many bytes
	spaceGlobal               // a buffer
	spaceLocal                // an amount of local memory
	spaceValue                // by value
)

// parameter is what is known of one of a kernel's parameters.
type parameter struct {
	name  string
	typ   string
	space space
	size  int // in bytes, as the launch passes it; 0: not known
}

// addressBytes is what a parameter takes that is an address.
const addressBytes = 8

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

// wrong is the error of an argument that does not fit its parameter.
func (k *kernel) wrong(i int, format string, args ...any) error {
	name := fmt.Sprintf("argument %d", i)
	if i < len(k.params) {
		switch p := k.params[i]; {
		case p.name != "" && p.space == spaceLocal:
			name = fmt.Sprintf("argument %d (__local %s %s)", i, p.typ, p.name)
		case p.name != "":
			name = fmt.Sprintf("argument %d (%s %s)", i, p.typ, p.name)
		}
	}
	return fmt.Errorf("%s: kernel %q: %s: %s: %w", k.d.info.ID, k.entry, name, fmt.Sprintf(format, args...), devices.ErrInvalid)
}

// sharedArgs reports whether amounts of local memory take no parameter: they
// are the dynamic shared memory of a kernel in CUDA C or PTX. OpenCL C has a
// pointer for each.
func (k *kernel) sharedArgs() bool { return !k.ranged }

// checkArgs checks the arguments of a launch against the kernel's parameters:
// the driver does not, it reads as many bytes as the kernel takes. dynamic is
// the local memory that the arguments ask for, together.
func (k *kernel) checkArgs(args []devices.Arg) (dynamic int64, err error) {
	given := 0
	for i := range args {
		if !k.sharedArgs() || args[i].LocalBytes == 0 {
			given++
		}
	}
	if k.known && given != len(k.params) || !k.known && given > maxArgs-1 {
		return 0, fmt.Errorf("%s: kernel %q takes %d arguments, %d were given: %w", k.d.info.ID, k.entry, len(k.params), given, devices.ErrInvalid)
	}
	bytes, at := 0, 0 // at: the parameter
	for i := range args {
		a := &args[i]
		var p parameter
		if at < len(k.params) {
			p = k.params[at]
		}
		switch {
		case a.Buffer != nil:
			b, ok := a.Buffer.(*buffer)
			switch {
			case !ok || b.d != k.d:
				return 0, k.wrong(i, "the buffer is not one of this device")
			case b.freed.Load():
				return 0, fmt.Errorf("%w (the buffer of %d bytes was freed): %w", k.wrong(i, "no longer usable"), b.size, devices.ErrClosed)
			case a.Value != nil || a.LocalBytes != 0:
				return 0, k.wrong(i, "both a buffer and something else were given")
			case p.space == spaceLocal:
				return 0, k.wrong(i, "it needs an amount of local memory in bytes, a buffer of %d bytes was given", b.size)
			case p.space == spaceValue:
				return 0, k.wrong(i, "it takes a value, a buffer of %d bytes was given", b.size)
			}
			bytes += addressBytes
		case a.Value != nil:
			switch {
			case a.LocalBytes != 0:
				return 0, k.wrong(i, "both a value and an amount of local memory were given")
			case p.space == spaceLocal:
				return 0, k.wrong(i, "it needs an amount of local memory in bytes, a value of %d bytes was given", len(a.Value))
			case p.space == spaceGlobal:
				return 0, k.wrong(i, "it takes a buffer, a value of %d bytes was given", len(a.Value))
			case p.size > 0 && p.size != len(a.Value):
				return 0, k.wrong(i, "it takes %d bytes, %d were given", p.size, len(a.Value))
			case len(a.Value) == 0:
				return 0, k.wrong(i, "the value has no bytes")
			}
			bytes += valueRoom(len(a.Value))
		case a.LocalBytes != 0:
			switch {
			case a.LocalBytes < 0:
				return 0, k.wrong(i, "%d bytes of local memory", a.LocalBytes)
			case !k.sharedArgs() && (p.space == spaceGlobal || p.space == spaceValue):
				return 0, k.wrong(i, "it is no local memory, %d bytes of local memory were given", a.LocalBytes)
			}
			// The amount itself first, for the sum not to run over.
			if most := k.d.info.LocalMemory; a.LocalBytes > most || alignUp(dynamic, bridge.LocalAlign)+a.LocalBytes+k.info.LocalBytes > most {
				return 0, k.wrong(i, "%d bytes of local memory asked, beside %d that the kernel declares and %d of its other arguments; the device has %d",
					a.LocalBytes, k.info.LocalBytes, dynamic, most)
			}
			dynamic = alignUp(dynamic, bridge.LocalAlign) + a.LocalBytes
			if k.sharedArgs() {
				continue
			}
			bytes += addressBytes
		default: // a null pointer
			switch p.space {
			case spaceLocal:
				return 0, k.wrong(i, "it needs an amount of local memory in bytes, none was given")
			case spaceValue:
				return 0, k.wrong(i, "it takes a value, none was given")
			}
			bytes += addressBytes
		}
		at++
		if most := k.d.maxParameterBytes(); bytes > most {
			return 0, k.wrong(i, "it and those before it take %d bytes, the device allows %d", bytes, most)
		}
	}
	return dynamic, nil
}

// maxParameterBytes is how many bytes a kernel's arguments may take.
func (d *device) maxParameterBytes() int {
	const before = 4096
	if d.traits.cudaVersion < 12010 || d.traits.major < 7 {
		return before
	}
	return maxValues
}

// valueRoom is what a value takes in the scratchpad: each begins where any type
// may.
func valueRoom(size int) int { return (size + 15) &^ 15 }
