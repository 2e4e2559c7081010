package main

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/verilog"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

// fault is one thing that is wrong, as it is shown.
type fault struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	log     string // a compiler's whole log
	Log     string `json:"log,omitempty"`
}

// line is the fault for a terminal: "file:line:column: message" as the error
// has it, or behind the program's name if it is about no place in a file.
func (f *fault) line() string {
	if f.File != "" && strings.HasPrefix(f.Message, f.File) {
		return f.Message
	}
	return "tandem: " + f.Message
}

// faults takes a tree of joined errors apart, one fault for each leaf, none
// twice.
func faults(err error) []fault {
	var list []fault
	seen := map[string]bool{}
	add := func(f fault) {
		if !seen[f.Message] {
			seen[f.Message] = true
			list = append(list, f)
		}
	}
	for _, e := range leaves(err) {
		f := fault{Message: plain(e)}
		var ce *devices.CompileError
		if errors.As(e, &ce) {
			if built := buildFaults(ce, strings.TrimSuffix(f.Message, ce.Error())); len(built) > 0 {
				for _, b := range built {
					add(b)
				}
				continue
			}
			f.Log = strings.TrimRight(ce.Log, "\n ")
			if f.log = f.Log; !strings.Contains(f.log, "\n") && strings.Contains(f.Message, strings.TrimSpace(f.log)) {
				f.log = ""
			}
		}
		if pos := place(e); pos.File != "" {
			f.File, f.Line, f.Column = pos.File, pos.Line, pos.Column
		}
		add(f)
	}
	slices.SortStableFunc(list, func(a, b fault) int {
		if a.File != b.File || a.File == "" {
			return 0 // files stay in the order in which they were met
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return list
}

// plain is an error for a person: without the name of its class at the end,
// which is there for programs and says nothing new.
func plain(err error) string {
	text := strings.TrimSpace(err.Error())
	for _, class := range []error{devices.ErrUnavailable, devices.ErrUnsupported, devices.ErrInvalid, fs.ErrNotExist} {
		if errors.Is(err, class) {
			text = strings.TrimSuffix(text, ": "+class.Error())
		}
	}
	return text
}

// leaves are the errors that errors.Join put together; a wrapper with words of
// its own stays whole.
func leaves(err error) []error {
	switch e := err.(type) { //nolint:errorlint // the tree is walked level by level
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		kids := e.Unwrap()
		texts := make([]string, len(kids))
		for i, k := range kids {
			texts[i] = k.Error()
		}
		if err.Error() != strings.Join(texts, "\n") {
			return []error{err}
		}
		var all []error
		for _, k := range kids {
			all = append(all, leaves(k)...)
		}
		return all
	case *workError:
		var all []error
		for _, k := range leaves(e.err) {
			all = append(all, &workError{k})
		}
		return all
	}
	return []error{err}
}

// place is where in the user's files the fault is.
func place(err error) kernels.Pos {
	var pf *pipeline.Fault
	var ce *clc.Error
	var ae *kernels.ArgError
	var ve *verilog.Error
	switch {
	case errors.As(err, &pf):
		return kernels.Pos{File: pf.File, Line: pf.Line, Column: pf.Column}
	case errors.As(err, &ce):
		return ce.Pos
	case errors.As(err, &ae):
		return ae.Pos
	case errors.As(err, &ve) && ve.Line > 0:
		return kernels.Pos{File: ve.File, Line: ve.Line, Column: ve.Column}
	}
	return kernels.Pos{}
}

// indent puts two blanks before each line.
func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
