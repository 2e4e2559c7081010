package clc

// context is where a piece of code stands: the conditions that hold when it
// runs and the loops around it, innermost first. nil is the top of a function.
type context struct {
	up   *context
	cond *expr // holds, or with not set does not hold, when the code is reached
	not  bool
	loop *loop // the code is in its body
}

// loop is a for loop that counts: in its body, lower ≤ v ≤ upper follows from
// where it starts and what its condition says.
type loop struct {
	v     *variable
	init  *expr
	op    string // v op bound holds in the body: < <= > >=
	bound *expr
	step  *expr // added, or subtracted for > and >=; nil: 1
	halve bool  // v is halved or so: it falls, but by no fixed step
	outer *context
	body  *context
	valid bool
}

// annotator sets the contexts in a function and records what sets its
// variables.
type annotator struct {
	f     *function
	loops []*loop
}

// annotate prepares a body for the analysis.
func (f *function) annotate() {
	if f.body == nil {
		return
	}
	a := &annotator{f: f}
	a.block(f.body.list, nil, false)
	for _, l := range a.loops {
		l.valid = !l.v.pointed && !l.v.global
		for _, s := range l.v.sets {
			for c := s.ctx; c != nil; c = c.up {
				if c == l.body {
					l.valid = false
				}
			}
		}
	}
}

// block annotates statements that follow each other. What stands behind "if
// (c) return;" runs only where c does not hold.
func (a *annotator) block(list []*stmt, entry *context, labels bool) (exits bool) {
	ctx := entry
	for _, s := range list {
		if s.kind == stmtCase {
			if !labels && a.f.opaque == "" {
				a.f.opaque = "it has a case label inside of another statement"
			}
			ctx, exits = entry, false
			continue
		}
		left := a.stmt(s, ctx)
		exits = exits || left
		if s.kind == stmtIf {
			then, other := a.exits(s.list[0]), len(s.list) > 1 && a.exits(s.list[1])
			if then {
				ctx = &context{up: ctx, cond: s.x, not: true}
			} else if other {
				ctx = &context{up: ctx, cond: s.x}
			}
		}
		if left { // what follows is not reached from here
			ctx = &context{up: ctx}
		}
	}
	return exits
}

// exits reports whether s never comes to its end.
func (a *annotator) exits(s *stmt) bool {
	switch s.kind {
	case stmtReturn, stmtLeave:
		return true
	case stmtBlock:
		for _, x := range s.list {
			if a.exits(x) {
				return true
			}
		}
	case stmtIf:
		return len(s.list) > 1 && a.exits(s.list[0]) && a.exits(s.list[1])
	}
	return false
}

func (a *annotator) stmt(s *stmt, ctx *context) (exits bool) {
	s.ctx = ctx
	switch s.kind {
	case stmtBlock:
		return a.block(s.list, ctx, false)
	case stmtDeclare:
		for i, v := range s.vars {
			if x := s.vals[i]; x != nil {
				a.expr(x, ctx)
				a.set(v, x, ctx)
			}
		}
	case stmtReturn:
		if s.x != nil {
			a.expr(s.x, ctx)
		}
		a.f.returns = append(a.f.returns, assignment{s.x, ctx})
		return true
	case stmtLeave:
		return true
	case stmtIf:
		a.expr(s.x, ctx)
		a.nested(s.list[0], &context{up: ctx, cond: s.x})
		if len(s.list) > 1 {
			a.nested(s.list[1], &context{up: ctx, cond: s.x, not: true})
		}
		return a.exits(s)
	case stmtWhile:
		a.expr(s.x, ctx)
		a.nested(s.list[0], &context{up: ctx, cond: s.x})
	case stmtDo:
		a.nested(s.list[0], &context{up: ctx}) // it may be left early
		a.expr(s.x, ctx)
	case stmtSwitch:
		a.expr(s.x, ctx)
		ctx = &context{up: ctx}
		if body := s.list[0]; body.kind == stmtBlock {
			body.ctx = ctx
			a.block(body.list, ctx, true)
		} else {
			a.nested(body, ctx)
		}
	case stmtFor:
		a.forLoop(s, ctx)
	default:
		if s.x != nil {
			a.expr(s.x, ctx)
		}
	}
	return false
}

// nested annotates the body of a statement, which may be a lone one.
func (a *annotator) nested(s *stmt, ctx *context) { a.block([]*stmt{s}, ctx, false) }

