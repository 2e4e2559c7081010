package clc

import (
	"errors"
	"fmt"
)

// concrete runs a kernel for one work-item, number by number, and logs what it
// touches. It shares the syntax tree with the analysis and nothing else.
type concrete struct {
	u     *unit
	id    [3]int64
	local [3]int64
	size  [3]int64
	off   [3]int64
	steps int
	log   []touched
}

type touched struct {
	param      int
	from, size int64 // bytes
	write      bool
}

// object is the value of a variable: a number or a pointer.
type object struct {
	n     int64
	param int // of a pointer, whose offset is n
	elem  *ctype
}

type cell map[*variable]object

var (
	errUndefined = errors.New("undefined behaviour")
	errLong      = errors.New("too long")
)

// flow says how a statement ended.
type flow uint8

const (
	onward flow = iota
	broke
	continued
	returned
)

func wrap(n int64, t intType) int64 {
	switch {
	case t.bits == 64:
		return n
	case t.signed:
		return n << (64 - t.bits) >> (64 - t.bits)
	}
	return int64(uint64(n) << (64 - t.bits) >> (64 - t.bits))
}

func (c *concrete) step() {
	if c.steps++; c.steps > 20000 {
		panic(errLong)
	}
}

func (c *concrete) run(s *stmt, env cell) (flow, object) {
	c.step()
	switch s.kind {
	case stmtBlock:
		for _, x := range s.list {
			if f, v := c.run(x, env); f != onward {
				return f, v
			}
		}
	case stmtDeclare:
		for i, v := range s.vars {
			if s.vals[i] != nil {
				env[v] = c.as(v.typ, s.vals[i], env)
			}
		}
	case stmtExpr:
		c.eval(s.x, env)
	case stmtIf:
		if n, _ := c.num(s.x, env); n != 0 {
			return c.run(s.list[0], env)
		} else if len(s.list) > 1 {
			return c.run(s.list[1], env)
		}
	case stmtFor:
		if s.init != nil {
			c.run(s.init, env)
		}
		for {
			c.step()
			if n, _ := c.num(s.x, env); n == 0 {
				return onward, object{}
			}
			if f, v := c.run(s.list[0], env); f == returned {
				return f, v
			} else if f == broke {
				return onward, object{}
			}
			c.eval(s.post, env)
		}
	case stmtDo:
		for {
			c.step()
			if f, v := c.run(s.list[0], env); f == returned {
				return f, v
			} else if f == broke {
				return onward, object{}
			}
			if n, _ := c.num(s.x, env); n == 0 {
				return onward, object{}
			}
		}
	case stmtReturn:
		if s.x == nil {
			return returned, object{}
		}
		v, _ := c.eval(s.x, env)
		return returned, v
	case stmtLeave:
		return broke, object{} // the generator writes break only
	default:
		panic(fmt.Sprintf("statement %d is not run", s.kind))
	}
	return onward, object{}
}

// as evaluates an initialiser.
func (c *concrete) as(typ *ctype, e *expr, env cell) object {
	v, _ := c.eval(e, env)
	if t, ok := typ.integer(); ok {
		v.n = wrap(v.n, t)
	} else if typ.kind == kindPointer {
		v.elem = typ.elem
	}
	return v
}

func (c *concrete) num(e *expr, env cell) (int64, intType) {
	v, t := c.eval(e, env)
	return v.n, t
}

func (c *concrete) place(e *expr, env cell) object {
	switch {
	case e.op == opIndex:
		p, _ := c.eval(e.x, env)
		n, _ := c.num(e.y, env)
		size, _ := p.elem.size()
		p.n += n * size
		return p
	case e.op == opUnary && e.text == "*":
		p, _ := c.eval(e.x, env)
		return p
	}
	panic("no place")
}

func (c *concrete) touch(p object, n int64, write bool) {
	c.log = append(c.log, touched{p.param, p.n, n, write})
}

