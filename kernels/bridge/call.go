package bridge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/kernels/clc"
)

// call rewrites the call of a function.
func (t *translation) call(k clc.Mark) {
	if k.Own {
		if !t.defined[k.Name] {
			t.refuse(k.Unit, k.At, "function %q is called and defined nowhere", k.Name)
		}
		if t.ranged[k.Name] {
			t.handRange(k)
		}
		return
	}
	switch {
	case rangedFunctions[k.Name]:
		t.handRange(k)
	case k.Name == "printf":
		t.printf(k)
	default:
		if text, ok := templated(k.Name); ok {
			t.replace(k.At, text)
		} else if why := refusedCall(k.Name); why != "" {
			t.refuse(k.Unit, k.At, "%s has no counterpart in CUDA C: %s", k.Name, why)
		}
	}
}

// handRange passes the range on to what is called.
func (t *translation) handRange(k clc.Mark) {
	text := "tandem_nd"
	if k.Args > 0 {
		text += ", "
	}
	t.edits[k.At+1].after = append(t.edits[k.At+1].after, text)
}

// printf refuses what CUDA's cannot print.
func (t *translation) printf(k clc.Mark) {
	for i := k.At + 2; i < k.To && t.m.Tokens[i].Quoted; i++ {
		text := strings.ReplaceAll(t.m.Tokens[i].Text, "%%", "")
		for _, part := range strings.Split(text, "%")[1:] {
			if flags := strings.TrimLeft(part, "-+ #0123456789.*"); strings.HasPrefix(flags, "v") {
				t.refuse(k.Unit, i, "printf of a vector (%%v) has no counterpart in CUDA C: print the lanes one by one")
				return
			}
		}
	}
}

// types are the names of OpenCL C's scalar types as the header has them.
var types = map[string]bool{
	"char": true, "uchar": true, "short": true, "ushort": true, "int": true, "uint": true,
	"long": true, "ulong": true, "float": true, "double": true, "half": true,
}

// modes are rounding modes as the header counts them.
var modes = map[string]string{"": "0", "_rte": "1", "_rtz": "2", "_rtp": "3", "_rtn": "4"}

// scalarType takes "float4" apart into the header's name of the scalar and the
// number of lanes.
func scalarType(name string) (scalar, lanes string, ok bool) {
	scalar = strings.TrimRight(name, "0123456789")
	lanes = name[len(scalar):]
	if !types[scalar] {
		return "", "", false
	}
	switch lanes {
	case "":
		lanes = "1"
	case "2", "3", "4", "8", "16":
	default:
		return "", "", false
	}
	switch scalar {
	case "char":
		scalar = "signed char"
	case "long":
		scalar = "long long"
	}
	return scalar, lanes, true
}

// templated is the header's template for a function whose name says its types:
// convert_float4_sat_rte, as_int2, vload8, vstorea_half4_rtz.
func templated(name string) (string, bool) {
	if rest, ok := strings.CutPrefix(name, "convert_"); ok {
		to, how, _ := strings.Cut(rest, "_")
		scalar, n, ok := scalarType(to)
		how, saturates := strings.CutPrefix("_"+how, "_sat")
		if how == "_" {
			how = ""
		}
		mode, known := modes[how]
		if !ok || !known {
			return "", false
		}
		return fmt.Sprintf("tandem_convert<%s,%s,%t,%s>", scalar, n, saturates, mode), true
	}
	if rest, ok := strings.CutPrefix(name, "as_"); ok {
		scalar, n, ok := scalarType(rest)
		if !ok {
			return "", false
		}
		if n == "1" {
			return "tandem_as<" + scalar + ">", true
		}
		return fmt.Sprintf("tandem_as<vec<%s,%s>>", scalar, n), true
	}
	lanes := []string{"", "2", "3", "4", "8", "16"}
	for _, p := range []struct{ prefix, template string }{
		{"vloada_half", "tandem_vloada_half"}, {"vload_half", "tandem_vload_half"},
		{"vstorea_half", "tandem_vstorea_half"}, {"vstore_half", "tandem_vstore_half"}, {"vload", "tandem_vload"}, {"vstore", "tandem_vstore"},
	} {
		rest, ok := strings.CutPrefix(name, p.prefix)
		if !ok {
			continue
		}
		half := strings.HasSuffix(p.prefix, "half")
		n, mode, _ := strings.Cut(rest, "_")
		if mode != "" {
			mode = "_" + mode
		}
		number, known := modes[mode]
		if !slices.Contains(lanes, n) || n == "" && !half || mode != "" && !(half && strings.Contains(p.prefix, "store")) || !known {
			return "", false
		}
		if n == "" {
			n = "1"
		}
		if strings.Contains(p.prefix, "store") && half {
			return fmt.Sprintf("%s<%s,%s>", p.template, n, number), true
		}
		return fmt.Sprintf("%s<%s>", p.template, n), true
	}
	return "", false
}
