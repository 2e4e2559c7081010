package clc

import (
	"github.com/tandemrun/tandem/kernels"
)

// unit is a source after preprocessing and parsing.
type unit struct {
	name    string
	prep    *prep
	set     *settings
	toks    []token
	decls   map[string][]*decl // by the names they declare
	all     []*decl
	funcs   map[string]*function
	order   []*function          // kernels, in order of definition
	globals map[string]*variable // of program scope
	enums   map[string]int64
	faults  faults
	device  *taint // what hangs on the device, once asked for
}

// decl is a declaration of program scope.
type decl struct {
	from, to int      // its tokens
	names    []string // what it declares
	fn       *function
	global   bool           // a variable in global memory
	needs    *kernels.Needs // of this one alone, once asked for
}

// function is a function of the source.
type function struct {
	name   string
	pos    kernels.Pos
	kernel bool
	attrs  attributes
	ret    *ctype
	params []*variable
	decl   *decl
	locals []*variable // __local ones declared inside
	body   *stmt       // nil: only declared, or opaque
	// opaque says why the body could not be read; where is the place.
	opaque  string
	where   kernels.Pos
	returns []assignment // what it returns, and where
	// defined is set where the body was seen, readable or not.
	defined bool
}

// variable is a variable or a parameter.
type variable struct {
	name    string
	typ     *ctype
	pos     kernels.Pos
	param   int // position; -1: no parameter
	global  bool
	pointed bool // its address is taken
	sets    []assignment
}

// assignment is one place that sets a variable: to the value of x, or to
// something else (an update, or a value that comes from elsewhere).
type assignment struct {
	x   *expr // nil: no plain value
	ctx *context
}

// attributes are those that count here.
type attributes struct {
	packed  bool
	aligned int
	local   [3]int // reqd_work_group_size
}

func (a *attributes) merge(b attributes) {
	a.packed = a.packed || b.packed
	a.aligned = max(a.aligned, b.aligned)
	if b.local != [3]int{} {
		a.local = b.local
	}
}
