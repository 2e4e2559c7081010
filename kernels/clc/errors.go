package clc

import (
	"errors"
	"fmt"

	"github.com/tandemrun/tandem/kernels"
)

// An Error is one fault in a source, at the place in the user's file.
type Error struct {
	Pos kernels.Pos
	Msg string
}

func (e *Error) Error() string {
	if e.Pos.File == "" {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// maxFaults bounds how many faults of one source are reported.
const maxFaults = 20

// faults collects errors in the order in which they were found.
type faults struct {
	list []error
	more int
}

func (f *faults) add(pos kernels.Pos, format string, a ...any) {
	if len(f.list) >= maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, &Error{pos, fmt.Sprintf(format, a...)})
}

func (f *faults) err() error {
	if f.more > 0 {
		return errors.Join(append(f.list, fmt.Errorf("%d more faults", f.more))...)
	}
	return errors.Join(f.list...)
}

// bail is panicked by readers that cannot go on and recovered where the file
// or the function they read was begun.
type bail struct{ err *Error }

func bailf(pos kernels.Pos, format string, a ...any) {
	panic(bail{&Error{pos, fmt.Sprintf(format, a...)}})
}

// catch turns a bail into a call of f; other panics go on.
func catch(f func(*Error)) {
	switch r := recover().(type) {
	case nil:
	case bail:
		f(r.err)
	default:
		panic(r)
	}
}
