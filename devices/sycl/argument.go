package sycl

import (
	"fmt"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/argcheck"
)

// readParameters reads the shim's lines "SPACE|TYPE|NAME"; nil when it does not
// tell of n.
func readParameters(lines string, n int) []argcheck.Parameter {
	var list []argcheck.Parameter
	for line := range strings.SplitSeq(lines, "\n") {
		field := strings.Split(line, "|")
		if len(field) != 3 {
			continue
		}
		p := argcheck.Parameter{Type: field[1], Name: field[2]}
		switch field[0] {
		case "global":
			p.Space = argcheck.Global
		case "local":
			p.Space = argcheck.Local
		case "value":
			p.Space, p.Size = argcheck.Value, argcheck.ValueSize(p.Type)
		}
		list = append(list, p)
	}
	if len(list) != n {
		return nil
	}
	return list
}

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
	// A function of a library looks at their number itself.
	if !k.anyArgs || len(args) > maxArgs {
		if err := k.check.Count(k.info.Args, len(args)); err != nil {
			return err
		}
	}
	local, values, room, most := k.info.LocalBytes, 0, 0, k.d.info.LocalMemory
	for i := range args {
		a := &args[i]
		if err := k.check.Check(i, i, a, k.d); err != nil {
			return err
		}
		switch {
		case a.Value != nil:
			values += len(a.Value)
			if room += valueRoom(len(a.Value)); room > maxValues {
				return k.check.Wrong(i, i, "a value of %d bytes, and those before it: at most %d are possible", len(a.Value), maxValues)
			}
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

// isImage reports whether a type of OpenCL C is one that needs an object other
// than a buffer.
func isImage(typ string) bool {
	return strings.HasPrefix(typ, "image") || typ == "sampler_t" || strings.HasPrefix(typ, "pipe")
}
