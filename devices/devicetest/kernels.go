package devicetest

import (
	_ "embed"
	"fmt"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices"
)

//go:embed kernels.cl
var openCLText []byte

// OpenCLKernels are the kernels of the kit in OpenCL C 1.2. It has no kernel
// "fail": OpenCL C has no way to fail.
func OpenCLKernels() *devices.Source {
	return &devices.Source{Name: "devicetest.cl", Language: devices.LangOpenCL, Text: openCLText}
}

// GoKernels are the kernels of the kit as Go functions. It has no kernel
// "groups": a Go function sees no work-groups.
func GoKernels() *devices.Source {
	return &devices.Source{Name: "devicetest", Language: devices.LangGo, Go: map[string]devices.GoFunc{
		"fill": goFill, "copy": goCopy, "mad_u32": goMad[uint32], "mad_f32": goMad[float32], "count": goCount,
		"ids": goIDs, "scalars": goScalars, "scalar_f64": goScalarF64, "scalar_f16": goScalarF16,
		"vectors": goVectors, "structs": goStructs, "nulls": goNulls, "scratch": goScratch, "spin": goSpin,
		"fail": func(devices.Range, *devices.Args) { panic(FailMessage) },
	}}
}

// FailMessage is what the kernel "fail" panics with.
const FailMessage = "the kernel fails on purpose"

func goFill(r devices.Range, a *devices.Args) {
	dst, v := a.Bytes(0), devices.Value[uint8](a, 1)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		dst[i] = v
	}
}

func goCopy(r devices.Range, a *devices.Args) {
	copy(a.Bytes(1)[r.Lo[0]:r.Hi[0]], a.Bytes(0)[r.Lo[0]:r.Hi[0]])
}

func goMad[T uint32 | float32](r devices.Range, a *devices.Args) {
	x, f, s := devices.Slice[T](a, 0), devices.Value[T](a, 1), devices.Value[T](a, 2)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		x[i] = x[i]*f + s
	}
}

// each calls f for every work-item with its place in a w x h x ... box.
func each(r devices.Range, w, h uint32, f func(i int, id [3]int)) {
	for z := r.Lo[2]; z < r.Hi[2]; z++ {
		for y := r.Lo[1]; y < r.Hi[1]; y++ {
			for x := r.Lo[0]; x < r.Hi[0]; x++ {
				f(x+int(w)*(y+int(h)*z), [3]int{x, y, z})
			}
		}
	}
}

func goCount(r devices.Range, a *devices.Args) {
	cells, n := devices.Slice[uint32](a, 0), int(devices.Value[uint32](a, 3))
	each(r, devices.Value[uint32](a, 1), devices.Value[uint32](a, 2), func(i int, _ [3]int) {
		atomic.AddUint32(&cells[min(i, n)], 1)
	})
}

func goIDs(r devices.Range, a *devices.Args) {
	out := devices.Slice[int32](a, 0)
	each(r, devices.Value[uint32](a, 1), devices.Value[uint32](a, 2), func(i int, id [3]int) {
		for d := range 3 {
			out[6*i+d] = int32(id[d])
			out[6*i+3+d] = int32(r.Global[d])
		}
	})
}

func goScalars(_ devices.Range, a *devices.Args) {
	out := devices.Slice[int64](a, 0)
	out[0] = int64(devices.Value[int8](a, 1))
	out[1] = int64(devices.Value[uint8](a, 2))
	out[2] = int64(devices.Value[int16](a, 3))
	out[3] = int64(devices.Value[uint16](a, 4))
	out[4] = int64(devices.Value[int32](a, 5))
	out[5] = int64(devices.Value[uint32](a, 6))
	out[6] = devices.Value[int64](a, 7)
	out[7] = int64(devices.Value[uint64](a, 8))
	out[8] = int64(devices.Value[uint32](a, 9)) // the bits of a float32
}

func goScalarF64(_ devices.Range, a *devices.Args) {
	devices.Slice[float64](a, 0)[0] = devices.Value[float64](a, 1)
}

func goScalarF16(_ devices.Range, a *devices.Args) {
	devices.Slice[uint16](a, 0)[0] = devices.Value[uint16](a, 1)
}

func goVectors(_ devices.Range, a *devices.Args) {
	out := devices.Slice[float32](a, 0)
	copy(out[0:4], devices.Slice[float32](a, 1))
	for i, v := range devices.Slice[int32](a, 2) {
		out[4+i] = float32(v)
	}
	for i, v := range a.Bytes(3) {
		out[6+i] = float32(v)
	}
	copy(out[22:25], devices.Slice[float32](a, 4))
}

func goStructs(_ devices.Range, a *devices.Args) {
	out, s := devices.Slice[float32](a, 0), a.Bytes(1)
	out[0] = float32(devices.View[int32](s[0:4])[0])
	copy(out[1:4], devices.View[float32](s[16:28]))
	out[4] = float32(int8(s[32]))
}

func goNulls(_ devices.Range, a *devices.Args) {
	var v uint32
	if len(a.Bytes(0)) == 0 {
		v++
	}
	if len(a.Bytes(1)) == 0 {
		v += 2
	}
	devices.Slice[uint32](a, 2)[0] = v
}

func goScratch(r devices.Range, a *devices.Args) {
	out, tmp := devices.Slice[uint32](a, 0), devices.Slice[uint32](a, 1)
	if len(tmp) == 0 {
		panic(fmt.Sprintf("local memory of %d bytes, want at least 4", len(a.Bytes(1))))
	}
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		cell := &tmp[i%len(tmp)]
		*cell = uint32(i)
		out[i] = *cell + 1
	}
}

func goSpin(r devices.Range, a *devices.Args) {
	out, n := devices.Slice[uint32](a, 0), devices.Value[uint32](a, 1)
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		x := uint32(i) + 1
		for range n {
			x = x*1664525 + 1013904223
		}
		out[i] = x
	}
}
