package pipeline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// identifier reports whether an expression can name it.
func identifier(s string) bool {
	for i, c := range s {
		letter := c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// keywords are what the expression parser does not take for a name.
func keywords() []string {
	return []string{"and", "or", "not", "in", "let", "if", "else", "matches", "contains", "startsWith", "endsWith", "nil"}
}

// variable checks the name of a variable or loop variable.
func (r *reader) variable(key *node, path string) bool {
	_, isConstant := constants()[key.text]
	switch {
	case !identifier(key.text):
		r.add(key, path, "%q cannot be the name of a variable", clip(key.text)).Hint = "use letters, digits and _"
	case isConstant || slices.Contains(keywords(), key.text):
		r.add(key, path, "%q has a meaning in expressions", key.text).Hint = "choose another name"
	case slices.Contains(funcNames(), key.text):
		r.add(key, path, "%q is a function of expressions", key.text).Hint = "choose another name"
	default:
		return true
	}
	return false
}

// readVars reads the variables, and what replaces them.
func (r *reader) readVars(n *node) {
	set := r.readSet()
	if n != nil && n.kind == kindMap {
		for _, e := range n.entries {
			path := join("vars", e.name)
			if !r.variable(e.key, path) {
				delete(set, e.name)
				continue
			}
			v, ok := r.number(e.value, path)
			if text, given := set[e.name]; given && ok {
				v = r.setValue(e.name, text, v)
			}
			delete(set, e.name)
			// A wrong variable counts as known, so that its uses are no faults.
			r.vars[e.name], r.varNodes[e.name] = v, e.key
			r.p.vars = append(r.p.vars, Var{e.name, v.goValue()})
		}
	} else if n != nil {
		r.add(n, "vars", "want a mapping of names to numbers, got %s", n.what())
	}
	for _, s := range r.opts.Set {
		name, _, _ := strings.Cut(s, "=")
		if _, left := set[name]; !left {
			continue
		}
		f := r.put(&Fault{Path: "--set " + clip(s), Msg: fmt.Sprintf("there is no variable %q", clip(name))})
		var names []string
		for _, v := range r.p.vars {
			names = append(names, v.Name)
		}
		if f.Hint = near(name, names); len(names) == 0 {
			f.Hint = "the pipeline has none"
		} else if strings.HasPrefix(f.Hint, "did") {
			f.Hint += " there are " + strings.Join(names, ", ")
		}
	}
}

// readSet takes the replacements apart.
func (r *reader) readSet() map[string]string {
	set := map[string]string{}
	for _, s := range r.opts.Set {
		name, value, ok := strings.Cut(s, "=")
		path := "--set " + clip(s)
		_, twice := set[name]
		switch {
		case !ok || name == "":
			r.put(&Fault{Path: path, Msg: "want name=value"})
		case twice:
			r.put(&Fault{Path: path, Msg: fmt.Sprintf("%q is set twice", clip(name))})
		default:
			set[name] = strings.TrimSpace(value)
		}
	}
	return set
}

// setValue reads a replacement for a variable whose value in the file is old.
func (r *reader) setValue(name, text string, old num) num {
	v := num{}
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		v = intNum(i)
	} else if f, err := strconv.ParseFloat(text, 64); err == nil {
		v = floatNum(f)
	} else {
		r.put(&Fault{Path: "--set " + clip(name+"="+text), Msg: fmt.Sprintf("%q is no number", clip(text))})
		return old
	}
	if old.float {
		return floatNum(v.real())
	}
	i, ok := v.whole()
	if !ok {
		r.put(&Fault{Path: "--set " + clip(name+"="+text), Msg: fmt.Sprintf("%s is a whole number in the file (%v), got %s", name, old, text)})
		return old
	}
	return intNum(i)
}

// scope is the scope of expressions outside loops.
func (r *reader) scope() *scope { return &scope{vars: r.vars} }

// formula compiles the expression at n, or takes its number; nil after a fault.
func (r *reader) formula(n *node, path string, s *scope) *formula {
	f := &formula{at: n, path: path, fixed: true}
	switch n.kind {
	case kindInt, kindFloat:
		if n.large != 0 {
			r.add(n, path, "%s does not fit in 64 bits with a sign", clip(n.text))
			return nil
		}
		f.eval = constant(n.number)
	case kindText:
		if n.quoted && isNumber(n.text) {
			r.add(n, path, "want a number, got text %q", clip(n.text)).Hint = "write " + clip(strings.TrimSpace(n.text)) + " without quotes"
			return nil
		}
		eval, fixed, err := parseFormula(n.text, s)
		if err != nil {
			at := *n
			if !n.block { // an escape before the place would shift it; none is needed here
				at.col += btoi(n.quoted) + err.at
			}
			r.add(&at, path, "%q: %s", clip(n.text), err.msg).Hint = err.hint
			return nil
		}
		f.eval, f.fixed = eval, fixed
	default:
		r.add(n, path, "want a number or an expression, got %s", n.what())
		return nil
	}
	return f
}

// value evaluates f with the given slots; ok is false after a fault.
func (r *reader) value(f *formula, slots []int64) (num, bool) {
	fr := frame{v: slots}
	v := f.eval(&fr)
	if fr.err != nil {
		r.add(f.at, f.path, "%s: %v", f.shown(), fr.err)
		return num{}, false
	}
	return v, true
}

// whole evaluates f to a whole number of at least low.
func (r *reader) whole(f *formula, slots []int64, low int64) (int64, bool) {
	v, ok := r.value(f, slots)
	if !ok {
		return 0, false
	}
	i, ok := v.whole()
	switch {
	case !ok:
		r.add(f.at, f.path, "want a whole number, got %s", f.gives(v))
		return 0, false
	case i < low:
		r.add(f.at, f.path, "want at least %d, got %s", low, f.gives(v))
		return 0, false
	}
	return i, true
}

func (f *formula) shown() string { return strconv.Quote(clip(f.at.text)) }

// gives is the value, and the expression it comes from where there is one.
func (f *formula) gives(v num) string {
	if f.at.kind != kindText {
		return clip(f.at.text)
	}
	return fmt.Sprintf("%v (%s)", v, clip(f.at.text))
}

// number is the value of an expression outside loops.
func (r *reader) number(n *node, path string) (num, bool) {
	f := r.formula(n, path, r.scope())
	if f == nil {
		return num{}, false
	}
	return r.value(f, nil)
}
