package kernels

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func array(name string, d devices.DType, shape ...int64) *Array {
	return &Array{Name: name, DType: d, Shape: shape}
}

func saxpy() *Kernel {
	return &Kernel{Name: "saxpy", Params: []Param{
		{Name: "a", Kind: Value, Type: Scalar(devices.Float32)},
		{Name: "x", Kind: Buffer, Type: Scalar(devices.Float32), Mode: Read, Band: PerItem(1)},
		{Name: "y", Kind: Buffer, Type: Scalar(devices.Float32), Mode: ReadWrite, Band: PerItem(1)},
		{Name: "n", Kind: Value, Type: Scalar(devices.Uint32), Default: 4},
	}}
}

func line(n int64) devices.NDRange { return devices.NDRange{Dims: 1, Size: [3]int{int(n)}} }

func TestBind(t *testing.T) {
	x, y := array("x", devices.Float32, 4), array("y", devices.Float32, 2, 2)
	for _, args := range [][]Given{
		{{Value: 1.5}, {Array: x}, {Array: y}, {Value: 4}},
		{{Value: 1.5}, {Array: x}, {Array: y}},
		{{Name: "y", Array: y}, {Name: "a", Value: 1.5, Type: "float"}, {Name: "n", Value: uint8(4)}, {Name: "x", Array: x, Mode: Read}},
		{{Value: 1.5}, {Name: "y", Array: y}, {Array: x}},
	} {
		c, err := Bind(saxpy(), line(4), args)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Array("x") != x || c.Array("y") != y || c.Array("a") != nil || c.Array("z") != nil {
			t.Errorf("arrays %v %v", c.Array("x"), c.Array("y"))
		}
		if n, ok := c.Int("n"); !ok || n != 4 {
			t.Errorf("n is %d, %t", n, ok)
		}
		if _, ok := c.Int("a"); ok {
			t.Error("a float is an Int")
		}
		if c.Args[1].Mode != Read || c.Args[2].Mode != ReadWrite {
			t.Errorf("modes %s %s", c.Args[1].Mode, c.Args[2].Mode)
		}
		if w := c.Work(); w.Flops != 4 || w.Bytes != 16+32 {
			t.Errorf("work %+v, want 4 operations and 48 bytes", w)
		}
	}
}

func TestBindFaults(t *testing.T) {
	x, y := array("x", devices.Float32, 4), array("y", devices.Float32, 4)
	good := []Given{{Value: 1.5}, {Array: x}, {Array: y}}
	for _, c := range []struct {
		args []Given
		want []string
	}{
		{nil, []string{"saxpy: a: missing", "saxpy: x: missing", "saxpy: y: missing; saxpy(a float, x r float[], y rw float[], n uint)"}},
		{append(good[:3:3], Given{Value: 4}, Given{Value: 5}), []string{"argument 5: one argument too many"}},
		{append(good[:3:3], Given{Name: "yy", Value: 5, Pos: Pos{"j.yaml", 3, 4}}), []string{`j.yaml:3:4: kernel saxpy: yy: no such parameter; it has a, x, y, n; did you mean "y"?`}},
		{append(good[:3:3], Given{Name: "x", Array: x}), []string{"x: given twice"}},
		{[]Given{{Array: x}, {Value: 3}, {LocalBytes: 8}}, []string{"a: is a value of type float, got a buffer", "x: is an array of float: it takes a buffer, got a value", "y: is an array of float: it takes a buffer, got local memory"}},
		{[]Given{{Value: "s"}, {Array: x}, {Array: y}}, []string{"a: s (string) is no number"}},
		{[]Given{{Value: 1, Type: "int"}, {Array: x}, {Array: y}}, []string{"a: is of type float, got int"}},
		{[]Given{{Bytes: []byte{1, 2}}, {Array: x}, {Array: y}}, []string{"a: is of type float, which takes 4 bytes; got 2 bytes"}},
		{[]Given{{Value: 1}, {Array: x, Mode: ReadWrite}, {Array: y}}, []string{"x: is read-only in the kernel, but mode rw was asked for"}},
		{[]Given{{Value: 1}, {Array: array("h", devices.Float64, 4)}, {Array: y}}, []string{"x: is an array of float (float32), buffer h is float64"}},
		{append(good[:3:3], Given{Value: -1}), []string{"n: -1 does not fit in uint"}},
	} {
		_, err := Bind(saxpy(), line(4), c.args)
		if err == nil {
			t.Errorf("%v is bound", c.args)
			continue
		}
		var ae *ArgError
		if !errors.As(err, &ae) || ae.Kernel != "saxpy" {
			t.Errorf("%v is no *ArgError", err)
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("got %v\nwant %s", err, w)
			}
		}
		if n := strings.Count(err.Error(), "\n") + 1; n != len(c.want) {
			t.Errorf("%d faults, want %d: %v", n, len(c.want), err)
		}
	}
	if _, err := Bind(saxpy(), devices.NDRange{}, good); err == nil || !strings.Contains(err.Error(), "global size: missing") {
		t.Errorf("no range: %v", err)
	}
	if _, err := Bind(saxpy(), line(-3), good); err == nil || !strings.Contains(err.Error(), "must not be negative") {
		t.Errorf("a negative range: %v", err)
	}
}

