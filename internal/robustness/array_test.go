package robustness

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// array reads an array file. The bytes are host byte order, C order.
func array(t *testing.T, dir, name string) arrayfile.Array {
	t.Helper()
	var a arrayfile.Array
	h, err := arrayfile.Read(filepath.Join(dir, name), arrayfile.Options{}, func(h arrayfile.Header) ([]byte, error) {
		n, err := h.Bytes()
		a.Data = devices.AsBytes(make([]uint64, (n+7)/8))[:n:n]
		return a.Data, err
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Header = h
	return a
}

// values are an array's elements; integers above 2^53 lose digits.
func values(t *testing.T, a arrayfile.Array) []float64 {
	t.Helper()
	switch a.DType {
	case devices.Float16:
		var v []float64
		for _, h := range devices.View[uint16](a.Data) {
			v = append(v, kernels.FloatFromHalf(h))
		}
		return v
	case devices.Float32:
		return floats[float32](a.Data)
	case devices.Float64:
		return floats[float64](a.Data)
	case devices.Int8:
		return floats[int8](a.Data)
	case devices.Uint8, devices.Bool:
		return floats[uint8](a.Data)
	case devices.Int16:
		return floats[int16](a.Data)
	case devices.Uint16:
		return floats[uint16](a.Data)
	case devices.Int32:
		return floats[int32](a.Data)
	case devices.Uint32:
		return floats[uint32](a.Data)
	case devices.Int64:
		return floats[int64](a.Data)
	case devices.Uint64:
		return floats[uint64](a.Data)
	}
	t.Fatalf("no elements of type %s", a.DType)
	return nil
}

func floats[T devices.Number](b []byte) []float64 {
	v := make([]float64, 0, len(b))
	for _, x := range devices.View[T](b) {
		v = append(v, float64(x))
	}
	return v
}

// same compares numbers: NaN equals NaN, and the sign of zero counts.
func same(a, b float64) bool {
	return a == b && math.Signbit(a) == math.Signbit(b) || math.IsNaN(a) && math.IsNaN(b)
}

// holds checks an output against the values it has to have.
func holds(t *testing.T, dir, name string, want ...float64) {
	t.Helper()
	got := values(t, array(t, dir, name))
	if len(got) != len(want) {
		t.Errorf("%s has %d elements, want %d", name, len(got), len(want))
		return
	}
	for i := range got {
		if !same(got[i], want[i]) {
			t.Errorf("%s: element %d is %v, want %v", name, i, got[i], want[i])
			return
		}
	}
}

// sameFile checks an output against a file of the same folder.
func sameFile(t *testing.T, dir, name, want string) {
	t.Helper()
	w := array(t, dir, want)
	if g := array(t, dir, name); g.DType != w.DType || !slices.Equal(g.Shape, w.Shape) || !bytes.Equal(g.Data, w.Data) {
		i := 0
		for i < min(len(g.Data), len(w.Data)) && g.Data[i] == w.Data[i] {
			i++
		}
		t.Errorf("%s is %v, %s is %v; they differ from byte %d of the data on", name, g.Header, want, w.Header, i)
	}
}

// totals checks the sum of an output and some of its elements.
func totals(t *testing.T, dir, name string, sum float64, at map[int]float64) {
	t.Helper()
	got := values(t, array(t, dir, name))
	total := 0.0
	for _, v := range got {
		total += v
	}
	if total != sum {
		t.Errorf("%s: sum %v, want %v", name, total, sum)
	}
	for i, w := range at {
		if i >= len(got) || !same(got[i], w) {
			t.Errorf("%s: element %d of %d is not %v", name, i, len(got), w)
		}
	}
}

// sequence is n values.
func sequence(n int, f func(i int) float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = f(i)
	}
	return v
}

func repeated(v float64, n int) []float64 { return sequence(n, func(int) float64 { return v }) }

// shape checks an output's type and shape.
func shape(t *testing.T, dir, name string, d devices.DType, want ...int64) {
	t.Helper()
	if a := array(t, dir, name); a.DType != d || !slices.Equal(a.Shape, want) {
		t.Errorf("%s is %v, want %v", name, a.Header, arrayfile.Header{DType: d, Shape: want})
	}
}

// save writes an array file.
func save[T devices.Number](t *testing.T, dir, name string, dtype devices.DType, dims []int64, v ...T) {
	t.Helper()
	if err := arrayfile.Write(filepath.Join(dir, name), arrayfile.Header{DType: dtype, Shape: dims}, devices.AsBytes(v), arrayfile.Options{}); err != nil {
		t.Fatal(err)
	}
}
