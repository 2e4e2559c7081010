package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// A Fault is one thing wrong with a pipeline, or one warning about it.
type Fault struct {
	File         string // the pipeline file, or the kernel source that holds the fault; empty: the command line
	Line, Column int    // from 1; columns count characters; 0: not a matter of one place
	Path         string // "steps[2].args[0].mode"; empty: the whole file
	Msg          string
	Hint         string // what to do; empty: Msg says it
	Err          error  // the cause, where there is one; errors.Is finds it
}

func (f *Fault) Error() string {
	var b strings.Builder
	if pos := (kernels.Pos{File: f.File, Line: f.Line, Column: f.Column}).String(); pos != "" {
		b.WriteString(pos + ": ")
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Msg)
	if f.Hint != "" {
		b.WriteString("; " + f.Hint)
	}
	return b.String()
}

// Unwrap is the cause, nil where there is none.
func (f *Fault) Unwrap() error { return f.Err }

// Is makes every fault a devices.ErrInvalid.
func (f *Fault) Is(target error) bool { return target == devices.ErrInvalid }

// maxFaults bounds how many faults of one file are reported.
const maxFaults = 100

// faults collects what is wrong with one file.
type faults struct {
	file string
	list []*Fault
	more int
}

// add notes a fault at n (nil: no place) and returns it for a hint.
func (fs *faults) add(n *node, path, format string, a ...any) *Fault {
	f := &Fault{File: fs.file, Path: path, Msg: fmt.Sprintf(format, a...)}
	if n != nil {
		f.Line, f.Column = n.line, n.col
	}
	return fs.put(f)
}

func (fs *faults) put(f *Fault) *Fault {
	if len(fs.list) >= maxFaults {
		fs.more++
		return f
	}
	fs.list = append(fs.list, f)
	return f
}

// err joins the faults in the order of the file, each once.
func (fs *faults) err() error {
	if len(fs.list) == 0 {
		return nil
	}
	slices.SortStableFunc(fs.list, func(a, b *Fault) int {
		if own := cmp.Compare(btoi(a.File != fs.file), btoi(b.File != fs.file)); own != 0 {
			return own
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var errs []error
	seen := map[string]bool{}
	for _, f := range fs.list {
		if text := f.Error(); !seen[text] {
			seen[text] = true
			errs = append(errs, f)
		}
	}
	if fs.more > 0 {
		errs = append(errs, &Fault{File: fs.file, Msg: fmt.Sprintf("%d more faults", fs.more)})
	}
	return errors.Join(errs...)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// near is a hint with the nearest of the right spellings, or all of them.
func near(name string, names []string) string {
	// One or two letters are close to any other one or two.
	if n := kernels.Nearest(name, names); n != "" && len(name) > 2 {
		return fmt.Sprintf("did you mean %q?", n)
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > maxListed:
		return fmt.Sprintf("there are %s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	case len(names) == 1:
		return "there is " + names[0]
	}
	return "there are " + strings.Join(names, ", ")
}

// maxListed bounds the names in one message.
const maxListed = 30

// clip shortens text from a file for a message.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