func (c *concrete) eval(e *expr, env cell) (object, intType) {
	c.step()
	num := func(n int64, t intType) (object, intType) { return object{n: wrap(n, t)}, t }
	intT := intType{32, true}
	truth := func(b bool) (object, intType) {
		if b {
			return num(1, intT)
		}
		return num(0, intT)
	}
	switch e.op {
	case opNumber:
		n, t, _ := parseInteger(e.text)
		return num(n, t)
	case opName:
		t, _ := e.v.typ.integer()
		return env[e.v], t
	case opCast:
		v, _ := c.eval(e.x, env)
		if t, ok := e.typ.integer(); ok {
			return num(v.n, t)
		}
		v.elem = e.typ.elem
		return v, intT
	case opIndex:
		p := c.place(e, env)
		size, _ := p.elem.size()
		c.touch(p, size, false)
		return num(p.n%7, intT) // the contents of memory
	case opAssign:
		if e.x.op == opName {
			old, t := c.eval(e.x, env)
			v, vt := c.eval(e.y, env)
			if e.text == "+=" {
				if old.elem != nil {
					size, _ := old.elem.size()
					old.n += v.n * size
					env[e.x.v] = old
					return old, t
				}
				v.n = wrap(old.n, common(t, vt)) + wrap(v.n, common(t, vt))
			} else if e.text == "-=" {
				v.n = wrap(old.n, common(t, vt)) - wrap(v.n, common(t, vt))
			} else if e.text == ">>=" {
				if v.n < 0 || v.n >= int64(t.bits) {
					panic(errUndefined)
				}
				v.n = old.n >> v.n
			}
			if old.elem == nil {
				v.n = wrap(v.n, t)
			} else {
				v.elem = old.elem
			}
			env[e.x.v] = v
			return v, t
		}
		c.eval(e.y, env)
		p := c.place(e.x, env)
		size, _ := p.elem.size()
		if e.text != "=" {
			c.touch(p, size, false)
		}
		c.touch(p, size, true)
		return object{}, intT
	case opUpdate:
		old, t := c.eval(e.x, env)
		v := old
		v.n++
		if e.text == "--" {
			v.n -= 2
		}
		v.n = wrap(v.n, t)
		env[e.x.v] = v
		return old, t
	case opChoose:
		n, _ := c.num(e.x, env)
		y, z := e.y, e.z
		if n == 0 {
			y, z = z, y
		}
		v, t := c.eval(y, env)
		if v.elem != nil {
			return v, t
		}
		return num(v.n, common(t, c.typeOf(z, env)))
	case opUnary:
		if e.text == "*" {
			p := c.place(e, env)
			size, _ := p.elem.size()
			c.touch(p, size, false)
			return num(p.n%7, intT)
		}
		if e.text == "&" {
			return c.place(e.x, env), intT
		}
		n, t := c.num(e.x, env)
		switch e.text {
		case "-":
			return num(-wrap(n, t.promoted()), t.promoted())
		case "!":
			return truth(n == 0)
		}
	case opBinary:
		switch e.text {
		case "&&":
			n, _ := c.num(e.x, env)
			if n != 0 {
				n, _ = c.num(e.y, env)
			}
			return truth(n != 0)
		case "||":
			n, _ := c.num(e.x, env)
			if n == 0 {
				n, _ = c.num(e.y, env)
			}
			return truth(n != 0)
		}
		v, vt := c.eval(e.x, env)
		w, wt := c.eval(e.y, env)
		if v.elem != nil {
			size, _ := v.elem.size()
			if e.text == "-" {
				w.n = -w.n
			}
			v.n += w.n * size
			return v, vt
		}
		return c.binary(e.text, v.n, vt, w.n, wt)
	case opCall:
		return c.call(e, env)
	}
	panic(fmt.Sprintf("expression %d %q is not evaluated", e.op, e.text))
}

// typeOf is the type of an operand that is not evaluated.
func (c *concrete) typeOf(e *expr, env cell) intType {
	log, steps := len(c.log), c.steps
	saved := cell{}
	for k, v := range env {
		saved[k] = v
	}
	defer func() { c.log, c.steps = c.log[:log], steps }()
	t := intType{32, true}
	func() {
		defer func() { _ = recover() }()
		_, t = c.eval(e, saved)
	}()
	return t
}

func (c *concrete) binary(op string, a int64, at intType, b int64, bt intType) (object, intType) {
	t := common(at, bt)
	one := func(x bool) (object, intType) {
		n := int64(0)
		if x {
			n = 1
		}
		return object{n: n}, intType{32, true}
	}
	if op == "<<" || op == ">>" {
		t = at.promoted()
		a = wrap(a, t)
		if b < 0 || b >= int64(t.bits) {
			panic(errUndefined)
		}
		if op == "<<" {
			return object{n: wrap(a<<b, t)}, t
		}
		if t == sizeT {
			return object{n: int64(uint64(a) >> b)}, t
		}
		return object{n: wrap(a>>b, t)}, t
	}
	a, b = wrap(a, t), wrap(b, t)
	less := a < b
	if t == sizeT {
		less = uint64(a) < uint64(b)
	}
	switch op {
	case "+":
		return object{n: wrap(a+b, t)}, t
	case "-":
		return object{n: wrap(a-b, t)}, t
	case "*":
		return object{n: wrap(a*b, t)}, t
	case "&":
		return object{n: a & b}, t
	case "|":
		return object{n: a | b}, t
	case "<":
		return one(less)
	case ">=":
		return one(!less)
	case ">":
		return one(!less && a != b)
	case "<=":
		return one(less || a == b)
	case "==":
		return one(a == b)
	case "!=":
		return one(a != b)
	}
	if b == 0 || b == -1 {
		panic(errUndefined)
	}
	switch {
	case t == sizeT && op == "/":
		return object{n: int64(uint64(a) / uint64(b))}, t
	case t == sizeT:
		return object{n: int64(uint64(a) % uint64(b))}, t
	case op == "/":
		return object{n: wrap(a/b, t)}, t
	}
	return object{n: wrap(a%b, t)}, t
}

func (c *concrete) call(e *expr, env cell) (object, intType) {
	if fn := c.u.funcs[e.text]; fn != nil {
		in := cell{}
		for i, v := range fn.params {
			in[v] = c.as(v.typ, e.args[i], env)
		}
		_, v := c.run(fn.body, in)
		t, ok := fn.ret.integer()
		if ok {
			v.n = wrap(v.n, t)
		}
		return v, t
	}
	switch e.text {
	case "min", "max":
		a, at := c.num(e.args[0], env)
		b, bt := c.num(e.args[1], env)
		t := common(at, bt)
		less, _ := c.binary("<", a, at, b, bt)
		if (less.n != 0) == (e.text == "min") {
			return object{n: wrap(a, t)}, t
		}
		return object{n: wrap(b, t)}, t
	case "vload2":
		n, _ := c.num(e.args[0], env)
		p, _ := c.eval(e.args[1], env)
		p.n += n * 8
		c.touch(p, 8, false)
		return object{}, intType{32, true}
	}
	d, _ := c.num(e.args[0], env)
	n := int64(0)
	switch e.text {
	case "get_global_id":
		n = c.id[d]
	case "get_local_id":
		n = (c.id[d] - c.off[d]) % c.local[d]
	case "get_group_id":
		n = (c.id[d] - c.off[d]) / c.local[d]
	case "get_local_size":
		n = c.local[d]
	case "get_global_size":
		n = c.size[d]
	default:
		panic(e.text)
	}
	return object{n: n}, sizeT
}
