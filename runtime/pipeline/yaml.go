package pipeline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on a pipeline file. The parser takes time that grows with the square
// of some of them; at these it stays below a second.
const (
	maxFileBytes  = 1 << 20
	maxTokens     = 100_000
	maxNesting    = 64   // of lists and mappings
	maxMarks      = 1000 // anchors, aliases and tags
	maxKeys       = 2000 // of one mapping
	maxNodes      = 200_000
	maxTextLength = 4096 // of a scalar that is a name, a path or an expression
)

type nodeKind uint8

const (
	kindNull nodeKind = iota
	kindBool
	kindInt
	kindFloat
	kindText
	kindList
	kindMap
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "a truth value", "a whole number", "a number", "text", "a list", "a mapping"}[k]
}

// node is one value of the file, aliases resolved.
type node struct {
	kind      nodeKind
	line, col int
	text      string // a scalar as written, without quotes
	quoted    bool   // text in quotes, or a block of text
	block     bool   // text that begins on a later line
	number    num
	large     uint64  // a whole number above the range of int64
	items     []*node // of a list
	entries   []entry // of a mapping, in order
}

type entry struct {
	name  string
	key   *node
	value *node
}

func (n *node) get(name string) *node {
	for i := range n.entries {
		if n.entries[i].name == name {
			return n.entries[i].value
		}
	}
	return nil
}

// what describes the value for a message: `the number 64`, `text "64"`.
func (n *node) what() string {
	switch n.kind {
	case kindText:
		return "text " + strconv.Quote(clip(n.text))
	case kindInt, kindFloat:
		return "the number " + clip(n.text)
	case kindBool:
		return "the truth value " + n.text
	}
	return n.kind.String()
}

// parseYAML reads text into a tree. Syntax errors, duplicate keys and bounds
// become faults; the tree is nil where there is none.
func parseYAML(text []byte, fs *faults) *node {
	if !utf8.Valid(text) {
		at := &node{line: 1, col: 1}
		for i := 0; i < len(text); {
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			if at.col++; r == '\n' {
				at.line, at.col = at.line+1, 1
			}
			i += size
		}
		fs.add(at, "", "this is no UTF-8 text")
		return nil
	}
	file, err := parseTokens(strings.TrimPrefix(string(text), "\ufeff"))
	if err != nil {
		addSyntax(fs, err)
		return nil
	}
	var body ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil || d.Body.Type() == ast.CommentType:
		case body != nil:
			p := d.Body.GetToken().Position
			fs.add(&node{line: p.Line, col: 1}, "", "a second document begins here; a pipeline is one document")
			return nil
		default:
			body = d.Body
		}
	}
	if body == nil {
		return &node{kind: kindNull, line: 1, col: 1}
	}
	t := &treeBuilder{faults: fs, anchors: map[string]*node{}, budget: maxNodes}
	return t.value(body, "", 0)
}

// boundError is a file beyond a bound.
type boundError struct {
	tok *token.Token
	msg string
}

func (e *boundError) Error() string { return e.msg }

// parseTokens runs the YAML parser on text that is within bounds.
func parseTokens(text string) (file *ast.File, err error) {
	// The parser is somebody else's code and the text is anybody's: a panic in
	// there is a fault of the file for whoever runs the pipeline.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("this cannot be read as YAML (%v)", r)
		}
	}()
	tokens := lexer.Tokenize(text)
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// checkTokens refuses what would keep the parser busy for minutes.
func checkTokens(tokens token.Tokens) error {
	if len(tokens) > maxTokens {
		return &boundError{nil, fmt.Sprintf("the file has more than %d words; write repeated steps as a loop (for)", maxTokens)}
	}
	marks, depth, line, dashes := 0, 0, 0, 0
	keys := map[int]int{} // of the open block mapping at each column
	for i, t := range tokens {
		first := t.Position.Line != line
		if first {
			line, dashes = t.Position.Line, 0
			for col := range keys {
				if col > t.Position.Column {
					delete(keys, col)
				}
			}
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		case token.AnchorType, token.AliasType, token.TagType:
			marks++
		case token.MappingValueType:
			if i > 0 {
				keys[tokens[i-1].Position.Column]++
			}
			if i > 0 && keys[tokens[i-1].Position.Column] > maxKeys {
				return &boundError{t, fmt.Sprintf("more than %d keys in one mapping", maxKeys)}
			}
		}
		switch {
		case depth > maxNesting || dashes > maxNesting:
			return &boundError{t, fmt.Sprintf("lists and mappings are nested more than %d deep", maxNesting)}
		case marks > maxMarks:
			return &boundError{t, fmt.Sprintf("more than %d anchors, aliases and tags", maxMarks)}
		}
	}
	return nil
}

// addSyntax notes what the YAML parser said, on one line.
func addSyntax(fs *faults, err error) {
	var tok *token.Token
	msg := err.Error()
	var bound *boundError
	var yerr yaml.Error
	switch {
	case errors.As(err, &bound):
		tok = bound.tok
	case errors.As(err, &yerr):
		tok, msg = yerr.GetToken(), "this is no YAML: "+yerr.GetMessage()
	}
	at := &node{}
	if tok != nil && tok.Position != nil {
		at.line, at.col = tok.Position.Line, tok.Position.Column
	}
	msg, _, _ = strings.Cut(msg, "\n")
	fs.add(at, "", "%s", msg)
}

// treeBuilder turns the parser's tree into nodes.
type treeBuilder struct {
	*faults
	anchors map[string]*node // nil: being read
	budget  int              // nodes that may still be made or reached by aliases
	broke   bool
}