func (a *annotator) forLoop(s *stmt, ctx *context) {
	if s.init != nil {
		a.stmt(s.init, ctx)
	}
	if s.x != nil {
		a.expr(s.x, ctx)
	}
	if s.post != nil {
		a.expr(s.post, ctx)
	}
	l := counting(s)
	if l == nil {
		l = &loop{}
	} else {
		a.loops = append(a.loops, l)
	}
	l.outer = ctx
	l.body = &context{up: ctx, loop: l}
	s.loop = l
	in := l.body
	if s.x != nil {
		in = &context{up: in, cond: s.x}
	}
	a.nested(s.list[0], in)
}

func (a *annotator) set(v *variable, x *expr, ctx *context) {
	if x != nil && x.op == opList {
		x = nil
	}
	v.sets = append(v.sets, assignment{x, ctx})
}

func (a *annotator) expr(e *expr, ctx *context) {
	if e == nil {
		return
	}
	second, third := ctx, ctx
	switch e.op {
	case opAssign:
		if e.x.op == opName && e.x.v != nil {
			if e.text == "=" {
				a.set(e.x.v, e.y, ctx)
			} else {
				a.set(e.x.v, nil, ctx)
			}
		}
	case opUpdate:
		if e.x.op == opName && e.x.v != nil {
			a.set(e.x.v, nil, ctx)
		}
	case opUnary:
		if e.text == "&" {
			x := e.x
			for x.op == opMember || x.op == opIndex && x.x.op == opName && x.x.v != nil && x.x.v.typ.kind != kindPointer {
				x = x.x
			}
			if x.op == opName && x.v != nil {
				x.v.pointed = true
			}
		}
	case opBinary:
		switch e.text {
		case "&&":
			e.onTrue = &context{up: ctx, cond: e.x}
			second = e.onTrue
		case "||":
			e.onFalse = &context{up: ctx, cond: e.x, not: true}
			second = e.onFalse
		}
	case opChoose:
		e.onTrue = &context{up: ctx, cond: e.x}
		e.onFalse = &context{up: ctx, cond: e.x, not: true}
		second, third = e.onTrue, e.onFalse
	}
	a.expr(e.x, ctx)
	a.expr(e.y, second)
	a.expr(e.z, third)
	for _, x := range e.args {
		a.expr(x, ctx)
	}
}

// counting recognises a loop that counts, nil if s is none.
func counting(s *stmt) *loop {
	if s.init == nil || s.x == nil || s.post == nil {
		return nil
	}
	for _, c := range conjuncts(s.x, nil) {
		if c.op != opBinary {
			continue
		}
		for _, turned := range []bool{false, true} {
			l := &loop{op: c.text, bound: c.y}
			x := c.x
			if turned {
				l.op, l.bound, x = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[c.text], c.x, c.y
			}
			if x.op != opName || x.v == nil || l.op != "<" && l.op != "<=" && l.op != ">" && l.op != ">=" {
				continue
			}
			l.v = x.v
			if _, ok := l.v.typ.integer(); ok && l.starts(s.init) && l.steps(s.post) == 1 {
				return l
			}
		}
	}
	return nil
}

func conjuncts(e *expr, list []*expr) []*expr {
	if e.op == opBinary && e.text == "&&" {
		return conjuncts(e.y, conjuncts(e.x, list))
	}
	return append(list, e)
}

// starts finds the initial value of the loop's variable.
func (l *loop) starts(init *stmt) bool {
	if init.kind == stmtDeclare {
		for i, v := range init.vars {
			if v == l.v && init.vals[i] != nil && init.vals[i].op != opList {
				l.init = init.vals[i]
			}
		}
		return l.init != nil
	}
	for e := init.x; e != nil; {
		part := e
		if e.op == opComma {
			part, e = e.y, e.x
		} else {
			e = nil
		}
		if part.op == opAssign && part.text == "=" && part.x.op == opName && part.x.v == l.v {
			if l.init != nil {
				return false
			}
			l.init = part.y
		}
	}
	return l.init != nil
}

// steps finds how the loop's variable changes; it counts the changes that fit.
func (l *loop) steps(post *expr) int {
	if post.op == opComma {
		return l.steps(post.x) + l.steps(post.y)
	}
	if post.x == nil || post.x.op != opName || post.x.v != l.v {
		return 0
	}
	up := l.op[0] == '<'
	switch {
	case post.op == opUpdate && (post.text == "++") == up:
	case post.op == opAssign && (post.text == "+=" && up || post.text == "-=" && !up):
		l.step = post.y
	case post.op == opAssign && (post.text == ">>=" || post.text == "/=") && !up:
		l.halve = true
	case post.op == opAssign && post.text == "=" && post.y.op == opBinary && post.y.x.op == opName && post.y.x.v == l.v &&
		(post.y.text == "+" && up || post.y.text == "-" && !up):
		l.step = post.y.y
	default:
		return 2 // changes in another way
	}
	return 1
}
