package pipeline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/binary"
)

// FileName is the pipeline file that Load looks for in a folder.
const FileName = "pipeline.yaml"

// Options say how to read a pipeline.
type Options struct {
	// Set replaces variables of the file: "n=2048". A value has to be of the
	// variable's own type, a whole number or any number.
	Set []string

	// MaxTasks bounds how many tasks the loops may make; 0: DefaultMaxTasks.
	MaxTasks int
}

// DefaultMaxTasks is the bound on the tasks of one pipeline: as many take half
// a gigabyte. Repeats do not count, they take no memory.
const DefaultMaxTasks = 1_000_000

// A Pipeline is a file that was read and found right, as far as that can be
// told without hardware. It is immutable and safe for concurrent use.
type Pipeline struct {
	file     string // as messages name it
	dir      string
	vars     []Var
	buffers  []*buffer
	steps    []*step // in the order of the file
	tasks    []task  // in the order of execution by data
	timeout  time.Duration
	warnings []*Fault
}

// Var is a variable of a pipeline and its value, an int64 or a float64.
type Var struct {
	Name  string
	Value any
}

// Load reads the pipeline at path, a file or a folder with a pipeline.yaml in
// it. What is wrong comes back as *Fault values joined, in the order of the
// file. Nothing but files that the pipeline names is read, and nothing is
// written.
func Load(path string, o Options) (*Pipeline, error) {
	path, err := findFile(path)
	if err != nil {
		return nil, err
	}
	text, err := readBounded(path, maxFileBytes)
	if err != nil {
		return nil, &Fault{File: path, Msg: reason(err), Err: err}
	}
	return parse(path, text, o)
}

// findFile resolves a folder to the file in it.
func findFile(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		f := &Fault{File: path, Msg: reason(err), Err: err}
		if errors.Is(err, fs.ErrNotExist) {
			f.Hint = nearFile(path, ".yaml", ".yml")
		}
		return "", f
	case !info.IsDir():
		return path, nil
	}
	inside := filepath.Join(path, FileName)
	if _, err := os.Stat(inside); err != nil {
		f := &Fault{File: path, Msg: fmt.Sprintf("the folder holds no %s", FileName), Err: err}
		var names []string
		for _, pattern := range []string{"*.yaml", "*.yml"} {
			found, _ := filepath.Glob(filepath.Join(path, pattern)) // the pattern is right
			names = append(names, found...)
		}
		if len(names) > 0 {
			f.Hint = "name the file: " + strings.Join(names, ", ")
		}
		return "", f
	}
	return inside, nil
}

// nearFile is a hint with the file of the folder whose name is closest.
func nearFile(path string, extensions ...string) string {
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return fmt.Sprintf("there is no folder %s", filepath.Dir(path))
	}
	var names []string
	for _, e := range list {
		if len(extensions) == 0 || slices.Contains(extensions, filepath.Ext(e.Name())) {
			names = append(names, e.Name())
		}
	}
	if n := kernels.Nearest(filepath.Base(path), names); n != "" {
		return fmt.Sprintf("did you mean %q?", filepath.Join(filepath.Dir(path), n))
	}
	return ""
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // asked before opening: a named pipe would block
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return text, err
}

// reason is what the system says, without the path that the message has.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// reader turns the tree of a file into a pipeline.
type reader struct {
	*faults
	p        *Pipeline
	opts     Options
	vars     map[string]num
	varNodes map[string]*node
	badVars  bool
	buffers  map[string]*buffer
	byID     map[string]*step
	sources  map[string]*source
	binaries map[string]*binary.File // by path
	warnings faults
	tasks    []task
}

