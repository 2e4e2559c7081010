package library

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// A buf is an array with its contents.
type buf struct {
	kernels.Array
	data []byte
}

// newBuf makes an array of 8-byte aligned memory that holds rubbish.
func newBuf(d devices.DType, shape ...int64) *buf {
	b := &buf{Array: kernels.Array{Name: "b", DType: d, Shape: shape}}
	b.data = aligned(int(b.Bytes()))
	for i := range b.data {
		b.data[i] = 0xa5
	}
	return b
}

func aligned(n int) []byte {
	return devices.AsBytes(make([]uint64, n/8+1))[:n:n]
}

func bufOf[T devices.Number](v []T, shape ...int64) *buf {
	if len(shape) == 0 {
		shape = []int64{int64(len(v))}
	}
	b := newBuf(devices.DTypeOf[T](), shape...)
	copy(b.data, devices.AsBytes(v))
	return b
}

func view[T devices.Number](b *buf) []T {
	if devices.DTypeOf[T]() != b.DType {
		panic(fmt.Sprintf("view of %v", b.DType))
	}
	return devices.View[T](b.data)
}

func (b *buf) clone() *buf {
	c := *b
	c.data = aligned(len(b.data))
	copy(c.data, b.data)
	return &c
}

func cloneArgs(args []any) []any {
	c := slices.Clone(args)
	for i, a := range c {
		if b, ok := a.(*buf); ok {
			c[i] = b.clone()
		}
	}
	return c
}

// bind makes a call of arguments by position: *buf or a number.
func bind(k *kernels.Kernel, args ...any) (*kernels.Call, error) {
	var given []kernels.Given
	for _, a := range args {
		if b, ok := a.(*buf); ok {
			given = append(given, kernels.Given{Array: &b.Array})
		} else {
			given = append(given, kernels.Given{Value: a})
		}
	}
	return kernels.Bind(k, devices.NDRange{}, given)
}

// An executor runs one launch; mem holds the memory of each array argument.
type executor func(t testing.TB, c *kernels.Call, mem [][]byte)

// A launch is a bound call with the memory of its arrays.
type launch struct {
	c   *kernels.Call
	mem [][]byte
}

// run binds and runs a kernel, the steps of a composed one in turn.
func run(t testing.TB, exec executor, k *kernels.Kernel, args ...any) {
	t.Helper()
	for _, l := range launches(t, k, args...) {
		exec(t, l.c, l.mem)
	}
}

// launches binds a kernel and resolves a composed one into its steps.
func launches(t testing.TB, k *kernels.Kernel, args ...any) []launch {
	t.Helper()
	c, err := bind(k, args...)
	if err != nil {
		t.Fatalf("bind: %v", err)
	}
	// Arguments by position of the parameter; implied ones are not given.
	byParam := make([]any, len(k.Params))
	mem := make([][]byte, len(k.Params))
	next := 0
	for i, p := range k.Params {
		if p.Implied || next == len(args) {
			continue
		}
		byParam[i] = args[next]
		if b, ok := args[next].(*buf); ok {
			mem[i] = b.data
		}
		next++
	}
	if k.Compose == nil {
		return []launch{{c, mem}}
	}
	steps, err := k.Compose(c)
	if err != nil {
		t.Fatalf("%s: compose: %v", k.Name, err)
	}
	var all []launch
	temps := map[*kernels.Array]*buf{}
	for _, s := range steps {
		var inner []any
		for _, a := range s.Args {
			switch {
			case a.Outer >= 0:
				inner = append(inner, byParam[a.Outer])
			case a.Temp != nil:
				if temps[a.Temp] == nil {
					temps[a.Temp] = newBuf(a.Temp.DType, a.Temp.Shape...)
				}
				inner = append(inner, temps[a.Temp])
			default:
				inner = append(inner, a.Value)
			}
		}
		all = append(all, launches(t, s.Kernel, inner...)...)
	}
	return all
}

// hostArgs are the arguments of a Go variant.
func hostArgs(c *kernels.Call, mem [][]byte) devices.Args {
	v := make([]devices.HostArg, len(c.Args))
	for i, a := range c.Args {
		v[i].Bytes = mem[i]
		if a.Array == nil {
			v[i].Bytes = a.Value
		}
	}
	return devices.MakeArgs(v)
}

func goFunc(k *kernels.Kernel) devices.GoFunc {
	v := k.Variant(devices.LangGo)
	return v.Source.Go[v.Entry]
}

func wholeRange(r devices.NDRange) devices.Range {
	n := r.Norm()
	return devices.Range{Hi: n.Size, Global: n.Size}
}

// wholeGo runs the Go variant in one piece.
func wholeGo(_ testing.TB, c *kernels.Call, mem [][]byte) {
	args := hostArgs(c, mem)
	goFunc(c.Kernel)(wholeRange(c.Range), &args)
}

// splitGo runs the Go variant in random boxes, in random order.
func splitGo(rng *rand.Rand) executor {
	return func(_ testing.TB, c *kernels.Call, mem [][]byte) {
		args := hostArgs(c, mem)
		boxes := []devices.Range{wholeRange(c.Range)}
		for range 12 {
			i, d := rng.IntN(len(boxes)), rng.IntN(2)
			b := boxes[i]
			if b.Hi[d]-b.Lo[d] < 2 {
				continue
			}
			cut := b.Lo[d] + 1 + rng.IntN(b.Hi[d]-b.Lo[d]-1)
			lower, upper := b, b
			lower.Hi[d], upper.Lo[d] = cut, cut
			boxes[i] = lower
			boxes = append(boxes, upper)
		}
		rng.Shuffle(len(boxes), func(i, j int) { boxes[i], boxes[j] = boxes[j], boxes[i] })
		for _, b := range boxes {
			goFunc(c.Kernel)(b, &args)
		}
	}
}

// seeded is a random source whose seed is printed when the test fails;
// TANDEM_SEED sets it.
func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("TANDEM_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("TANDEM_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 1))
}

// sameBits compares two arrays bit for bit, NaN being equal to any NaN.
func sameBits(t testing.TB, what string, got, want *buf) {
	t.Helper()
	if bytes.Equal(got.data, want.data) {
		return
	}
	switch got.DType {
	case devices.Float32:
		firstDifference(t, what, view[float32](got), view[float32](want))
	case devices.Float64:
		firstDifference(t, what, view[float64](got), view[float64](want))
	case devices.Int32:
		firstDifference(t, what, view[int32](got), view[int32](want))
	case devices.Int64:
		firstDifference(t, what, view[int64](got), view[int64](want))
	case devices.Uint16:
		firstDifference(t, what, view[uint16](got), view[uint16](want))
	case devices.Uint32:
		firstDifference(t, what, view[uint32](got), view[uint32](want))
	default:
		firstDifference(t, what, got.data, want.data)
	}
}

func firstDifference[T devices.Number](t testing.TB, what string, got, want []T) {
	t.Helper()
	size := int(unsafe.Sizeof(got[0]))
	different, first := 0, -1
	for i := range got {
		if got[i] != got[i] && want[i] != want[i] {
			continue
		}
		if !bytes.Equal(devices.AsBytes(got)[i*size:(i+1)*size], devices.AsBytes(want)[i*size:(i+1)*size]) {
			if different++; first < 0 {
				first = i
			}
		}
	}
	if different > 0 {
		t.Errorf("%s: %d of %d differ; [%d] is %v, want %v", what, different, len(got), first, got[first], want[first])
	}
}
