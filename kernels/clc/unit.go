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

	basic   map[string]*ctype // the types of the language
	heads   []head            // of functions, in order
	objects []placed          // variables, in order
	inits   []*expr           // initialisers at program scope
}

// head is the head of a function, with a body or without.
type head struct {
	name         string
	from, nameAt int // tokens: the first specifier, and the name
	list         paramTokens
	first        bool      // of its declaration
	decl         *decl     // at program scope
	fn           *function // inside of which it stands
}

// placed is a variable that a declaration makes. Its address space stands at a
// token, -1 where its type brings it along.
type placed struct {
	v       *variable
	spaceAt int
	decl    *decl     // at program scope
	fn      *function // inside of which it stands
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
