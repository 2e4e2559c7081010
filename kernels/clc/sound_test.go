package clc

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"pgregory.net/rapid"
)

// source draws kernels that index two arrays in many ways.
type source struct {
	t     *rapid.T
	b     strings.Builder
	names []string // integer variables in scope
	fixed map[string]bool
	next  int
	depth int
	loops int
}

func (s *source) pick(list ...string) string { return rapid.SampledFrom(list).Draw(s.t, "") }

func (s *source) chance(n int) bool { return rapid.IntRange(1, n).Draw(s.t, "") == 1 }

func (s *source) expr(depth int) string {
	if depth == 0 || s.chance(4) {
		switch rapid.IntRange(0, 7).Draw(s.t, "") {
		case 0:
			return s.pick("0", "1", "2", "3", "5", "1u", "2u", "(-1)", "(-2)", "4294967295u", "7L")
		case 1:
			return s.pick("get_global_id(0)", "get_global_id(1)", "get_local_id(0)", "get_global_size(0)", "get_local_size(0)",
				"(get_group_id(0) * get_local_size(0) + get_local_id(0))", "(get_group_id(1) * get_local_size(1))")
		case 2, 3:
			return s.pick("i", "j")
		case 4:
			return s.pick("n", "w", "u")
		}
		return s.pick(s.names...)
	}
	a := func() string { return s.expr(depth - 1) }
	switch rapid.IntRange(0, 13).Draw(s.t, "") {
	case 0, 1, 2:
		return "(" + a() + " + " + a() + ")"
	case 3:
		return "(" + a() + " - " + a() + ")"
	case 4, 5:
		return "(" + a() + " * " + a() + ")"
	case 6:
		return "(" + a() + s.pick(" / ", " % ", " & ", " | ") + a() + ")"
	case 7:
		return "(" + a() + s.pick(" << ", " >> ") + s.pick("1", "2") + ")"
	case 8:
		if s.chance(2) {
			return s.pick("max(i - 1, 0)", "min(i + 1, n - 1)", "max((int)j - 2, 0)", "min(i, n)", "min((int)j + 1, 1)", "max(w, (int)i)", "min(max((int)i - 1, 0), n)")
		}
		return s.pick("min", "max") + "(" + a() + ", " + a() + ")"
	case 9:
		return "(" + s.cond(1) + " ? " + a() + " : " + a() + ")"
	case 10:
		return "(" + s.typ() + ")" + a()
	case 11:
		return "helper(" + a() + ", " + a() + ")"
	case 12:
		return "-" + a()
	}
	return "y[" + a() + "]"
}

func (s *source) typ() string {
	return s.pick("int", "int", "uint", "size_t", "size_t", "long", "uchar", "short", "ulong")
}

func (s *source) cond(depth int) string {
	if depth > 0 && s.chance(3) {
		return s.pick("", "!") + "(" + s.cond(depth-1) + s.pick(" && ", " || ") + s.cond(depth-1) + ")"
	}
	return s.expr(1) + s.pick(" < ", " <= ", " > ", " >= ", " == ", " != ") + s.expr(1)
}

func (s *source) line(format string, a ...any) { fmt.Fprintf(&s.b, format+"\n", a...) }

func (s *source) fresh(name string) string {
	s.next++
	return fmt.Sprintf("%s%d", name, s.next)
}

func (s *source) block(n int) {
	names := len(s.names)
	s.depth++
	for range rapid.IntRange(1, n).Draw(s.t, "") {
		s.stmt()
	}
	s.depth--
	s.names = s.names[:names]
}

