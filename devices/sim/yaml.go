package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFileBytes bounds a description file.
const maxFileBytes = 64 << 10

// placed is a fault and where it is in the file.
type placed struct {
	Fault
	line, column int
}

// reader reads YAML into a Description and notes where each value stands.
type reader struct {
	file   string
	found  []placed
	places map[string]*token.Token // by path
}

func (r *reader) fault(at *token.Token, path, format string, args ...any) {
	p := placed{Fault: Fault{Where: r.file, Message: fmt.Sprintf(format, args...), path: path}}
	if at != nil && at.Position != nil {
		p.line, p.column = at.Position.Line, at.Position.Column
		p.Where = fmt.Sprintf("%s:%d:%d", r.file, p.line, p.column)
	}
	if path != "" {
		p.Message = path + ": " + p.Message
	}
	r.found = append(r.found, p)
}

// parse runs the YAML parser. It is somebody else's code and the text is
// anybody's: a panic in there is a fault of the file.
func (r *reader) parse(text []byte) (body ast.Node) {
	defer func() {
		if p := recover(); p != nil {
			r.fault(nil, "", "this cannot be read as YAML (%v)", p)
			body = nil
		}
	}()
	if len(text) > maxFileBytes {
		r.fault(nil, "", "the file has %d bytes; at most %d are read", len(text), maxFileBytes)
		return nil
	}
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	var yerr yaml.Error
	switch {
	case errors.As(err, &yerr):
		msg, _, _ := strings.Cut(yerr.GetMessage(), "\n")
		r.fault(yerr.GetToken(), "", "this is no YAML: %s", msg)
		return nil
	case err != nil:
		r.fault(nil, "", "this is no YAML: %v", err)
		return nil
	}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case body != nil:
			r.fault(doc.Body.GetToken(), "", "a second document begins here; a description is one document")
			return nil
		default:
			body = doc.Body
		}
	}
	if body == nil {
		r.fault(nil, "", "the file is empty; it needs a list of devices")
	}
	return body
}

// field reads the value of a key, fields those of a mapping.
type (
	field  func(path string, n ast.Node)
	fields map[string]field
)

type keyed struct {
	name string
	key  *token.Token
	node ast.Node
}

// entries are the entries of a mapping; those that are given twice are faults.
func (r *reader) entries(n ast.Node, path string) []keyed {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		r.wrong(n, path, "a mapping")
		return nil
	}
	var all []keyed
	for _, v := range values {
		tok := v.Key.GetToken()
		name := tok.Value
		switch v.Key.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		default:
			r.fault(tok, path, "this cannot be a key here")
			continue
		}
		if i := slices.IndexFunc(all, func(k keyed) bool { return k.name == name }); i >= 0 {
			r.fault(tok, path, "the key %q is here twice, first in line %d", name, all[i].key.Position.Line)
			continue
		}
		all = append(all, keyed{name, tok, v.Value})
	}
	return all
}

// mapping reads a mapping with known keys.
func (r *reader) mapping(n ast.Node, path string, known fields) {
	for _, e := range r.entries(n, path) {
		at := strings.TrimPrefix(path+"."+e.name, ".")
		f := known[e.name]
		if f == nil {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			hint := "there are " + strings.Join(names, ", ")
			if near := nearest(e.name, names); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			r.fault(e.key, path, "unknown key %q; %s", e.name, hint)
			continue
		}
		if e.node == nil || e.node.Type() == ast.NullType {
			r.fault(e.key, at, "has no value")
			continue
		}
		r.places[at] = e.node.GetToken()
		f(at, e.node)
	}
}

func (r *reader) list(item field) field {
	return func(path string, n ast.Node) {
		s, ok := n.(*ast.SequenceNode)
		if !ok {
			r.wrong(n, path, "a list")
			return
		}
		for i, v := range s.Values {
			item(fmt.Sprintf("%s[%d]", path, i), v)
		}
	}
}

// wrong says that n is something else than what is wanted.
func (r *reader) wrong(n ast.Node, path, want string) {
	switch n.Type() {
	case ast.AnchorType, ast.AliasType, ast.TagType, ast.MergeKeyType:
		r.fault(n.GetToken(), path, "anchors, aliases and tags are not read here; write the value out")
	default:
		r.fault(n.GetToken(), path, "want %s", want)
	}
}

// scalar is a value as written, without quotes.
func (r *reader) scalar(path string, n ast.Node, want string) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	r.wrong(n, path, want)
	return "", false
}

func (r *reader) text(to *string) field {
	return func(path string, n ast.Node) {
		if s, ok := r.scalar(path, n, "text"); ok {
			*to = s
		}
	}
}

func (r *reader) truth(to *bool) field {
	return func(path string, n ast.Node) {
		b, ok := n.(*ast.BoolNode)
		if !ok {
			r.wrong(n, path, "true or false")
			return
		}
		*to = b.Value
	}
}

func (r *reader) whole(to *int) field {
	return func(path string, n ast.Node) {
		s, ok := r.scalar(path, n, "a whole number")
		if !ok {
			return
		}
		v, err := strconv.Atoi(s)
		if err != nil {
			r.fault(n.GetToken(), path, "%q is no whole number", s)
			return
		}
		*to = v
	}
}

// counted reads a whole number of at least 1: the 0 that stands for the
// default is not for files.
func (r *reader) counted(to *int) field {
	return func(path string, n ast.Node) {
		*to = 1
		if r.whole(to)(path, n); *to < 1 {
			r.fault(n.GetToken(), path, "%d; want at least 1", *to)
		}
	}
}

func (r *reader) seed(to *uint64) field {
	return func(path string, n ast.Node) {
		s, ok := r.scalar(path, n, "a whole number")
		if !ok {
			return
		}
		v, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			r.fault(n.GetToken(), path, "%q is no seed; want a whole number of at least 0", s)
			return
		}
		*to = v
	}
}

func (r *reader) quantity(to *float64, u unit) field {
	return func(path string, n ast.Node) {
		s, ok := r.scalar(path, n, "a "+u.what+" like "+u.example)
		if !ok {
			return
		}
		v, err := u.parse(s)
		if err != nil {
			r.fault(n.GetToken(), path, "%v", err)
			return
		}
		*to = v
	}
}

func (r *reader) bytes(to *int64) field {
	return func(path string, n ast.Node) {
		before := len(r.found)
		v := math.NaN()
		r.quantity(&v, bytesUnit)(path, n)
		switch {
		case len(r.found) > before:
		case v < 1 || v > maxMemory || v != math.Trunc(v):
			r.fault(n.GetToken(), path, "%g bytes; want a whole number from 1 to %d", v, int64(maxMemory))
		default:
			*to = int64(v)
		}
	}
}

func (r *reader) time(to *time.Duration) field {
	return func(path string, n ast.Node) {
		s, ok := r.scalar(path, n, "a time like 10us")
		if !ok {
			return
		}
		v, err := parseTime(s)
		if err != nil {
			r.fault(n.GetToken(), path, "%v", err)
			return
		}
		*to = v
	}
}
