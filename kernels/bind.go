package kernels

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// Given is an argument as a caller writes it. Exactly one of Array, Value,
// Bytes and LocalBytes is set.
type Given struct {
	Name       string // parameter's name; empty: by position
	Array      *Array
	Mode       Access // 0: what the signature says
	Value      any    // number, slice of lanes, []FieldValue
	Bytes      []byte // a value already laid out
	Type       string // type of Value or Bytes as the caller believes it to be; empty: not stated
	LocalBytes int64
	Pos        Pos // for messages
}

func (g *Given) what() string {
	switch {
	case g.Array != nil:
		return "a buffer"
	case g.LocalBytes > 0:
		return "local memory"
	default:
		return "a value"
	}
}

// An ArgError is one argument that does not fit its parameter.
type ArgError struct {
	Kernel string
	Param  string // name, or "argument 3" for one too many
	Pos    Pos    // of the argument, where the caller knows it
	Err    error
}

func (e *ArgError) Error() string {
	at := ""
	if e.Pos.Line > 0 {
		at = e.Pos.String() + ": "
	}
	return fmt.Sprintf("%skernel %s: %s: %v", at, e.Kernel, e.Param, e.Err)
}

func (e *ArgError) Unwrap() error { return e.Err }

// Bind joins a kernel with its arguments and, unless Kernel.Infer knows it, the
// ND-range (rng.Dims 0: not given). It checks every argument against its
// parameter, and every array against what a launch is certain to touch of it,
// and returns all faults joined, each an *ArgError.
func Bind(k *Kernel, rng devices.NDRange, args []Given) (*Call, error) {
	c := &Call{Kernel: k, Range: rng, Args: make([]Arg, len(k.Params))}
	var faults []error
	fail := func(param string, pos Pos, format string, a ...any) {
		faults = append(faults, &ArgError{k.Name, param, pos, fmt.Errorf(format, a...)})
	}
	from := make([]*Given, len(k.Params))
	public := publicParams(k, len(args))
	next := 0
	for n := range args {
		g := &args[n]
		i := -1
		if g.Name != "" {
			if i = k.Param(g.Name); i < 0 {
				fail(g.Name, g.Pos, "no such parameter; it has %s%s", strings.Join(paramNames(k), ", "), didYouMean(g.Name, paramNames(k)))
				continue
			}
		} else {
			if next >= len(public) {
				fail(fmt.Sprintf("argument %d", n+1), g.Pos, "one argument too many; %s", k.Signature())
				continue
			}
			i = public[next]
			next++
		}
		if from[i] != nil {
			fail(k.Params[i].Name, g.Pos, "given twice")
			continue
		}
		from[i] = g
		if err := bindOne(&k.Params[i], g, &c.Args[i]); err != nil {
			fail(k.Params[i].Name, g.Pos, "%w", err)
		}
	}
	for i := range k.Params {
		p := &k.Params[i]
		if from[i] != nil || p.Implied {
			continue
		}
		switch {
		case p.Kind == Value && p.Default != nil:
			if err := c.SetValue(p.Name, p.Default); err != nil {
				faults = append(faults, err)
			}
		case p.Kind == Value && k.Infer != nil:
			// Infer may know it; checked below.
		case p.Kind == Local:
			fail(p.Name, Pos{}, "missing; a __local parameter needs a size in bytes (local_bytes)")
		default:
			fail(p.Name, Pos{}, "missing; %s", k.Signature())
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if k.Infer != nil {
		if err := k.Infer(c); err != nil {
			return nil, &ArgError{Kernel: k.Name, Param: "arguments", Err: err}
		}
	}
	for i, a := range c.Args {
		if !a.Set {
			fail(k.Params[i].Name, Pos{}, "missing; %s", k.Signature())
		}
	}
	if c.Range.Dims == 0 {
		fail("global size", Pos{}, "missing; it does not follow from the arguments")
	}
	for d := range c.Range.Dims {
		if c.Range.Size[d] < 0 || c.Range.Local[d] < 0 {
			fail("global size", Pos{}, "global %v and local %v must not be negative", c.Range.Size[:c.Range.Dims], c.Range.Local[:c.Range.Dims])
			break
		}
	}
	if len(faults) > 0 {
		return c, errors.Join(faults...)
	}
	for i := range k.Params {
		if err := c.within(i); err != nil {
			pos := Pos{}
			if from[i] != nil {
				pos = from[i].Pos
			}
			faults = append(faults, &ArgError{k.Name, k.Params[i].Name, pos, err})
		}
	}
	return c, errors.Join(faults...)
}

// publicParams are the positions that positional arguments go to: all of them
// where the caller gives as many, else those that are not implied.
func publicParams(k *Kernel, given int) []int {
	var all, public []int
	for i, p := range k.Params {
		all = append(all, i)
		if !p.Implied {
			public = append(public, i)
		}
	}
	if given > len(public) {
		return all
	}
	return public
}

func paramNames(k *Kernel) []string {
	var names []string
	for _, p := range k.Params {
		names = append(names, p.Name)
	}
	return names
}

func bindOne(p *Param, g *Given, a *Arg) error {
	a.Set = true
	switch p.Kind {
	case Buffer:
		return bindArray(p, g, a)
	case Local:
		if g.LocalBytes <= 0 {
			return fmt.Errorf("is a __local pointer (%s): it takes a size in bytes (local_bytes), got %s", p.Type, g.what())
		}
		if p.Type.Size > 0 && g.LocalBytes%int64(p.Type.Size) != 0 {
			return fmt.Errorf("%d bytes of local memory are no multiple of %s (%d bytes)", g.LocalBytes, p.Type, p.Type.Size)
		}
		a.LocalBytes = g.LocalBytes
		return nil
	}
	return bindValue(p, g, a)
}

func bindArray(p *Param, g *Given, a *Arg) error {
	if g.Array == nil {
		return fmt.Errorf("is an array of %s: it takes a buffer, got %s", p.Type, g.what())
	}
	a.Array, a.Mode = g.Array, p.Mode
	if g.Mode != 0 {
		if p.Mode == Read && g.Mode.Writes() {
			return fmt.Errorf("is read-only in the kernel, but mode %s was asked for", g.Mode)
		}
		a.Mode = g.Mode
	}
	arr, t := g.Array, p.Type
	if t.IsStruct() || t.Elem == devices.NoType { // a struct, or void: bytes
		if t.Size > 0 && arr.Bytes()%int64(t.Size) != 0 {
			return fmt.Errorf("is an array of %s, %d bytes each; buffer %s has %d bytes, no multiple of it", t, t.Size, arr, arr.Bytes())
		}
		return nil
	}
	if !sameStorage(arr.DType, t.Elem) {
		return fmt.Errorf("is an array of %s (%s), buffer %s is %s", t, t.Elem, arr.Name, arr.DType)
	}
	if t.Lanes > 1 {
		room := int64(t.Size / t.Elem.Size())
		last := arr.Elements()
		if len(arr.Shape) > 1 {
			last = arr.Shape[len(arr.Shape)-1]
		}
		if last%room != 0 {
			return fmt.Errorf("is an array of %s, which takes %d bytes per element; buffer %s of shape %s has rows of %d bytes: pad them to %d numbers, or read packed data with vload%d",
				t, t.Size, arr.Name, ShapeString(arr.Shape), last*int64(t.Elem.Size()), room, t.Lanes)
		}
	}
	return nil
}

// sameStorage reports whether a buffer of type have may be passed for elements
// of type want: the same type, or a bool and a byte.
func sameStorage(have, want devices.DType) bool {
	bytes := []devices.DType{devices.Bool, devices.Int8, devices.Uint8}
	return have == want || (slices.Contains(bytes, have) && slices.Contains(bytes, want) &&
		(have == devices.Bool || want == devices.Bool))
}

func bindValue(p *Param, g *Given, a *Arg) error {
	if g.Array != nil || g.LocalBytes > 0 {
		return fmt.Errorf("is a value of type %s, got %s", p.Type, g.what())
	}
	if g.Type != "" && g.Type != p.Type.Name {
		t, known := ParseType(g.Type)
		if !known || p.Type.IsStruct() || t.Elem != p.Type.Elem || t.Lanes != p.Type.Lanes {
			return fmt.Errorf("is of type %s, got %s", p.Type, g.Type)
		}
	}
	if g.Bytes != nil {
		if len(g.Bytes) != p.Type.Size {
			return fmt.Errorf("is of type %s, which takes %d bytes; got %d bytes", p.Type, p.Type.Size, len(g.Bytes))
		}
		a.Value = g.Bytes
		return nil
	}
	b, err := p.Type.Encode(g.Value)
	if err != nil {
		return err
	}
	a.Value = b
	return nil
}

func didYouMean(name string, names []string) string {
	if n := Nearest(name, names); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// Nearest is the name closest to a misspelt one by edit distance (Damerau's,
// transpositions counted once), or "" where none is close.
func Nearest(name string, names []string) string {
	best, bestDist := "", max(len(name)/3, 2)+1
	for _, n := range names {
		if d := editDistance(strings.ToLower(name), strings.ToLower(n)); d < bestDist {
			best, bestDist = n, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
