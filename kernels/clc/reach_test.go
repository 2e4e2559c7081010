package clc

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// An array that a launch is certain to leave is refused; one that it may leave,
// for all that is known, is not.
func TestReach(t *testing.T) {
	const n = 64
	for _, test := range []struct {
		name, body string
		size       []int
		want       string // of the fault; empty: none
	}{
		{"fits", "y[get_global_id(0)] = 1;", []int{64}, ""},
		{"one too many", "y[get_global_id(0)] = 1;", []int{65}, "kernel f: y: is too short: global size [65] touches element 64, and buffer b has 64 (k.cl:1:45); make the global size smaller or the buffer larger, or guard the access with a condition"},
		{"read", "int i = get_global_id(0); if (i < n) y[i] = y[i + 1];", []int{64}, ""},
		{"neighbour", "int i = get_global_id(0); float v = y[i - 1]; if (i < n) y[i] = v;", []int{64}, "kernel f: y: is left at its beginning: global size [64] touches element -1 of buffer b (k.cl:1:81); guard the access with a condition"},
		{"guarded", "int i = get_global_id(0); if (i < n) y[i] = 1;", []int{1000}, ""},
		{"left early", "int i = get_global_id(0); if (i >= n) return; y[i] = 1;", []int{1000}, ""},
		{"chosen", "int i = get_global_id(0); float v = i < n ? y[i] : 0; if (v > 0) y[0] = v;", []int{1000}, ""},
		{"and", "int i = get_global_id(0); if (i < n && y[i] > 0) y[i] = 1;", []int{1000}, ""},
		{"wrapped", "y[get_global_id(0) % 64] = 1;", []int{1000}, ""},
		{"data", "y[(int)y[0] + get_global_id(0)] = 1;", []int{64}, ""},
		{"rows", "y[get_global_id(1) * n + get_global_id(0)] = 1;", []int{64, 1}, ""},
		{"rows beyond", "y[get_global_id(1) * n + get_global_id(0)] = 1;", []int{64, 3}, "kernel f: y: is too short: global size [64 3] touches element 191, and buffer b has 64 (k.cl:1:45); make the global size smaller or the buffer larger, or guard the access with a condition"},
		{"loop", "for (int i = 0; i < 100; i++) y[i] = 1;", []int{1}, ""},
		{"no work-item", "y[get_global_id(0) + 1000] = 1;", []int{0}, ""},
		{"vector", "vstore4((float4)(0), get_global_id(0), y);", []int{16}, ""},
		{"vector beyond", "vstore4((float4)(0), get_global_id(0), y);", []int{17}, "kernel f: y: is too short: global size [17] touches element 67, and buffer b has 64 (k.cl:1:45); make the global size smaller or the buffer larger, or guard the access with a condition"},
		{"ahead", "prefetch(y + get_global_id(0) + 64, 1); y[get_global_id(0)] = 1;", []int{64}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			src := fmt.Sprintf("__kernel void f(__global float *y, int n) { %s }", test.body)
			list, err := Parse("k.cl", []byte(src), Options{})
			if err != nil {
				t.Fatal(err)
			}
			rng := devices.NDRange{Dims: len(test.size)}
			copy(rng.Size[:], test.size)
			_, err = kernels.Bind(list[0], rng, []kernels.Given{
				{Array: &kernels.Array{Name: "b", DType: devices.Float32, Shape: []int64{n}}}, {Value: n}})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			var ae *kernels.ArgError
			if err != nil && !errors.As(err, &ae) {
				t.Errorf("%T is no *kernels.ArgError", err)
			}
		})
	}
}

func BenchmarkBind(b *testing.B) {
	list, err := Parse("k.cl", []byte("__kernel void f(__global float *y, int n) { y[get_global_id(1) * n + get_global_id(0)] = 1; }"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	arr := &kernels.Array{Name: "b", DType: devices.Float32, Shape: []int64{64, 64}}
	rng := devices.NDRange{Dims: 2, Size: [3]int{64, 64, 1}}
	for _, mode := range []string{"alike", "new"} {
		b.Run("calls="+mode, func(b *testing.B) {
			for i := range b.N {
				n := 64
				if mode == "new" {
					n = i % 64
				}
				if _, err := kernels.Bind(list[0], rng, []kernels.Given{{Array: arr}, {Value: n}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
