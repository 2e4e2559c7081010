package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// maxBufferBytes bounds one buffer; a mistake in a shape should not end in a
// machine without memory.
const maxBufferBytes = 1 << 40

// buffer is an array that the file defines.
type buffer struct {
	array kernels.Array
	key   *node // its name in the file
	in    string
	inOpt arrayfile.Options
	out   string
	outAt *node
	fill  *fill // nil: zeros

	broken        bool // a fault was reported; its dtype or shape are not known
	read, written bool // by a step
	zeroRead      bool // read by a step before any wrote it
}

// readBuffers reads the buffers and the headers of their files.
func (r *reader) readBuffers(n *node) {
	if n == nil {
		return
	}
	if n.kind != kindMap {
		r.add(n, "buffers", "want a mapping of names to buffers, got %s", n.what())
		return
	}
	outs := map[string]*buffer{}
	for _, e := range n.entries {
		path := join("buffers", e.name)
		b := &buffer{key: e.key, array: kernels.Array{Name: e.name}}
		r.buffers[e.name] = b
		r.p.buffers = append(r.p.buffers, b)
		before := len(r.list) + r.more
		if r.name(e.key, path, "a buffer") {
			r.readBuffer(b, e.value, path)
		}
		b.broken = len(r.list)+r.more > before
		if b.out == "" {
			continue
		}
		place := outputKey(b.out)
		if other := outs[place]; other != nil {
			r.add(b.outAt, path+".out", "%s is the output of buffer %q too (line %d)", b.out, other.array.Name, other.outAt.line)
		}
		outs[place] = b
	}
	for _, b := range r.p.buffers {
		if b.in == "" {
			continue
		}
		if other := outs[outputKey(b.in)]; other != nil && other != b {
			r.warnings.add(other.outAt, join("buffers", other.array.Name)+".out", "%s is also the input of buffer %q; it is read first and replaced at the end", other.out, b.array.Name)
		}
	}
}

// outputKey is the same for two spellings of one output.
func outputKey(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = filepath.Clean(path)
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(dir, filepath.Base(abs))
	}
	return abs
}

func (r *reader) readBuffer(b *buffer, n *node, path string) {
	f := r.fields(n, path, "a buffer", keysOf[bufferFormat]())
	if f == nil {
		return
	}
	dtype, hasType := r.readDType(f["dtype"], path+".dtype")
	shape, hasShape := r.readShape(f["shape"], path+".shape")
	if (f["dtype"] != nil && !hasType) || (f["shape"] != nil && !hasShape) {
		return
	}
	if hasShape {
		b.array.Shape = shape
	}
	b.array.DType = dtype
	switch in := f["file"]; {
	case in != nil:
		if f["fill"] != nil {
			r.add(f["fill"], path+".fill", "a buffer is read from a file or filled, not both")
		}
		r.readInput(b, in, path, f)
	case !hasType && !hasShape:
		r.add(b.key, path, "the buffer has no file, and no dtype and shape").Hint = "write {dtype: float32, shape: [n]}"
	case !hasType:
		r.add(b.key, path, "the buffer has no dtype").Hint = "types are " + strings.Join(devices.DTypeNames(), ", ")
	case !hasShape:
		r.add(b.key, path, "the buffer has no shape").Hint = "write shape: [n]"
	default:
		r.checkSize(b, f["shape"], path+".shape")
	}
	if f["fill"] != nil && f["file"] == nil && hasType && hasShape {
		b.fill = r.readFill(b, f["fill"], path+".fill")
	}
	if out := f["out"]; out != nil {
		r.readOutput(b, out, path+".out")
	}
}

func (r *reader) readDType(n *node, path string) (devices.DType, bool) {
	if n == nil {
		return devices.NoType, false
	}
	s, ok := r.textOf(n, path)
	if !ok {
		return devices.NoType, false
	}
	d, ok := devices.ParseDType(s)
	if !ok {
		f := r.add(n, path, "there is no element type %q", clip(s))
		f.Hint = near(s, devices.DTypeNames())
		if t, isName := kernels.ParseType(s); isName && t.Lanes == 1 {
			f.Hint = fmt.Sprintf("did you mean %q?", t.Elem)
		} else if strings.HasPrefix(s, "complex") {
			f.Hint = "complex numbers are not supported; use two buffers"
		}
	}
	return d, ok
}

