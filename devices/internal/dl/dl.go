// Package dl loads shared libraries at run time. It is the only place in the
// module that does: vendor libraries are found, never linked, and the module
// builds with cgo on and off.
//
// A library that was loaded stays loaded: vendor libraries start threads and
// register exit handlers, so unloading them ends in crashes.
package dl

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrNoLibrary says that no library of a list could be loaded.
var ErrNoLibrary = errors.New("library cannot be loaded")

// ErrNoSymbol says that a loaded library lacks a function.
var ErrNoSymbol = errors.New("symbol not found")

// Attempt is one name that Open tried, and what the system's loader said.
type Attempt struct {
	Name string
	Err  error
}

// OpenError says that none of the names could be loaded. It wraps
// ErrNoLibrary.
type OpenError struct {
	Attempts []Attempt // in the order tried
}

func (e *OpenError) Error() string {
	if len(e.Attempts) == 0 {
		return "no library named: " + ErrNoLibrary.Error()
	}
	said := make([]string, len(e.Attempts))
	for i, a := range e.Attempts {
		said[i] = a.Err.Error()
		if !strings.Contains(said[i], a.Name) {
			said[i] = a.Name + ": " + said[i]
		}
	}
	return strings.Join(said, "; ")
}

// Unwrap gives ErrNoLibrary.
func (e *OpenError) Unwrap() error { return ErrNoLibrary }

// SymbolError says that a library has no symbol of that name. It wraps
// ErrNoSymbol.
type SymbolError struct {
	Library string
	Symbol  string
}

func (e *SymbolError) Error() string {
	return fmt.Sprintf("%s: %s: %v", e.Library, e.Symbol, ErrNoSymbol)
}

// Unwrap gives ErrNoSymbol.
func (e *SymbolError) Unwrap() error { return ErrNoSymbol }

// A Library is a loaded shared library. Its methods may be called from any
// goroutine.
type Library struct {
	name   string
	path   string
	handle uintptr
}

// Open loads the first of names that can be loaded: file names for the
// system's search path, or paths. When none can, the error is an *OpenError
// with one Attempt per name.
func Open(names ...string) (*Library, error) {
	var failed OpenError
	for _, name := range names {
		if name == "" || strings.ContainsRune(name, 0) {
			failed.Attempts = append(failed.Attempts, Attempt{name, errors.New("not a file name")})
			continue
		}
		handle, err := open(name)
		if err != nil {
			failed.Attempts = append(failed.Attempts, Attempt{name, err})
			continue
		}
		return &Library{name: name, path: loadedPath(handle, name), handle: handle}, nil
	}
	return nil, &failed
}

// Name is the name that loaded.
func (l *Library) Name() string { return l.name }

// Path is the file that was loaded, where the system tells; otherwise Name.
func (l *Library) Path() string { return l.path }

// Lookup is the address of a symbol. A missing one is a *SymbolError.
func (l *Library) Lookup(symbol string) (uintptr, error) {
	if p := lookup(l.handle, symbol); p != 0 {
		return p, nil
	}
	return 0, &SymbolError{Library: l.path, Symbol: symbol}
}

// Call calls the C function at fn, which takes and returns integers or
// pointers only, and returns its result. A Go pointer converted to uintptr in
// the argument list itself stays valid until the call returns and no longer;
// what C keeps has to live outside the Go heap. Call allocates its argument
// list; CallArgs is for paths that must not.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// CallArgs is Call with an argument list that the caller keeps and reuses; it
// does not allocate. Pointers in the list are to pinned memory or to memory
// outside the Go heap: nothing else keeps them alive.
func CallArgs(fn uintptr, args []uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// Callback makes a C function of fn, whose arguments are integers or pointers
// and whose one result is a uintptr (Windows allows nothing else). It is never
// released and there are about 1000 in a process: make few, and tell calls
// apart by their user data.
func Callback(fn any) uintptr { return purego.NewCallback(fn) }

// CallbackPlain makes a C function without arguments and result. It counts as
// one of Callback's, and calling it does not allocate (except on Windows).
func CallbackPlain(fn func()) uintptr { return callbackPlain(fn) }

// Text copies the zero-terminated C string at p; "" for a null pointer.
func Text(p uintptr) string {
	if p == 0 {
		return ""
	}
	// Reading the address through its own memory: it is C's, so the garbage
	// collector has no part in it.
	start := *(**byte)(unsafe.Pointer(&p))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(start), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(start, n))
}
