package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// execution is one kernel with its arguments, as exec runs it.
type execution struct {
	call    *kernels.Call
	given   []execArray // the arrays, in the order of the command line
	outputs [][]byte    // by given, from the first device that ran
}

// execArray is an argument that is an array.
type execArray struct {
	param   string
	array   *kernels.Array
	file    string // read from; empty: zeros
	written bool
	out     string // file of --out
}

// newExecution reads the command line and checks everything that can be
// checked without a device. All faults are reported.
func newExecution(k *kernels.Kernel, f *execFlags) (*execution, error) {
	var rng devices.NDRange
	var errs []error
	fail := func(err error) { errs = append(errs, err) }
	if f.global != "" {
		size, err := parseSize("--global", f.global)
		if err != nil {
			fail(err)
		}
		rng.Dims = len(size)
		copy(rng.Size[:], size)
	}
	if f.local != "" {
		local, err := parseSize("--local", f.local)
		if err != nil {
			fail(err)
		} else if rng.Dims > 0 && len(local) != rng.Dims {
			fail(fmt.Errorf("--local %s has %d dimension(s), --global %s has %d", f.local, len(local), f.global, rng.Dims))
		}
		copy(rng.Local[:], local)
	}
	e := &execution{}
	var given []kernels.Given
	next := 0
	for _, text := range f.args {
		g, arr, err := parseArg(k, text, &next)
		if err != nil {
			fail(fmt.Errorf("--arg %s: %w", text, err))
			continue
		}
		given = append(given, g)
		if arr != nil {
			e.given = append(e.given, *arr)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	call, err := kernels.Bind(k, rng, given)
	if err != nil {
		return nil, err
	}
	if f.local != "" {
		call.Range.Local = rng.Local // also where the kernel knew the global size itself
	}
	e.call = call
	for i := range e.given {
		e.given[i].written = call.Args[k.Param(e.given[i].param)].Mode.Writes()
	}
	for _, text := range f.outs {
		if err := e.addOut(text); err != nil {
			fail(fmt.Errorf("--out %s: %w", text, err))
		}
	}
	return e, errors.Join(errs...)
}

// addOut reads one --out NAME=FILE.
func (e *execution) addOut(text string) error {
	name, path, ok := strings.Cut(text, "=")
	if !ok || path == "" {
		return errors.New("want NAME=FILE")
	}
	var names []string
	for i := range e.given {
		g := &e.given[i]
		if g.written {
			names = append(names, g.param)
		}
		if g.param != name && fmt.Sprint(e.call.Kernel.Param(g.param)) != name {
			continue
		}
		if !g.written {
			return fmt.Errorf("%s only reads %q", e.call.Kernel.Name, g.param)
		}
		for j := range e.given {
			if e.given[j].out != "" && sameFile(e.given[j].out, path) {
				return fmt.Errorf("%s is the file of %q already", path, e.given[j].param)
			}
		}
		g.out = path
		return errors.Join(arrayfile.CheckWritable(path), arrayfile.CheckHeader(path, arrayfile.Header{DType: g.array.DType, Shape: g.array.Shape}))
	}
	return fmt.Errorf("no array that the kernel writes is named %q; it writes %s%s", name, strings.Join(names, ", "), near(name, names))
}

func sameFile(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// parseSize reads "1024", "640,480" or "640x480".
func parseSize(flag, text string) ([]int, error) {
	var size []int
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == 'x' }) {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || (flag == "--local" && n == 0) {
			return nil, fmt.Errorf("%s %s: %q is no size", flag, text, part)
		}
		size = append(size, n)
	}
	if len(size) < 1 || len(size) > 3 {
		return nil, fmt.Errorf("%s %s: want one to three sizes, x first: 1024 or 640,480", flag, text)
	}
	return size, nil
}

// parseArg reads one --arg. next is the position of the next argument without
// a name.
func parseArg(k *kernels.Kernel, text string, next *int) (kernels.Given, *execArray, error) {
	var g kernels.Given
	head, value, named := strings.Cut(text, "=")
	if !named {
		head, value = "", text
	}
	name, mode, hasMode := strings.Cut(head, ":")
	i := -1
	switch n, err := strconv.Atoi(name); {
	case !named:
		for *next < len(k.Params) && k.Params[*next].Implied {
			*next++
		}
		i = *next
		*next++
		if i >= len(k.Params) {
			return g, nil, fmt.Errorf("one argument too many; %s", k.Signature())
		}
	case err == nil:
		if i = n; i < 0 || i >= len(k.Params) {
			return g, nil, fmt.Errorf("no argument %d; %s", n, k.Signature())
		}
	default:
		if i = k.Param(name); i < 0 {
			var names []string
			for _, p := range k.Params {
				names = append(names, p.Name)
			}
			return g, nil, fmt.Errorf("no such parameter; %s%s", k.Signature(), near(name, names))
		}
	}
	p := &k.Params[i]
	g.Name = p.Name
	if hasMode {
		var ok bool
		if g.Mode, ok = kernels.ParseAccess(mode); !ok {
			return g, nil, fmt.Errorf("mode %q: want r, w or rw", mode)
		}
		if p.Kind != kernels.Buffer {
			return g, nil, fmt.Errorf("%q is no array and has no mode", p.Name)
		}
	}
	if bytes, ok := strings.CutPrefix(value, "local:"); ok {
		n, err := parseBytes(bytes)
		if err != nil {
			return g, nil, err
		}
		if n == 0 {
			return g, nil, errors.New("local memory of 0 bytes")
		}
		g.LocalBytes = n
		return g, nil, nil
	}
	switch p.Kind {
	case kernels.Buffer:
		arr, err := parseArray(p, value)
		if err != nil {
			return g, nil, err
		}
		g.Array = arr.array
		return g, arr, nil
	case kernels.Local:
		return g, nil, fmt.Errorf("%q is a __local pointer: give its size, %s=local:BYTES", p.Name, p.Name)
	}
	if path, ok := strings.CutPrefix(value, "@"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return g, nil, err
		}
		g.Bytes = b
		return g, nil, nil
	}
	v, err := parseValue(value)
	g.Value = v
	return g, nil, err
}