func (r *reader) readShape(n *node, path string) ([]int64, bool) {
	if n == nil {
		return nil, false
	}
	if n.kind != kindList {
		f := r.add(n, path, "want a list with the length of each dimension, got %s", n.what())
		if n.kind == kindInt || n.kind == kindText {
			f.Hint = fmt.Sprintf("write [%s]", clip(n.text))
		}
		return nil, false
	}
	shape, ok := []int64{}, true
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", path, i)
		f := r.formula(item, at, r.scope())
		if f == nil {
			ok = false
			continue
		}
		d, good := r.whole(f, nil, 0)
		shape, ok = append(shape, d), ok && good
	}
	return shape, ok
}

// checkSize holds an array against what can be addressed.
func (r *reader) checkSize(b *buffer, n *node, path string) {
	bytes, err := arrayfile.Header{DType: b.array.DType, Shape: b.array.Shape}.Bytes()
	switch {
	case err != nil:
		r.add(n, path, "%v", err)
	case bytes > maxBufferBytes:
		r.add(n, path, "%s of %s takes %d bytes, at most %d are possible", kernels.ShapeString(b.array.Shape), b.array.DType, bytes, int64(maxBufferBytes))
	}
}

// readInput reads the header of an input file; dtype and shape beside it say
// what a .raw file is, and have to agree with any other.
func (r *reader) readInput(b *buffer, n *node, path string, f map[string]*node) {
	name, ok := r.textOf(n, path+".file")
	if !ok {
		return
	}
	b.in = r.p.resolve(name)
	ext := strings.ToLower(filepath.Ext(name))
	switch ext {
	case ".raw":
		if f["dtype"] == nil || f["shape"] == nil {
			r.add(n, path+".file", "a .raw file does not say what it holds").Hint = "give dtype and shape"
			return
		}
		b.inOpt = arrayfile.Options{DType: b.array.DType, Shape: slices.Clone(b.array.Shape)}
		if b.inOpt.Shape == nil {
			b.inOpt.Shape = []int64{}
		}
	case ".csv":
		b.inOpt.DType = b.array.DType
	}
	h, err := arrayfile.Stat(b.in, b.inOpt)
	if err != nil {
		r.fileFault(n, path+".file", b.in, err.Error(), err)
		return
	}
	if d := f["dtype"]; d != nil && h.DType != b.array.DType {
		r.add(d, path+".dtype", "%s holds %s, not %s", name, h, b.array.DType).Hint = "leave dtype out: the file says it"
	}
	if s := f["shape"]; s != nil && !slices.Equal(h.Shape, b.array.Shape) {
		r.add(s, path+".shape", "%s holds %s, not %s", name, h, kernels.ShapeString(b.array.Shape)).Hint = "leave shape out: the file says it"
	}
	b.array.DType, b.array.Shape = h.DType, h.Shape
	r.checkSize(b, n, path+".file")
}

// fileFault notes a file that cannot be read, with the nearest name there is.
func (r *reader) fileFault(n *node, path, file, msg string, err error) {
	f := r.add(n, path, "%s", msg)
	f.Err = err
	if errors.Is(err, fs.ErrNotExist) {
		f.Hint = nearFile(strings.SplitN(file, ":", 2)[0])
	}
}

// readOutput checks that the array can be written later.
func (r *reader) readOutput(b *buffer, n *node, path string) {
	name, ok := r.textOf(n, path)
	if !ok {
		return
	}
	out := r.p.resolve(name)
	if err := arrayfile.CheckWritable(out); err != nil {
		r.add(n, path, "%v", err).Err = err
		return
	}
	if b.array.DType != devices.NoType {
		if err := arrayfile.CheckHeader(out, arrayfile.Header{DType: b.array.DType, Shape: b.array.Shape}); err != nil {
			r.add(n, path, "%v", err)
			return
		}
	}
	b.out, b.outAt = out, n
}