func locate(n ast.Node) *node {
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return &node{}
	}
	return &node{line: t.Position.Line, col: t.Position.Column, text: t.Value}
}

// value converts n; path is where it stands in the file.
func (t *treeBuilder) value(n ast.Node, path string, depth int) *node {
	out := locate(n)
	if t.budget--; t.budget < 0 || depth > maxNesting {
		if !t.broke {
			t.broke = true
			t.add(out, path, "with its aliases the file holds more than %d values, or they are nested more than %d deep", maxNodes, maxNesting)
		}
		return out
	}
	switch v := n.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		out.kind, out.number = kindBool, intNum(int64(btoi(v.Value)))
	case *ast.IntegerNode:
		t.integer(out, v)
	case *ast.FloatNode:
		out.kind, out.number = kindFloat, floatNum(v.Value)
	case *ast.InfinityNode:
		out.kind, out.number = kindFloat, floatNum(v.Value)
	case *ast.NanNode:
		out.kind, out.number = kindFloat, floatNum(math.NaN())
	case *ast.StringNode:
		out.kind, out.text = kindText, v.Value
		out.quoted = v.Token.Type == token.SingleQuoteType || v.Token.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		out.kind, out.text, out.quoted = kindText, strings.TrimSpace(v.Value.Value), true
		out.block = true
	case *ast.MappingNode:
		return t.mapping(v.Values, out, path, depth)
	case *ast.MappingValueNode:
		return t.mapping([]*ast.MappingValueNode{v}, out, path, depth)
	case *ast.SequenceNode:
		out.kind = kindList
		for i, item := range v.Values {
			out.items = append(out.items, t.value(item, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
	case *ast.AnchorNode:
		name := v.Name.GetToken().Value
		t.anchors[name] = nil
		if v.Value == nil {
			return out
		}
		out = t.value(v.Value, path, depth+1)
		t.anchors[name] = out
	case *ast.AliasNode:
		return t.alias(v, out, path, depth)
	case *ast.TagNode:
		t.add(out, path, "the tag %s is not part of the format", clip(v.GetToken().Value))
	default:
		t.add(out, path, "%s has no place in a pipeline", strings.ToLower(n.Type().String()))
	}
	return out
}

func (t *treeBuilder) integer(out *node, v *ast.IntegerNode) {
	out.kind = kindInt
	switch i := v.Value.(type) {
	case int64:
		out.number = intNum(i)
	case uint64:
		if i <= math.MaxInt64 {
			out.number = intNum(int64(i))
		} else {
			out.number, out.large = floatNum(float64(i)), i
		}
	default:
		out.kind = kindText
	}
}

// alias is the value of its anchor. Each use costs what the value holds, so
// that a few lines cannot stand for millions of values.
func (t *treeBuilder) alias(v *ast.AliasNode, out *node, path string, depth int) *node {
	name := v.Value.GetToken().Value
	target, known := t.anchors[name]
	switch {
	case !known:
		t.add(out, path, "the alias *%s has no anchor &%s before it", clip(name), clip(name))
	case target == nil:
		t.add(out, path, "the alias *%s stands inside its own anchor", clip(name))
	default:
		if size, deep := extent(target); depth+deep <= maxNesting {
			t.budget -= size
			return target
		}
		t.budget = -1
		return t.value(v, path, depth)
	}
	return out
}

// extent is how many values n holds and how deep they are nested.
func extent(n *node) (size, depth int) {
	size = 1
	each := func(c *node) {
		s, d := extent(c)
		size, depth = min(size+s, maxNodes+1), max(depth, d+1)
	}
	for _, c := range n.items {
		each(c)
	}
	for _, e := range n.entries {
		each(e.value)
	}
	return size, depth
}

func (t *treeBuilder) mapping(values []*ast.MappingValueNode, out *node, path string, depth int) *node {
	out.kind, out.text = kindMap, ""
	first := map[string]*node{}
	var merged []*node
	for _, mv := range values {
		key := locate(mv.Key)
		if _, ok := mv.Key.(*ast.MergeKeyNode); ok {
			merged = append(merged, t.value(mv.Value, join(path, "<<"), depth+1))
			continue
		}
		switch k := mv.Key.(type) {
		case *ast.StringNode:
			key.text = k.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		default:
			t.add(key, path, "a key has to be a plain word")
			continue
		}
		at := join(path, key.text)
		if before := first[key.text]; before != nil {
			t.add(key, path, "key %q stands on line %d (again; first on line %d)", clip(key.text), key.line, before.line)
			continue
		}
		first[key.text] = key
		if len(first) == 1 && mv.Start != nil && out.col > key.col && out.line == key.line {
			// The parser places a block mapping at its first colon.
			out.line, out.col = key.line, key.col
		}
		out.entries = append(out.entries, entry{key.text, key, t.value(mv.Value, at, depth+1)})
	}
	for _, m := range merged {
		t.merge(out, m, path)
	}
	return out
}

// merge adds the entries of m, a mapping or a list of them, that out lacks.
func (t *treeBuilder) merge(out, m *node, path string) {
	switch m.kind {
	case kindList:
		for _, item := range m.items {
			if item.kind != kindMap {
				t.add(item, join(path, "<<"), "want a mapping to merge, got %s", item.what())
				continue
			}
			t.merge(out, item, path)
		}
	case kindMap:
		for _, e := range m.entries {
			if out.get(e.name) == nil {
				out.entries = append(out.entries, e)
			}
		}
	default:
		t.add(m, join(path, "<<"), "want a mapping to merge, got %s", m.what())
	}
}

// join adds a key to a path.
func join(path, key string) string {
	key = clip(key)
	if path == "" {
		return key
	}
	return path + "." + key
}
