package cuda

import (
	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels/bridge"
)

// addressBytes is what a parameter takes that is an address.
const addressBytes = 8

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

// Holds implements argcheck.Owner.
func (d *device) Holds(b devices.Buffer) (ours, freed bool) {
	own, ok := b.(*buffer)
	if !ok || own == nil || own.d != d {
		return false, false
	}
	return true, own.freed.Load()
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
	if takes := len(k.check.Params); k.known || given > maxArgs-1 {
		if err := k.check.Count(takes, given); err != nil {
			return 0, err
		}
	}
	bytes, at := 0, 0 // at: the parameter
	for i := range args {
		a, place := &args[i], at
		none := k.sharedArgs() && a.Buffer == nil && a.Value == nil && a.LocalBytes != 0 // it takes no parameter
		if none {
			place = len(k.check.Params)
		}
		if err := k.check.Check(i, place, a, k.d); err != nil {
			return 0, err
		}
		switch {
		case a.Value != nil:
			bytes += valueRoom(len(a.Value))
		case a.LocalBytes != 0:
			// The amount itself first, for the sum not to run over.
			if most := k.d.info.LocalMemory; a.LocalBytes > most || alignUp(dynamic, bridge.LocalAlign)+a.LocalBytes+k.info.LocalBytes > most {
				return 0, k.check.Wrong(i, place, "%d bytes of local memory asked, beside %d that the kernel declares and %d of its other arguments; the device has %d",
					a.LocalBytes, k.info.LocalBytes, dynamic, most)
			}
			dynamic = alignUp(dynamic, bridge.LocalAlign) + a.LocalBytes
			if none {
				continue
			}
			bytes += addressBytes
		default:
			bytes += addressBytes
		}
		at++
		if most := k.d.maxParameterBytes(); bytes > most {
			return 0, k.check.Wrong(i, place, "it and those before it take %d bytes, the device allows %d", bytes, most)
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