func TestBindLayout(t *testing.T) {
	k := &Kernel{Name: "norms", Params: []Param{
		{Name: "p", Kind: Buffer, Type: Vector(devices.Float32, 3), Mode: Read},
		{Name: "l", Kind: Local, Type: Scalar(devices.Float32)},
		{Name: "s", Kind: Value, Type: probe()},
		{Name: "b", Kind: Buffer, Type: probe(), Mode: Read},
		{Name: "m", Kind: Buffer, Type: Scalar(devices.Uint8), Mode: ReadWrite},
	}}
	good := []Given{
		{Name: "p", Array: array("p", devices.Float32, 4, 4)}, {Name: "l", LocalBytes: 128}, {Name: "s", Bytes: make([]byte, 48), Type: "probe_t"},
		{Name: "b", Array: array("b", devices.Uint8, 96)}, {Name: "m", Array: array("m", devices.Bool, 3)},
	}
	if _, err := Bind(k, line(1), good); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		g    Given
		want string
	}{
		{Given{Array: array("p", devices.Float32, 4, 3)}, "p: is an array of float3, which takes 16 bytes per element; buffer p of shape (4, 3) has rows of 12 bytes"},
		{Given{}, "l: is a __local pointer (float): it takes a size in bytes (local_bytes), got a value"},
		{Given{LocalBytes: 6}, "l: 6 bytes of local memory are no multiple of float (4 bytes)"},
		{Given{Bytes: make([]byte, 32), Type: "probe_t"}, "s: is of type probe_t, which takes 48 bytes; got 32 bytes"},
		{Given{Array: array("b", devices.Uint8, 100)}, "b: is an array of probe_t, 48 bytes each; buffer b uint8(100,) has 100 bytes"},
		{Given{Array: array("m", devices.Int8, 3)}, "m: is an array of uchar (uint8), buffer m is int8"},
		{Given{Array: good[0].Array}, "l: is a __local pointer (float): it takes a size in bytes (local_bytes), got a buffer"},
	} {
		args := append([]Given(nil), good...)
		at := []int{0, 1, 1, 2, 3, 4, 1}[i]
		c.g.Name = good[at].Name
		args[at] = c.g
		if _, err := Bind(k, line(1), args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

func TestBindInfer(t *testing.T) {
	k := &Kernel{Name: "fill", Params: []Param{
		{Name: "x", Kind: Buffer, Type: Scalar(devices.Int32), Mode: Write},
		{Name: "n", Kind: Value, Type: Scalar(devices.Int32), Implied: true},
		{Name: "v", Kind: Value, Type: Scalar(devices.Int32)},
	}}
	k.Infer = func(c *Call) error {
		n := c.Array("x").Elements()
		if n > 100 {
			return fmt.Errorf("%d elements are too many", n)
		}
		c.SetRange(n)
		return c.SetValue("n", n)
	}
	c, err := Bind(k, devices.NDRange{}, []Given{{Array: array("x", devices.Int32, 3, 4)}, {Value: 5}})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := c.Int("n"); n != 12 || c.Range != line(12) {
		t.Errorf("n %d, range %v", n, c.Range)
	}
	if v, _ := c.Int("v"); v != 5 {
		t.Errorf("v is %d: the value went to the implied parameter", v)
	}
	if c, err = Bind(k, line(7), []Given{{Array: array("x", devices.Int32, 12)}, {Value: 1}, {Value: 5}}); err != nil || c.Range != line(7) {
		t.Errorf("%v, range %v: the caller's range counts", err, c)
	}
	_, err = Bind(k, devices.NDRange{}, []Given{{Array: array("x", devices.Int32, 200)}, {Value: 5}})
	if err == nil || !strings.Contains(err.Error(), "200 elements are too many") {
		t.Error(err)
	}
	_, err = Bind(k, devices.NDRange{}, []Given{{Array: array("x", devices.Int32, 20)}})
	if err == nil || !strings.Contains(err.Error(), "v: missing") {
		t.Error(err)
	}
}

func TestInt(t *testing.T) {
	for d, v := range map[devices.DType]int64{
		devices.Bool: 1, devices.Int8: -5, devices.Uint8: 250, devices.Int16: -300, devices.Uint16: 65535, devices.Int32: -1 << 31,
		devices.Uint32: 1<<32 - 1, devices.Int64: -1 << 63, devices.Uint64: 1<<63 - 1,
	} {
		k := &Kernel{Name: "k", Params: []Param{{Name: "v", Kind: Value, Type: Scalar(d)}}}
		c, err := Bind(k, line(1), []Given{{Value: v}})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Int("v"); !ok || got != v {
			t.Errorf("%s: %d, %t, want %d", d, got, ok, v)
		}
	}
	k := &Kernel{Name: "k", Params: []Param{{Name: "v", Kind: Value, Type: Scalar(devices.Uint64)}}}
	c, err := Bind(k, line(1), []Given{{Value: uint64(1) << 63}})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Int("v"); ok {
		t.Errorf("2^63 is the Int %d", got)
	}
}

func TestBand(t *testing.T) {
	for _, c := range []struct {
		b            Band
		lo, hi, n    int64
		from, to     int64
		disjointness bool
	}{
		{Band{Stride: 1, High: 1}, 0, 10, 100, 0, 10, true},
		{Band{Stride: 1, High: 1}, 5, 5, 100, 0, 0, true},
		{Band{Stride: 1, Low: -1, High: 2}, 0, 10, 100, 0, 11, false},
		{Band{Stride: 1, Low: -1, High: 2}, 90, 100, 100, 89, 100, false},
		{Band{Stride: 33, High: 33}, 5, 10, 330, 165, 330, true},
		{Band{Stride: 4, High: 8}, 1, 2, 100, 4, 12, false},
		{Band{Stride: 4, Low: 2, High: 3}, 1, 3, 100, 6, 11, true},
		{Band{Stride: 1, Low: 50, High: 51}, 60, 70, 100, 100, 100, true},
		{Band{High: 7}, 3, 9, 5, 0, 5, false},
		{Band{}, 3, 9, 5, 0, 0, true},
	} {
		if from, to := c.b.Elements(c.lo, c.hi, c.n); from != c.from || to != c.to {
			t.Errorf("%+v, items [%d, %d) of %d: [%d, %d), want [%d, %d)", c.b, c.lo, c.hi, c.n, from, to, c.from, c.to)
		}
		if got := c.b.Disjoint(); got != c.disjointness {
			t.Errorf("%+v: disjoint %t", c.b, got)
		}
	}
	k := &Kernel{Name: "rows", Params: []Param{{Name: "img", Kind: Buffer, Type: Scalar(devices.Uint8), Mode: Read, Band: Rows("img", 2)}}}
	c, err := Bind(k, line(1), []Given{{Array: array("img", devices.Uint8, 10, 7, 3)}})
	if err != nil {
		t.Fatal(err)
	}
	bands, err := c.Bands()
	if err != nil || *bands[0] != (Band{Dim: 1, Stride: 21, Low: -42, High: 63}) {
		t.Errorf("rows: %+v, %v", bands[0], err)
	}
}

func TestSplittable(t *testing.T) {
	x, y := array("x", devices.Float32, 100), array("y", devices.Float32, 100)
	split := func(change func(k *Kernel), args ...Given) string {
		k := saxpy()
		change(k)
		if args == nil {
			args = []Given{{Value: 1}, {Array: x}, {Array: y}}
		}
		rng := line(100)
		rng.Dims, rng.Size[1] = 2, 3
		c, err := Bind(k, rng, args)
		if err != nil {
			t.Fatal(err)
		}
		dim, bands, err := c.Splittable()
		if err != nil {
			return err.Error()
		}
		s := fmt.Sprint(dim)
		for _, b := range bands {
			s += fmt.Sprintf(" %t", b != nil)
		}
		return s
	}
	band := func(b Band) BandFunc { return func(*Call) (Band, error) { return b, nil } }
	halo := band(Band{Stride: 1, Low: -1, High: 2})
	for _, c := range []struct {
		got, want string
	}{
		{split(func(*Kernel) {}), "0 false true true false"},
		{split(func(k *Kernel) { k.Params[1].Band = nil }), "0 false false true false"},
		{split(func(k *Kernel) { k.Params[1].Band = halo }), "0 false true true false"},
		{split(func(k *Kernel) { k.Params[1].Band = band(Band{Dim: 1, Stride: 9, High: 9}) }), "0 false false true false"},
		{split(func(k *Kernel) { k.NoSplit = "it counts" }), "saxpy cannot be split: it counts"},
		{split(func(k *Kernel) { k.Params[2].Band = nil }), `saxpy cannot be split: which elements of "y" a work-item writes is not known`},
		{split(func(k *Kernel) { k.Params[2].Band = halo }), `saxpy cannot be split: neighbouring work-items write the same elements of "y"`},
		{split(func(k *Kernel) { k.Params[2].Mode = Read }), "saxpy cannot be split: it writes nothing"},
		{split(func(k *Kernel) { k.Params[2].Band = band(Band{Dim: 2, Stride: 1, High: 1}) }), "saxpy cannot be split: its ND-range has no dimension 2"},
		{split(func(k *Kernel) {
			k.Params[1].Mode, k.Params[1].Band = Write, band(Band{Dim: 1, Stride: 1, High: 1})
		}), "saxpy cannot be split: its outputs run along different dimensions"},
		{split(func(k *Kernel) {
			k.Params[1].Band = func(*Call) (Band, error) { return Band{}, errors.New("no width") }
		}), "saxpy: x: no width"},
		// the same array twice
		{split(func(*Kernel) {}, Given{Value: 1}, Given{Array: y}, Given{Array: y}), "0 false true true false"},
		{split(func(k *Kernel) { k.Params[1].Band = halo }, Given{Value: 1}, Given{Array: y}, Given{Array: y}),
			`saxpy cannot be split: "y" and "x" are the same array, and work-items may touch what others write`},
		{split(func(k *Kernel) { k.Params[1].Band = nil }, Given{Value: 1}, Given{Array: y}, Given{Array: y}),
			`saxpy cannot be split: "y" and "x" are the same array, and work-items may touch what others write`},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

func TestVariantFor(t *testing.T) {
	k := saxpy()
	k.Variants = []Variant{
		{Language: devices.LangGo},
		{Language: devices.LangOpenCL, Needs: Needs{FP64: &Reason{Pos{"slip.cl", 5, 19}, "literal 0.1 is a double"}, Extensions: []string{"cl_khr_subgroups"}}},
	}
	info := devices.Info{ID: "opencl:0", Languages: []devices.Language{devices.LangOpenCL}}
	_, err := k.VariantFor(info)
	want := "opencl:0 cannot run saxpy: it does not compile go; it lacks fp64 (cl_khr_fp64) (slip.cl:5:19: literal 0.1 is a double) and cl_khr_subgroups"
	if err == nil || err.Error() != want || !errors.Is(err, devices.ErrUnsupported) {
		t.Errorf("got %v\nwant %s", err, want)
	}
	info.FP64, info.Extensions = true, []string{"cl_khr_subgroups"}
	if v, err := k.VariantFor(info); err != nil || v != &k.Variants[1] {
		t.Errorf("%v, %v", v, err)
	}
	if k.Variant(devices.LangGo) != &k.Variants[0] || k.Variant(devices.LangPTX) != nil {
		t.Error("Variant finds the wrong one")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"global", "local", "args", "split", "saxpy_guarded"}
	for in, want := range map[string]string{
		"loacl": "local", "Local": "local", "globl": "global", "agrs": "args", "spilt": "split", "saxpy_garded": "saxpy_guarded", "zzzzzz": "", "": "",
	} {
		if got := Nearest(in, names); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ab", "ab", 0}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestShapes(t *testing.T) {
	for want, shape := range map[string][]int64{"()": nil, "(7,)": {7}, "(4, 3)": {4, 3}, "(0, 3)": {0, 3}} {
		if got := ShapeString(shape); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if n := array("x", devices.Float64, 3, 4).Bytes(); n != 96 {
		t.Errorf("%d bytes", n)
	}
	if n := array("x", devices.Float64).Elements(); n != 1 {
		t.Errorf("a single element is %d", n)
	}
	if s := (Pos{"f", 0, 0}).String() + (Pos{"f", 2, 0}).String() + (Pos{"f", 2, 3}).String(); s != "ff:2f:2:3" {
		t.Error(s)
	}
	for _, a := range []Access{Read, Write, ReadWrite} {
		if got, ok := ParseAccess(a.String()); !ok || got != a {
			t.Errorf("%s comes back as %s", a, got)
		}
	}
}
