package blas

import (
	"errors"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/blas"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/kernels"
)

func library(t *testing.T) *blas.Library {
	t.Helper()
	l, err := blas.Open()
	if err != nil {
		devicetest.Require(t, "blas", err)
	}
	return l
}

// run binds a call and runs its Go function on the arrays' memory.
func run[T blas.Real](t *testing.T, k *kernels.Kernel, given ...any) *kernels.Call {
	t.Helper()
	var all []kernels.Given
	var memory [][]byte
	for _, v := range given {
		switch v := v.(type) {
		case *square[T]:
			all = append(all, kernels.Given{Array: v.array()})
			memory = append(memory, devices.AsBytes(v.v))
		default:
			all = append(all, kernels.Given{Value: v})
		}
	}
	c, err := kernels.Bind(k, devices.NDRange{}, all)
	if err != nil {
		t.Fatal(err)
	}
	args := make([]devices.HostArg, len(c.Args))
	for i, a := range c.Args {
		args[i].Bytes = a.Value
		if a.Array != nil {
			args[i].Bytes, memory = memory[0], memory[1:]
		}
	}
	made := devices.MakeArgs(args)
	v := k.Variants[0]
	v.Source.Go[v.Entry](devices.Range{Hi: [3]int{1, 1, 1}, Global: [3]int{1, 1, 1}}, &made)
	return c
}

// square is a matrix; not always one of as many rows as columns.
type square[T blas.Real] struct {
	v             []T
	rows, columns int64
}

func (s *square[T]) array() *kernels.Array {
	d := devices.Float32
	if _, wide := any(T(0)).(float64); wide {
		d = devices.Float64
	}
	return &kernels.Array{Name: "x", DType: d, Shape: []int64{s.rows, s.columns}}
}

func testKernels[T blas.Real](t *testing.T, suffix string) {
	k := New[T](library(t))
	if k.Gemm.Name != "blas.gemm"+suffix {
		t.Errorf("the kernel is %s", k.Gemm.Name)
	}
	a, b := &square[T]{[]T{1, 2, 3, 4, 5, 6}, 2, 3}, &square[T]{[]T{1, 0, 0, 1, 1, 1}, 3, 2}
	c := &square[T]{[]T{100, 100, 100, 100}, 2, 2}
	if call := run[T](t, k.Gemm, a, b, c); call.Args[2].Mode != kernels.Write || call.Work().Flops != 24 {
		t.Errorf("beta 0 gives mode %v and %v operations, want w and 24", call.Args[2].Mode, call.Work().Flops)
	}
	same(t, "gemm", c.v, 4, 5, 10, 11)
	bT := &square[T]{[]T{1, 0, 1, 0, 1, 1}, 2, 3}
	if call := run[T](t, k.Gemm, a, bT, c, 2.0, -1.0, 1); call.Args[2].Mode != kernels.ReadWrite {
		t.Errorf("beta -1 gives mode %v, want rw", call.Args[2].Mode)
	}
	same(t, "gemm with bT", c.v, 2*4-4, 2*5-5, 2*10-10, 2*11-11)

	d := &square[T]{[]T{4, 9, 6, 25}, 2, 2} // {{2, 0}, {3, 4}} times its transpose; 9 is not looked at
	run[T](t, k.Potrf, d)
	same(t, "potrf", d.v, 2, 9, 3, 4)
	x := &square[T]{[]T{2, 11}, 1, 2} // (1, 2) times dᵀ
	run[T](t, k.Trsm, d, x)
	same(t, "trsm", x.v, 1, 2)
	e := &square[T]{[]T{10, 10, 10, 10}, 2, 2}
	run[T](t, k.Syrk, &square[T]{[]T{1, 2}, 2, 1}, e, -1.0)
	same(t, "syrk", e.v, 9, 10, 8, 6)

	defer func() {
		var bad *blas.NotDefiniteError
		if err, _ := recover().(error); !errors.As(err, &bad) || bad.Row != 1 {
			t.Errorf("a matrix that is not definite gave %v", err)
		}
	}()
	run[T](t, k.Potrf, &square[T]{[]T{1, 0, 2, 1}, 2, 2})
}

func same[T blas.Real](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	for i := range want {
		if d := got[i] - want[i]; d > 1e-5 || d < -1e-5 || d != d {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
}

func TestFloat32(t *testing.T) { testKernels[float32](t, "") }
func TestFloat64(t *testing.T) { testKernels[float64](t, ".f64") }

// TestShapes: matrices that do not fit each other are refused with theirs.
func TestShapes(t *testing.T) {
	k := New[float32](library(t))
	m := func(rows, columns int64) kernels.Given {
		return kernels.Given{Array: &kernels.Array{Name: "x", DType: devices.Float32, Shape: []int64{rows, columns}}}
	}
	for _, c := range []struct {
		k     *kernels.Kernel
		given []kernels.Given
		says  string
	}{
		{k.Gemm, []kernels.Given{m(2, 3), m(2, 3), m(2, 3)}, "(m, k), (k, n) and (m, n)"},
		{k.Gemm, []kernels.Given{m(2, 3), m(3, 2), m(2, 2), {Value: 1.0}, {Value: 0.0}, {Value: 2}}, "transposed is 2"},
		{k.Syrk, []kernels.Given{m(2, 3), m(3, 3)}, "(n, k) and (n, n)"},
		{k.Trsm, []kernels.Given{m(2, 2), m(2, 3)}, "(n, n) and (m, n)"},
		{k.Potrf, []kernels.Given{m(2, 3)}, "a square matrix"},
		{k.Potrf, []kernels.Given{{Array: &kernels.Array{Name: "x", DType: devices.Float32, Shape: []int64{4}}}}, "want a matrix"},
	} {
		if _, err := kernels.Bind(c.k, devices.NDRange{}, c.given); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: err = %v, want one with %q", c.k.Name, err, c.says)
		}
	}
}
