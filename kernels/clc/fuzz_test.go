package clc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// FuzzParse holds that no text makes the reader panic, and that what it reads
// can be bound, and asked for its bands.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.cl")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"#define A(x, ...) x ## __VA_ARGS__ #x\nA(1, 2)",
		"#if defined(X) && (1 ? 2 : 3) << 4\n#elif 1\n#else\n#endif",
		"kernel void f(global struct s { int a[3]; union { float b; } c; } *x) { x->a[1]++; }",
		"typedef int (*f)(int); enum { A = 1, B = A << 2 }; kernel void g(int4 v[2]) { v[0].xy = 1; }",
		"kernel void f(global int *x) { for (int i = 0; i < 3; i++) { switch (i) { case 0: x[i] = 1; break; } } do ; while (0); }",
		"#pragma OPENCL EXTENSION cl_khr_x : enable\n_Pragma(\"once\") __attribute__((reqd_work_group_size(1,2,3))) kernel void f() {}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Contains(string(text), "include") {
			t.Skip("reads the machine's files")
		}
		list, err := Parse("fuzz.cl", text, Options{})
		if len(list) == 0 && err == nil {
			t.Fatal("neither kernels nor an error")
		}
		for _, k := range list {
			var args []kernels.Given
			for _, p := range k.Params {
				switch p.Kind {
				case kernels.Local:
					args = append(args, kernels.Given{LocalBytes: int64(p.Type.Size)})
				case kernels.Value:
					args = append(args, kernels.Given{Bytes: make([]byte, p.Type.Size)})
				default:
					d := p.Type.Elem
					if d == devices.NoType {
						d = devices.Uint8
					}
					args = append(args, kernels.Given{Array: &kernels.Array{DType: d, Shape: []int64{int64(p.Type.Size) * 12}}})
				}
			}
			rng := devices.NDRange{Dims: 2, Size: [3]int{4, 3}}
			_, _ = kernels.Bind(k, rng, args)
			for i := range k.Params {
				k.Params[i].Reach = nil // bands are asked also of launches that leave an array
			}
			if c, err := kernels.Bind(k, rng, args); err == nil {
				_, _, _ = c.Splittable()
			}
			_ = k.Signature()
		}
	})
}