func (s *source) stmt() {
	kind := rapid.IntRange(0, 14).Draw(s.t, "")
	if s.depth > 3 && kind >= 6 && kind <= 11 {
		kind = 0
	}
	switch kind {
	case 0, 1, 2:
		s.line("x[%s] = %s;", s.expr(2), s.expr(1))
	case 3, 4:
		v := s.fresh("v")
		s.line("%s %s = %s;", s.typ(), v, s.expr(2))
		s.names = append(s.names, v)
	case 5:
		v := s.pick(s.names...)
		if s.fixed[v] && !s.chance(3) {
			return
		}
		s.line("%s %s %s;", v, s.pick("=", "+=", "-="), s.expr(1))
	case 6:
		s.line("if (%s) {", s.cond(2))
		s.block(3)
		if s.chance(2) {
			s.line("} else {")
			s.block(2)
		}
		s.line("}")
	case 7:
		s.line("if (%s) %s;", s.cond(2), s.pick("return", "{ x[i] = 1; return; }"))
	case 8, 9, 10:
		v, names := s.fresh("k"), len(s.names)
		if s.chance(2) {
			s.line("for (%s %s = %s; %s %s %s; %s) {", s.typ(), v, s.expr(1), v, s.pick("<", "<="), s.expr(1), s.pick(v+"++", "++"+v, v+" += 2", v+" += w"))
		} else {
			s.line("for (%s %s = %s; %s %s %s && %s; %s) {", s.typ(), v, s.expr(1), v, s.pick(">", ">="), s.expr(1), s.cond(0), s.pick(v+"--", v+" -= 2", v+" >>= 1"))
		}
		s.names = append(s.names, v)
		s.fixed[v] = true
		s.loops++
		s.block(3)
		if s.chance(4) {
			s.line("if (%s) break;", s.cond(1))
			s.stmt()
		}
		s.loops--
		s.line("}")
		s.names = s.names[:names]
	case 11:
		s.line("do {")
		s.block(2)
		s.line("} while (0);")
	case 12:
		p := s.fresh("p")
		s.line("global int *%s = %s;", p, s.pick("x + "+s.expr(2), "&x["+s.expr(1)+"]", "x"))
		if s.chance(4) {
			s.line("%s += %s;", p, s.expr(1))
		}
		s.line("%s[%s] %s 1;", p, s.expr(1), s.pick("=", "+="))
	case 13:
		s.line("put(x, %s, %s);", s.expr(1), s.expr(1))
	case 14:
		s.line("vload2(%s, y + %s);", s.expr(1), s.expr(1))
	}
}

// kernelText draws a kernel.
func kernelText(t *rapid.T) string {
	s := &source{t: t, names: []string{"i", "j"}, fixed: map[string]bool{"i": true, "j": true}}
	s.line("int helper(int a, %s b) { if (a %s b) return a + 1; return %s; }", s.typ(), s.pick("<", ">="), s.pick("b", "a - b", "max(a, 0)"))
	s.line("void put(global int *q, %s at, int w) { if (at > 0) q[%s] = w; }", s.typ(), s.pick("at", "at * w", "at + 1", "w"))
	s.line("kernel void f(global int *x, global const int *y, int n, int w, uint u) {")
	s.line("%s i = get_global_id(0), j = get_global_id(1);", s.pick("int", "size_t", "uint"))
	if s.chance(3) {
		s.line("if (i >= n || j >= w) return;")
	}
	s.block(5)
	s.line("}")
	return s.b.String()
}