// parse reads a pipeline from memory; path is where it stands.
func parse(path string, text []byte, o Options) (*Pipeline, error) {
	if o.MaxTasks == 0 {
		o.MaxTasks = DefaultMaxTasks
	}
	r := &reader{faults: &faults{file: path}, opts: o,
		p: &Pipeline{file: path, dir: filepath.Dir(path)}, vars: map[string]num{}, varNodes: map[string]*node{},
		buffers: map[string]*buffer{}, byID: map[string]*step{}, sources: map[string]*source{}, binaries: map[string]*binary.File{},
		warnings: faults{file: path}}
	root := parseYAML(text, r.faults)
	if root == nil {
		return nil, r.err()
	}
	if root.kind == kindNull {
		r.add(root, "", "the file is empty").Hint = "a pipeline has steps, and buffers that they work on"
		return nil, r.err()
	}
	doc := r.fields(root, "", "a pipeline", keysOf[document]())
	if doc == nil {
		return nil, r.err()
	}
	r.readVersion(doc["version"])
	r.readVars(doc["vars"])
	r.badVars = len(r.list) > 0
	r.readBuffers(doc["buffers"])
	r.readLimits(doc["limits"])
	items := r.readSteps(doc["steps"], root)
	r.resolveAfter()
	r.resolveTogether()
	if !r.badVars {
		// Steps and loops that are wrong by themselves make no tasks: what one
		// wrong name would bring about is not worth reading.
		r.expand(items)
	}
	if len(r.list) == 0 {
		r.checkOrder()
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	r.warnUnused()
	r.p.tasks = r.tasks
	r.p.warnings = r.warnings.list
	return r.p, nil
}

// fields checks that n is a mapping with no other than the given keys, and
// returns its values; nil if it is no mapping.
func (r *reader) fields(n *node, path, what string, keys []string) map[string]*node {
	if n.kind != kindMap {
		r.add(n, path, "want %s, a mapping with %s; got %s", what, strings.Join(keys, ", "), n.what())
		return nil
	}
	values := map[string]*node{}
	for _, e := range n.entries {
		if !slices.Contains(keys, e.name) {
			r.add(e.key, join(path, e.name), "unknown key %q on line %d", clip(e.name), e.key.line).Hint = near(e.name, keys)
			continue
		}
		values[e.name] = e.value
	}
	return values
}

// textOf is the text of n, which has to be text; ok is false if it is not.
func (r *reader) textOf(n *node, path string) (string, bool) {
	switch {
	case n.kind != kindText:
		r.add(n, path, "want text, got %s", n.what())
	case n.text == "":
		r.add(n, path, "the text is empty")
	case len(n.text) > maxTextLength:
		r.add(n, path, "text of %d bytes, at most %d are possible", len(n.text), maxTextLength)
	case strings.ContainsFunc(n.text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.add(n, path, "%q holds a control character", clip(n.text))
	default:
		return n.text, true
	}
	return "", false
}

// textList is a list of texts.
func (r *reader) textList(n *node, path string) (list []string, nodes []*node) {
	if n.kind != kindList {
		f := r.add(n, path, "want a list, got %s", n.what())
		if n.kind == kindText {
			f.Hint = fmt.Sprintf("write [%s]", clip(n.text))
		}
		return nil, nil
	}
	for i, item := range n.items {
		if s, ok := r.textOf(item, fmt.Sprintf("%s[%d]", path, i)); ok {
			list, nodes = append(list, s), append(nodes, item)
		}
	}
	return list, nodes
}

// name checks a name that the file defines. Brackets are left to loops.
func (r *reader) name(n *node, path, what string) bool {
	switch {
	case n.text == "" || strings.TrimSpace(n.text) != n.text:
		r.add(n, path, "%s needs a name without blanks around it, got %q", what, clip(n.text))
	case len(n.text) > 200:
		r.add(n, path, "the name of %s has %d bytes, at most 200 are possible", what, len(n.text))
	case strings.ContainsAny(n.text, "[]") || strings.ContainsFunc(n.text, func(c rune) bool { return c < ' ' || c == 0x7f }):
		r.add(n, path, "the name of %s must not hold brackets or control characters, got %q", what, clip(n.text))
	default:
		return true
	}
	return false
}

// resolve makes a path of the file relative to the working directory.
func (p *Pipeline) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.dir, filepath.FromSlash(path))
}

func (r *reader) readVersion(n *node) {
	if n == nil {
		return
	}
	if v, ok := n.number.whole(); n.kind != kindInt || !ok || v != 1 {
		r.add(n, "version", "want 1, got %s; this program reads version 1", n.what())
	}
}

func (r *reader) readLimits(n *node) {
	if n == nil {
		return
	}
	limits := r.fields(n, "limits", "limits", keysOf[limitsFormat]())
	t := limits["step_timeout_s"]
	if t == nil {
		return
	}
	const path = "limits.step_timeout_s"
	v, ok := r.number(t, path)
	const most = 1e9 // seconds; a Duration holds nine times as many
	switch {
	case !ok:
	case !(v.real() > 0) || v.real() > most:
		r.add(t, path, "want more than 0 and at most %g seconds, got %v", most, v)
	default:
		r.p.timeout = max(time.Duration(v.real()*float64(time.Second)), 1)
	}
}
