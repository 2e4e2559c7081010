package clc

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/kernels"
)

// Options say how a source is read and built.
type Options struct {
	// Include are the folders searched for included files, in order, after
	// the folder of the including file. Relative ones start at the working
	// directory. Blanks in them are nothing special.
	Include []string

	// Defines are macros set before the first line, in order.
	Defines []Define

	// Options are compiler options, one each. They become the Options of the
	// source, unchanged and in order, except for -D, -U and -I, which are
	// honoured here: "-DN=4", "-D N=4", or "-D" and "N=4" as two elements.
	Options []string
}

// Define is a macro. Name may carry parameters: "SQ(x)". An empty Value stands
// for 1, as -D NAME does; a blank (" ") defines the macro as nothing.
type Define struct{ Name, Value string }

// settings are Options taken apart.
type settings struct {
	include  []string
	prologue string   // #define and #undef lines
	options  []string // for the device's compiler
	version  int      // __OPENCL_C_VERSION__
	single   bool     // -cl-single-precision-constant
	fast     bool     // -cl-fast-relaxed-math
	// foreign: another language than OpenCL C, which has no macros of its own
	// here, and whose compiler has headers of its own.
	foreign bool
	macros  []Define // that the other language's compiler sets
}

func (o Options) settings() (*settings, error) {
	s := &settings{include: slices.Clone(o.Include), version: 120}
	var bad faults
	var lines strings.Builder
	define := func(what, name, value string) {
		switch {
		case !validMacro(name):
			bad.add(kernels.Pos{}, "%s %q: not the name of a macro", what, name)
		case strings.ContainsAny(name+value, "\n\r\x00"):
			bad.add(kernels.Pos{}, "%s %q: a macro cannot hold a line break", what, name)
		case value == "":
			lines.WriteString("#define " + name + " 1\n")
		default:
			lines.WriteString("#define " + name + " " + strings.TrimSpace(value) + "\n")
		}
	}
	for _, d := range o.Defines {
		define("define", d.Name, d.Value)
	}
	for i := 0; i < len(o.Options); i++ {
		opt := strings.TrimSpace(o.Options[i])
		if len(opt) < 2 || opt[0] != '-' || !strings.ContainsRune("DUI", rune(opt[1])) {
			if strings.Contains(opt, " -D") || strings.Contains(opt, " -I") || strings.Contains(opt, " -U") {
				bad.add(kernels.Pos{}, "option %q: write one option per element", opt)
			}
			s.keep(o.Options[i], opt)
			continue
		}
		arg := strings.TrimSpace(opt[2:])
		if arg == "" {
			if i++; i == len(o.Options) {
				bad.add(kernels.Pos{}, "option %s: its argument is missing", opt)
				break
			}
			arg = strings.TrimSpace(o.Options[i])
		}
		switch opt[1] {
		case 'I':
			s.include = append(s.include, unquote(arg))
		case 'U':
			if !validMacro(arg) {
				bad.add(kernels.Pos{}, "option -U %q: not the name of a macro", arg)
				continue
			}
			lines.WriteString("#undef " + arg + "\n")
		case 'D':
			if strings.Contains(arg, " -D") || strings.Contains(arg, " -I") {
				bad.add(kernels.Pos{}, "option %q: write one option per element", opt)
				continue
			}
			name, value, has := strings.Cut(arg, "=")
			if has && value == "" {
				value = " " // -DX= defines X as nothing
			}
			define("option -D", name, value)
		}
	}
	for i, dir := range s.include {
		s.include[i] = filepath.Clean(dir)
	}
	s.prologue = lines.String()
	return s, bad.err()
}

// keep passes an option on and notes what it means for reading.
func (s *settings) keep(original, opt string) {
	s.options = append(s.options, original)
	switch {
	case opt == "-cl-single-precision-constant":
		s.single = true
	case opt == "-cl-fast-relaxed-math":
		s.fast = true
	case strings.HasPrefix(opt, "-cl-std=CL"):
		for text, v := range map[string]int{"1.0": 100, "1.1": 110, "1.2": 120, "2.0": 200, "3.0": 300} {
			if opt == "-cl-std=CL"+text {
				s.version = v
			}
		}
	}
}

// unquote takes the quotes off a folder that was written for a shell.
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// validMacro reports whether s is an identifier, with or without a parameter
// list.
func validMacro(s string) bool {
	name, params, has := strings.Cut(s, "(")
	if has && !strings.HasSuffix(params, ")") {
		return false
	}
	for i := range len(name) {
		if !identByte(name[i], i > 0) {
			return false
		}
	}
	return name != "" && name != "defined"
}