// parseArray reads an array argument: a file, or dtype[shape].
func parseArray(p *kernels.Param, value string) (*execArray, error) {
	name, rest, isShape := strings.Cut(value, "[")
	if isShape && strings.HasSuffix(rest, "]") && !strings.Contains(name, ".") {
		t, ok := devices.ParseDType(name)
		if !ok {
			return nil, fmt.Errorf("%q is no element type; want one of %s%s", name, strings.Join(devices.DTypeNames(), ", "), near(name, devices.DTypeNames()))
		}
		arr := &kernels.Array{Name: p.Name, DType: t}
		for _, part := range strings.Split(strings.TrimSuffix(rest, "]"), ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("%q is no length", part)
			}
			arr.Shape = append(arr.Shape, n)
		}
		if _, err := (arrayfile.Header{DType: t, Shape: arr.Shape}).Bytes(); err != nil {
			return nil, err
		}
		return &execArray{param: p.Name, array: arr}, nil
	}
	h, err := arrayfile.Stat(value, arrayfile.Options{})
	if err != nil {
		if _, statErr := os.Stat(value); statErr != nil {
			return nil, fmt.Errorf("%q is an array of %s: want a file or a shape such as %s[1024]; %s: no such file", p.Name, p.Type, elementName(p), value)
		}
		return nil, err
	}
	return &execArray{param: p.Name, file: value, array: &kernels.Array{Name: p.Name, DType: h.DType, Shape: h.Shape}}, nil
}

// elementName is a dtype for an example in a message.
func elementName(p *kernels.Param) string {
	if p.Type.Elem == devices.NoType {
		return "uint8"
	}
	return p.Type.Elem.String()
}

// parseValue reads a number or a vector.
func parseValue(text string) (any, error) {
	parts := strings.Split(strings.Trim(text, "()[]"), ",")
	if len(parts) == 1 {
		return parseNumber(parts[0])
	}
	lanes := make([]any, len(parts))
	for i, p := range parts {
		v, err := parseNumber(p)
		if err != nil {
			return nil, err
		}
		lanes[i] = v
	}
	return lanes, nil
}

// parseNumber reads an integer of any base, a float (1.5f too), or a bool.
func parseNumber(text string) (any, error) {
	s := strings.TrimSpace(text)
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(s, 0, 64); err == nil {
		return u, nil
	}
	if s == "true" || s == "false" {
		return s == "true", nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && strings.HasSuffix(s, "f") && !strings.HasPrefix(s, "0x") {
		f, err = strconv.ParseFloat(strings.TrimSuffix(s, "f"), 64)
	}
	if err != nil {
		return nil, fmt.Errorf("%q is no number", s)
	}
	return f, nil
}

// buffers makes the arrays in a session and reads their files.
func (e *execution) buffers(ctx context.Context, s *tandem.Session) (map[*kernels.Array]*tandem.Buffer, error) {
	all := map[*kernels.Array]*tandem.Buffer{}
	for i := range e.given {
		g := &e.given[i]
		b := s.NewBuffer(*g.array)
		if err := b.Err(); err != nil {
			return nil, err
		}
		all[g.array] = b
		if g.file == "" {
			continue
		}
		err := b.Update(ctx, func(mem []byte) error {
			_, err := arrayfile.Read(g.file, arrayfile.Options{Zeroed: true}, func(h arrayfile.Header) ([]byte, error) {
				if n, err := h.Bytes(); err != nil || n != int64(len(mem)) {
					return nil, fmt.Errorf("%s changed while it was read: %d bytes, %d before", g.file, n, len(mem))
				}
				return mem, nil
			})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
