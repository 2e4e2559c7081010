package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// maxFormulaNodes bounds an expression, and with it the time of one evaluation.
const maxFormulaNodes = 500

// formula is an expression, compiled. The library's parser reads it; its
// virtual machine is not used because it wraps on overflow, makes every
// quotient a float, and boxes each value, which a fill of millions of elements
// would feel.
type formula struct {
	at    *node
	path  string
	eval  evalFunc
	fixed bool // it depends on no slot
}

type evalFunc func(*frame) num

// scope says what the names in an expression are.
type scope struct {
	vars  map[string]num // values that are known
	slots []string       // names of the frame's values; empty: no name
	// clash, where set, refuses a name with a reason; empty: the name is fine.
	clash func(name string) string
}

func (s *scope) names() []string {
	var names []string
	for name := range s.vars {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range s.slots {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

func constants() map[string]num {
	return map[string]num{"pi": floatNum(math.Pi), "inf": floatNum(math.Inf(1)), "nan": floatNum(math.NaN()),
		"true": intNum(1), "false": intNum(0)}
}

func unaryFuncs() map[string]func(*frame, num) num {
	return map[string]func(*frame, num) num{
		"abs": func(fr *frame, a num) num {
			if less(a, num{}) {
				return negate(fr, a)
			}
			return a
		},
		"floor": rounded(math.Floor), "ceil": rounded(math.Ceil), "round": rounded(math.RoundToEven),
		"sqrt": realFunc(math.Sqrt), "exp": realFunc(math.Exp), "log": realFunc(math.Log), "log2": realFunc(math.Log2),
		"sin": realFunc(math.Sin), "cos": realFunc(math.Cos), "tan": realFunc(math.Tan), "tanh": realFunc(math.Tanh),
		"float": func(_ *frame, a num) num { return floatNum(a.real()) },
	}
}

func binaryFuncs() map[string]func(*frame, num, num) num {
	return map[string]func(*frame, num, num) num{"idiv": floorDivide, "ceildiv": ceilDivide, "pow": power}
}

// funcNames are the functions of expressions.
func funcNames() []string {
	names := []string{"max", "min"}
	for name := range unaryFuncs() {
		names = append(names, name)
	}
	for name := range binaryFuncs() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// formulaError is a fault inside an expression; at counts characters.
type formulaError struct {
	at        int
	msg, hint string
}

func (e *formulaError) Error() string { return e.msg }

// parseFormula compiles the text of an expression.
func parseFormula(text string, s *scope) (eval evalFunc, fixed bool, err *formulaError) {
	if len(text) > maxTextLength {
		return nil, false, &formulaError{msg: fmt.Sprintf("the expression has more than %d bytes", maxTextLength)}
	}
	for _, mark := range []string{"//", "/*"} {
		// The parser takes what follows for a comment: n//2 would be n.
		if i := strings.Index(text, mark); i >= 0 {
			return nil, false, &formulaError{at: len([]rune(text[:i])), msg: mark + " is no operator", hint: "for a quotient rounded down write idiv(a, b)"}
		}
	}
	c := conf.CreateNew()
	c.MaxNodes = maxFormulaNodes
	for _, name := range builtin.Names {
		c.Disabled[name] = true // so that each call looks the same
	}
	tree, perr := parser.ParseWithConfig(text, c)
	if perr != nil {
		e := &formulaError{msg: "this is no expression: " + perr.Error()}
		var fe *file.Error
		if errors.As(perr, &fe) {
			e.at, e.msg = fe.From, "this is no expression: "+fe.Message
		}
		e.msg, _, _ = strings.Cut(e.msg, "\n")
		return nil, false, e
	}
	cp := &formulaCompiler{scope: s, constants: constants(), unary: unaryFuncs(), binary: binaryFuncs()}
	eval, fixed = cp.node(tree.Node)
	return eval, fixed, cp.err
}

// isNumber reports whether text is a bare number.
func isNumber(text string) bool {
	tree, err := parser.ParseWithConfig(text, conf.CreateNew())
	if err != nil {
		return false
	}
	n := tree.Node
	if u, ok := n.(*ast.UnaryNode); ok && (u.Operator == "-" || u.Operator == "+") {
		n = u.Node
	}
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return true
	}
	return false
}

type formulaCompiler struct {
	*scope
	constants map[string]num
	unary     map[string]func(*frame, num) num
	binary    map[string]func(*frame, num, num) num
	err       *formulaError // the first
}

func (c *formulaCompiler) fail(n ast.Node, hint, format string, a ...any) (evalFunc, bool) {
	if c.err == nil {
		c.err = &formulaError{n.Location().From, fmt.Sprintf(format, a...), hint}
	}
	return constant(num{}), true
}

func constant(v num) evalFunc { return func(*frame) num { return v } }

// fold evaluates f now if it depends on nothing. What fails may stand in a
// branch that is never taken, so that is left for later.
func (c *formulaCompiler) fold(f evalFunc, fixed bool) (evalFunc, bool) {
	if !fixed || c.err != nil {
		return f, fixed
	}
	var fr frame
	if v := f(&fr); fr.err == nil {
		return constant(v), true
	}
	return f, true
}

func (c *formulaCompiler) node(n ast.Node) (evalFunc, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return constant(intNum(int64(n.Value))), true
	case *ast.FloatNode:
		return constant(floatNum(n.Value)), true
	case *ast.BoolNode:
		return constant(boolNum(n.Value)), true
	case *ast.IdentifierNode:
		return c.name(n)
	case *ast.UnaryNode:
		f, fixed := c.node(n.Node)
		switch n.Operator {
		case "+":
			return f, fixed
		case "-":
			return c.fold(func(fr *frame) num { return negate(fr, f(fr)) }, fixed)
		case "!", "not":
			return c.fold(func(fr *frame) num { return boolNum(!f(fr).truth()) }, fixed)
		}
		return c.fail(n, "", "%q is no operator of expressions", n.Operator)
	case *ast.BinaryNode:
		return c.binaryNode(n)
	case *ast.ConditionalNode:
		cond, f1 := c.node(n.Cond)
		yes, f2 := c.node(n.Exp1)
		no, f3 := c.node(n.Exp2)
		return c.fold(func(fr *frame) num {
			if cond(fr).truth() {
				return yes(fr)
			}
			return no(fr)
		}, f1 && f2 && f3)
	case *ast.CallNode:
		return c.call(n)
	}
	return c.fail(n, "expressions have numbers, variables, + - * / % **, comparisons, c ? a : b and functions", "%s is not part of expressions", nodeName(n))
}

// nodeName is what an unsupported node is, for people.
func nodeName(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.BytesNode:
		return "text in quotes"
	case *ast.ArrayNode, *ast.SliceNode:
		return "a list"
	case *ast.MemberNode, *ast.ChainNode:
		return "a.b or a[b]"
	case *ast.SequenceNode, *ast.VariableDeclaratorNode:
		return "a statement"
	}
	return "this"
}

func (c *formulaCompiler) name(n *ast.IdentifierNode) (evalFunc, bool) {
	if c.clash != nil {
		if why := c.clash(n.Value); why != "" {
			return c.fail(n, "", "%s", why)
		}
	}
	if slot := slices.Index(c.slots, n.Value); slot >= 0 {
		return func(fr *frame) num { return intNum(fr.v[slot]) }, false
	}
	if v, ok := c.vars[n.Value]; ok {
		return constant(v), true
	}
	if v, ok := c.constants[n.Value]; ok {
		return constant(v), true
	}
	names := c.names()
	hint := near(n.Value, names)
	if len(names) == 0 {
		hint = "define it under vars"
	}
	return c.fail(n, hint, "there is no variable %q", clip(n.Value))
}

func (c *formulaCompiler) binaryNode(n *ast.BinaryNode) (evalFunc, bool) {
	a, f1 := c.node(n.Left)
	b, f2 := c.node(n.Right)
	op := func(f func(*frame, num, num) num) (evalFunc, bool) {
		return c.fold(func(fr *frame) num { return f(fr, a(fr), b(fr)) }, f1 && f2)
	}
	test := func(f func(x, y num) bool) (evalFunc, bool) {
		return c.fold(func(fr *frame) num { return boolNum(f(a(fr), b(fr))) }, f1 && f2)
	}
	switch n.Operator {
	case "+":
		return op(add)
	case "-":
		return op(subtract)
	case "*":
		return op(multiply)
	case "/":
		return op(divide)
	case "%":
		return op(remainder)
	case "**":
		return op(power)
	case "==":
		return test(equal)
	case "!=":
		return test(func(x, y num) bool { return !equal(x, y) })
	case "<":
		return test(less)
	case ">":
		return test(func(x, y num) bool { return less(y, x) })
	case "<=":
		return test(func(x, y num) bool { return less(x, y) || equal(x, y) })
	case ">=":
		return test(func(x, y num) bool { return less(y, x) || equal(x, y) })
	case "&&", "and": // the right side is not looked at where the left decides
		return c.fold(func(fr *frame) num { return boolNum(a(fr).truth() && b(fr).truth()) }, f1 && f2)
	case "||", "or":
		return c.fold(func(fr *frame) num { return boolNum(a(fr).truth() || b(fr).truth()) }, f1 && f2)
	case "^":
		return c.fail(n, "for a power write **", "%q is no operator of expressions", n.Operator)
	}
	return c.fail(n, "", "%q is no operator of expressions", n.Operator)
}

func (c *formulaCompiler) call(n *ast.CallNode) (evalFunc, bool) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return c.fail(n, "", "this is no function")
	}
	name := callee.Value
	args := make([]evalFunc, len(n.Arguments))
	fixed := true
	for i, a := range n.Arguments {
		f, fx := c.node(a)
		args[i], fixed = f, fixed && fx
	}
	wants := func(count int) (evalFunc, bool) {
		return c.fail(n, "", "%s takes %d argument(s), got %d", name, count, len(args))
	}
	if f := c.unary[name]; f != nil {
		if len(args) != 1 {
			return wants(1)
		}
		a := args[0]
		return c.fold(func(fr *frame) num { return f(fr, a(fr)) }, fixed)
	}
	if f := c.binary[name]; f != nil {
		if len(args) != 2 {
			return wants(2)
		}
		a, b := args[0], args[1]
		return c.fold(func(fr *frame) num { return f(fr, a(fr), b(fr)) }, fixed)
	}
	if name != "min" && name != "max" {
		return c.fail(callee, near(name, funcNames()), "there is no function %q", clip(name))
	}
	if len(args) == 0 {
		return c.fail(n, "", "%s takes at least one argument", name)
	}
	largest := name == "max"
	return c.fold(func(fr *frame) num {
		best := args[0](fr)
		for _, f := range args[1:] {
			if v := f(fr); (largest && less(best, v)) || (!largest && less(v, best)) {
				best = v
			}
		}
		return best
	}, fixed)
}
