// Package argcheck checks the arguments of a launch against a kernel's
// parameters before a vendor's library sees them: some libraries take anything,
// and some abort the process.
package argcheck

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// Space is where a kernel parameter's value lives.
type Space uint8

const (
	Unknown Space = iota
	Global        // a buffer
	Local         // an amount of local memory
	Value         // by value
)

// A Parameter is what is known of one of a kernel's parameters.
type Parameter struct {
	Name  string
	Type  string
	Space Space
	Size  int // of a value, in bytes; 0: not known
}

// A Kernel is what the checks know of a kernel.
type Kernel struct {
	Device string // its id
	Entry  string
	Params []Parameter // fewer than its arguments: of the others nothing is known
	Local  string      // what stands before the type of a parameter in local memory, with a blank: "__local "
}

// An Owner knows its buffers.
type Owner interface {
	// Holds reports whether b is one of the device, and whether it has been
	// freed.
	Holds(b devices.Buffer) (ours, freed bool)
}

// Wrong is the error of argument i, which does not fit parameter at.
func (k *Kernel) Wrong(i, at int, format string, args ...any) error {
	name := fmt.Sprintf("argument %d", i)
	if at < len(k.Params) && k.Params[at].Name != "" {
		local := ""
		if k.Params[at].Space == Local {
			local = k.Local
		}
		name = fmt.Sprintf("argument %d (%s%s %s)", i, local, k.Params[at].Type, k.Params[at].Name)
	}
	return fmt.Errorf("%s: kernel %q: %s: %s: %w", k.Device, k.Entry, name, fmt.Sprintf(format, args...), devices.ErrInvalid)
}

// Count refuses a wrong number of arguments.
func (k *Kernel) Count(takes, given int) error {
	if takes == given {
		return nil
	}
	return fmt.Errorf("%s: kernel %q takes %d arguments, %d were given: %w", k.Device, k.Entry, takes, given, devices.ErrInvalid)
}

// Check checks argument i against parameter at, but for what arguments take
// together. It does not allocate unless it fails.
func (k *Kernel) Check(i, at int, a *devices.Arg, o Owner) error {
	var p Parameter
	if at < len(k.Params) {
		p = k.Params[at]
	}
	switch {
	case a.Buffer != nil:
		switch ours, freed := o.Holds(a.Buffer); {
		case !ours:
			return k.Wrong(i, at, "the buffer is not one of this device")
		case freed:
			return fmt.Errorf("%w (the buffer of %d bytes was freed): %w", k.Wrong(i, at, "no longer usable"), a.Buffer.Size(), devices.ErrClosed)
		case a.Value != nil || a.LocalBytes != 0:
			return k.Wrong(i, at, "both a buffer and something else were given")
		case p.Space == Local:
			return k.Wrong(i, at, "it needs an amount of local memory in bytes, a buffer of %d bytes was given", a.Buffer.Size())
		case p.Space == Value:
			return k.Wrong(i, at, "it takes a value, a buffer of %d bytes was given", a.Buffer.Size())
		}
	case a.Value != nil:
		switch {
		case a.LocalBytes != 0:
			return k.Wrong(i, at, "both a value and an amount of local memory were given")
		case p.Space == Local:
			return k.Wrong(i, at, "it needs an amount of local memory in bytes, a value of %d bytes was given", len(a.Value))
		case p.Space == Global:
			return k.Wrong(i, at, "it takes a buffer, a value of %d bytes was given", len(a.Value))
		case p.Size > 0 && p.Size != len(a.Value):
			return k.Wrong(i, at, "it takes %d bytes, %d were given", p.Size, len(a.Value))
		case len(a.Value) == 0:
			return k.Wrong(i, at, "the value has no bytes")
		}
	case a.LocalBytes != 0:
		switch {
		case a.LocalBytes < 0:
			return k.Wrong(i, at, "%d bytes of local memory", a.LocalBytes)
		case p.Space == Global || p.Space == Value:
			return k.Wrong(i, at, "it is no local memory, %d bytes of local memory were given", a.LocalBytes)
		}
	default: // a null pointer
		switch p.Space {
		case Local:
			return k.Wrong(i, at, "it needs an amount of local memory in bytes, none was given")
		case Value:
			return k.Wrong(i, at, "it takes a value, none was given")
		}
	}
	return nil
}

// AddLocal adds what argument i asks of local memory to used, which is at most
// most. most 0: no limit is known.
func (k *Kernel) AddLocal(i int, a *devices.Arg, used *int64, most int64) error {
	if most > 0 && a.LocalBytes > most-*used { // the sum itself could run over
		return k.Wrong(i, i, "%d bytes of local memory asked (%d together with what the kernel declares and its other arguments), the device has %d",
			a.LocalBytes, uint64(*used)+uint64(a.LocalBytes), most)
	}
	*used += a.LocalBytes
	return nil
}
