package sycl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// space is where a kernel parameter's value lives.
type space uint8

const (
	spaceUnknown space = iota
	spaceGlobal        // a buffer
	spaceLocal         // an amount of local memory
	spaceValue         // by value
)

// parameter is what is known of one of a kernel's parameters.
type parameter struct {
	Name  string
	Type  string
	Space space
	Size  int // of a value, in bytes; 0: not known
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

// readParameters reads the shim's lines "SPACE|TYPE|NAME"; nil when it does not
// tell of n.
func readParameters(lines string, n int) []parameter {
	var list []parameter
	for line := range strings.SplitSeq(lines, "\n") {
		field := strings.Split(line, "|")
		if len(field) != 3 {
			continue
		}
		p := parameter{Type: field[1], Name: field[2]}
		switch field[0] {
		case "global":
			p.Space = spaceGlobal
		case "local":
			p.Space = spaceLocal
		case "value":
			p.Space, p.Size = spaceValue, valueSize(p.Type)
		}
		list = append(list, p)
	}
	if len(list) != n {
		return nil
	}
	return list
}

// wrong is the error of an argument that does not fit its parameter.
func (k *kernel) wrong(i int, format string, args ...any) error {
	name := fmt.Sprintf("argument %d", i)
	if i < len(k.params) && k.params[i].Name != "" {
		p := k.params[i]
		name = fmt.Sprintf("argument %d (%s %s)", i, p.Type, p.Name)
		if p.Space == spaceLocal && k.p.src.Language == devices.LangOpenCL {
			name = fmt.Sprintf("argument %d (__local %s %s)", i, p.Type, p.Name)
		}
	}
	return fmt.Errorf("%s: kernel %q: %s: %s: %w", k.d.info.ID, k.entry, name, fmt.Sprintf(format, args...), devices.ErrInvalid)
}

// checkArgs checks the arguments of a launch against the kernel's parameters,
// before the runtime sees them: not every entry point of it looks.
func (k *kernel) checkArgs(args []devices.Arg) error {
	if k.anyArgs && len(args) <= maxArgs {
		// The function looks at them itself.
	} else if len(args) != k.info.Args {
		return fmt.Errorf("%s: kernel %q takes %d arguments, %d were given: %w", k.d.info.ID, k.entry, k.info.Args, len(args), devices.ErrInvalid)
	}
	local, values, room := k.info.LocalBytes, 0, 0
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
			case i < len(k.params) && k.params[i].Size > 0 && k.params[i].Size != len(a.Value):
				return k.wrong(i, "it takes %d bytes, %d were given", k.params[i].Size, len(a.Value))
			case len(a.Value) == 0:
				return k.wrong(i, "the value has no bytes")
			}
			values += len(a.Value)
			if room += valueRoom(len(a.Value)); room > maxValues {
				return k.wrong(i, "a value of %d bytes, and those before it: at most %d are possible", len(a.Value), maxValues)
			}
		case a.LocalBytes != 0:
			switch {
			case a.LocalBytes < 0:
				return k.wrong(i, "%d bytes of local memory", a.LocalBytes)
			case where == spaceGlobal || where == spaceValue:
				return k.wrong(i, "it is no local memory, %d bytes of local memory were given", a.LocalBytes)
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

// isImage reports whether a type of OpenCL C is one that needs an object other
// than a buffer.
func isImage(typ string) bool {
	return strings.HasPrefix(typ, "image") || typ == "sampler_t" || strings.HasPrefix(typ, "pipe")
}