// TestBandsAreSound holds every element that a work-item touches against the
// bands, modes and reach of randomly drawn kernels.
func TestBandsAreSound(t *testing.T) {
	counts := map[string]int{}
	draw := func(t *rapid.T) {
		text := kernelText(t)
		list, err := read("k.cl", []byte(text), Options{})
		if err != nil || list.errs[0] != nil {
			t.Fatalf("%v %v\n%s", err, list, text)
		}
		k, fn := list.kernels[0], list.u.order[0]
		if fn.opaque != "" {
			t.Fatalf("opaque: %s\n%s", fn.opaque, text)
		}
		var rng devices.NDRange
		rng.Dims = rapid.IntRange(1, 2).Draw(t, "dims")
		c := &concrete{u: list.u, local: [3]int64{1, 1, 1}, size: [3]int64{1, 1, 1}}
		for d := range rng.Dims {
			l := rapid.IntRange(1, 3).Draw(t, "local")
			n := l * rapid.IntRange(1, 3).Draw(t, "groups")
			rng.Size[d], rng.Offset[d] = n, rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(t, "offset")
			if rapid.Bool().Draw(t, "known") {
				rng.Local[d] = l
			}
			c.local[d], c.size[d], c.off[d] = int64(l), int64(n), int64(rng.Offset[d])
		}
		n := rapid.IntRange(-2, 9).Draw(t, "n")
		w := rapid.IntRange(-2, 9).Draw(t, "w")
		u := rapid.IntRange(0, 9).Draw(t, "u")
		const length = 60
		arr := func(name string) *kernels.Array {
			return &kernels.Array{Name: name, DType: devices.Int32, Shape: []int64{length}}
		}
		// The arrays are meant to be left now and then; reach is asked below.
		var reach [2]kernels.ReachFunc
		for i := range reach {
			reach[i], k.Params[i].Reach = k.Params[i].Reach, nil
		}
		b, err := kernels.Bind(k, rng, []kernels.Given{{Array: arr("x")}, {Array: arr("y")}, {Value: n}, {Value: w}, {Value: u}})
		if err != nil {
			t.Fatal(err)
		}
		var known [2]*kernels.Band
		for i := range known {
			if p := k.Params[i]; p.Band != nil {
				band, err := p.Band(b)
				if err == nil {
					known[i] = &band
					counts[fmt.Sprintf("%s band", p.Name)]++
					if band.Stride > 0 && band.High-band.Low < length {
						counts[fmt.Sprintf("%s narrow band", p.Name)]++
					}
				}
			}
		}
		all, low, high := true, [2]int64{math.MaxInt64, math.MaxInt64}, [2]int64{math.MinInt64, math.MinInt64}
		for g1 := range c.size[1] {
			for g0 := range c.size[0] {
				c.id = [3]int64{g0 + c.off[0], g1 + c.off[1], 0}
				where := fmt.Sprintf("work-item %v, %v, n %d, w %d, u %d\n%s", c.id, rng, n, w, u, text)
				finished := c.item(fn, n, w, u)
				counts[fmt.Sprintf("finished %t", finished)]++
				check(t, k, known[:], c, length, finished, where)
				all = all && finished
				for _, a := range c.log {
					low[a.param], high[a.param] = min(low[a.param], a.from), max(high[a.param], a.from+a.size)
				}
			}
		}
		for i, f := range reach {
			if f == nil || !all {
				continue
			}
			if r, ok := f(b); ok {
				counts[k.Params[i].Name+" reach"]++
				if r.Low < low[i] || r.High > high[i] {
					t.Fatalf("%s: said to be touched for certain: bytes %d to %d; touched are %d to %d: %v\n%s", k.Params[i].Name, r.Low, r.High, low[i], high[i], rng, text)
				}
			}
		}
	}
	for range 5 { // times rapid's number of checks
		rapid.Check(t, draw)
	}
	t.Logf("%v", counts)
	if counts["x narrow band"] == 0 || counts["y narrow band"] == 0 || counts["x reach"] == 0 || counts["y reach"] == 0 {
		t.Error("no kernel had a narrow band, or none a reach: the test shows nothing")
	}
}

// item runs one work-item; false if it ran into undefined behaviour or too
// long.
func (c *concrete) item(fn *function, n, w, u int) (finished bool) {
	c.log, c.steps = c.log[:0], 0
	defer func() {
		if r := recover(); r != nil {
			if err, ok := r.(error); !ok || !errors.Is(err, errUndefined) && !errors.Is(err, errLong) {
				panic(r)
			}
		}
	}()
	env := cell{}
	for i, v := range fn.params {
		switch i {
		case 0, 1:
			env[v] = object{param: i, elem: v.typ.elem}
		case 2:
			env[v] = object{n: int64(n)}
		case 3:
			env[v] = object{n: int64(w)}
		case 4:
			env[v] = object{n: int64(u)}
		}
	}
	c.run(fn.body, env)
	return true
}

func check(t *rapid.T, k *kernels.Kernel, known []*kernels.Band, c *concrete, length int64, finished bool, where string) {
	written := map[int64]bool{}
	for _, a := range c.log {
		if a.from < 0 || a.from+a.size > length*4 {
			continue // outside of the array: no program does that
		}
		p := k.Params[a.param]
		if a.write && a.param == 0 {
			written[a.from/4] = true
		}
		if a.write && !p.Mode.Writes() || !a.write && !p.Mode.Reads() {
			t.Fatalf("%s is %s, but written %t at byte %d: %s", p.Name, p.Mode, a.write, a.from, where)
		}
		b := known[a.param]
		if b == nil {
			continue
		}
		from, to := b.Elements(c.id[b.Dim], c.id[b.Dim]+1, length)
		if a.from < from*4 || a.from+a.size > to*4 {
			t.Fatalf("%s: element %d is outside of band %+v, [%d, %d): %s", p.Name, a.from/4, *b, from, to, where)
		}
	}
	if k.Params[0].Mode == kernels.Write && finished {
		if b := known[0]; b != nil {
			from, to := b.Elements(c.id[b.Dim], c.id[b.Dim]+1, length)
			for e := from; e < to; e++ {
				if !written[e] {
					t.Fatalf("x is w, but element %d of its band is not written: %s", e, where)
				}
			}
		}
	}
}
