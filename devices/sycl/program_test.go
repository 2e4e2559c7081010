package sycl

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// open opens the first device and closes it at the end of the test.
func open(t testing.TB) *device {
	t.Helper()
	d, err := need(t).Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d.(*device)
}

func compile(t testing.TB, d *device, src *devices.Source) *program {
	t.Helper()
	p, err := d.Compile(t.Context(), src)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p.(*program)
}

func kernelOf(t testing.TB, p *program, entry string) *kernel {
	t.Helper()
	k, err := p.Kernel(entry)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k.(*kernel)
}

func newQueue(t testing.TB, d *device) *queue {
	t.Helper()
	q, err := d.NewQueue(devices.Compute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q.(*queue)
}

// filled is a buffer that holds v.
func filled[T devices.Number](t testing.TB, q *queue, v []T) devices.Buffer {
	t.Helper()
	b, err := q.d.Alloc(int64(len(devices.AsBytes(v))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Free() })
	finish(t, q, &devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: devices.AsBytes(v), Size: b.Size()})
	return b
}

// contents are the numbers in a buffer.
func contents[T devices.Number](t testing.TB, q *queue, b devices.Buffer) []T {
	t.Helper()
	raw := make([]byte, b.Size())
	finish(t, q, &devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: raw, Size: b.Size()})
	return devices.View[T](raw)
}

func finish(t testing.TB, q *queue, c *devices.Copy) {
	t.Helper()
	e, err := q.Copy(c, nil)
	wait(t, e, err)
}

func wait(t testing.TB, e devices.Event, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	if err := devices.Wait(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

// launch runs a kernel over a range and waits for it.
func launch(t testing.TB, q *queue, k *kernel, r devices.NDRange, args ...devices.Arg) {
	t.Helper()
	e, err := q.Launch(&devices.Launch{Kernel: k, Range: r, Args: args}, nil)
	wait(t, e, err)
}

func line(n, local int) devices.NDRange {
	return devices.NDRange{Dims: 1, Size: [3]int{n}, Local: [3]int{local}}
}

func num[T devices.Number](v T) devices.Arg { return devices.Arg{Value: devices.AsBytes([]T{v})} }

const syclText = `
#include <sycl/sycl.hpp>
namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;
#define KERNEL(n) extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<n>))
struct pair { int a; double b; };

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void saxpy(const float *x, float *y, float a) {
  size_t i = syclext::this_work_item::get_nd_item<1>().get_global_id(0);
  y[i] += a * x[i];
}

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<2>))
void where(int *out, int w) {
  auto it = syclext::this_work_item::get_nd_item<2>();
  size_t x = it.get_global_id(1), y = it.get_global_id(0);
  out[y * w + x] += 100 * y + x;
}

namespace mine {
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void mixed(double *out, pair p, sycl::float3 f, uint8_t c, const int *none) {
  out[0] = p.a; out[1] = p.b; out[2] = f.z(); out[3] = c; out[4] = none == nullptr;
}
}

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void scratch(int *out, sycl::local_accessor<int, 1> tmp) {
  auto it = syclext::this_work_item::get_nd_item<1>();
  tmp[it.get_local_id(0)] = it.get_global_id(0);
  sycl::group_barrier(it.get_group());
  out[it.get_global_id(0)] = tmp[it.get_local_range(0) - 1 - it.get_local_id(0)];
}

extern "C" void plain(int *x) { x[0] = 1; }
`

func syclSource(text string) *devices.Source {
	return &devices.Source{Name: "k.cpp", Language: devices.LangSYCL, Text: []byte(text)}
}

func TestSYCL(t *testing.T) {
	d := open(t)
	if !slices.Contains(d.info.Languages, devices.LangSYCL) {
		t.Skipf("%s does not compile SYCL C++", d.info.ID)
	}
	p := compile(t, d, syclSource(syclText))
	q := newQueue(t, d)
	t.Run("saxpy", func(t *testing.T) {
		k := kernelOf(t, p, "saxpy")
		// 1000 with a local size of 64 is ragged: the runtime would refuse it.
		x, y := make([]float32, 1000), make([]float32, 1001)
		for i := range x {
			x[i], y[i] = float32(i), 1
		}
		y[1000] = -7
		bx, by := filled(t, q, x), filled(t, q, y)
		launch(t, q, k, line(1000, 64), devices.Arg{Buffer: bx}, devices.Arg{Buffer: by}, num(float32(0.5)))
		for i, got := range contents[float32](t, q, by) {
			want := 1 + 0.5*float32(i)
			if i == 1000 {
				want = -7
			}
			if got != want {
				t.Fatalf("y[%d] = %v, want %v", i, got, want)
			}
		}
	})
	t.Run("two dimensions and an offset", func(t *testing.T) {
		k := kernelOf(t, p, "where")
		const w, h = 11, 6
		out := filled(t, q, make([]int32, w*h))
		launch(t, q, k, devices.NDRange{Dims: 2, Size: [3]int{w - 1, h - 2}, Offset: [3]int{1, 2}, Local: [3]int{4, 4}}, devices.Arg{Buffer: out}, num(int32(w)))
		for i, got := range contents[int32](t, q, out) {
			x, y := i%w, i/w
			want := int32(100*y + x)
			if x < 1 || y < 2 {
				want = 0
			}
			if got != want {
				t.Fatalf("(%d, %d) holds %d, want %d", x, y, got, want)
			}
		}
	})
	t.Run("arguments", func(t *testing.T) {
		k := kernelOf(t, p, "mine::mixed")
		out := filled(t, q, make([]float64, 5))
		pair := make([]byte, 16)
		copy(pair, devices.AsBytes([]int32{-3}))
		copy(pair[8:], devices.AsBytes([]float64{2.5}))
		launch(t, q, k, line(1, 1), devices.Arg{Buffer: out}, devices.Arg{Value: pair},
			devices.Arg{Value: devices.AsBytes([]float32{1, 2, 3, 0})}, num(uint8(200)), devices.Arg{})
		if got, want := contents[float64](t, q, out), []float64{-3, 2.5, 3, 200, 1}; !slices.Equal(got, want) {
			t.Errorf("the kernel saw %v, want %v", got, want)
		}
	})
	t.Run("local memory", func(t *testing.T) {
		k := kernelOf(t, p, "scratch")
		out := filled(t, q, make([]int32, 64))
		launch(t, q, k, line(64, 16), devices.Arg{Buffer: out}, devices.Arg{LocalBytes: 64})
		for i, got := range contents[int32](t, q, out) {
			if want := int32(i/16*16 + 15 - i%16); got != want {
				t.Fatalf("out[%d] = %d, want %d", i, got, want)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		b := devices.Arg{Buffer: filled(t, q, make([]float32, 100))}
		for _, c := range []struct {
			entry string
			r     devices.NDRange
			args  []devices.Arg
			words []string
		}{
			{"saxpy", line(10, 0), []devices.Arg{b, b}, []string{"takes 3 arguments, 2 were given"}},
			{"saxpy", line(10, 0), []devices.Arg{b, b, num(float64(1))}, []string{"argument 2 (float a)", "takes 4 bytes, 8 were given"}},
			{"saxpy", line(10, 0), []devices.Arg{b, num(int32(1)), num(float32(1))}, []string{"argument 1 (float y)", "takes a buffer"}},
			{"where", line(10, 0), []devices.Arg{b, num(int32(1))}, []string{"2 dimension(s)", "has 1"}},
			{"saxpy", line(10, d.info.MaxWorkGroup+1), []devices.Arg{b, b, num(float32(1))}, []string{"local size"}},
			{"scratch", line(100, 16), []devices.Arg{b, {LocalBytes: 64}}, []string{"local size [16]", "[100]"}},
			{"scratch", line(64, 16), []devices.Arg{b, b}, []string{"argument 1 (sycl::local_accessor<int, 1> tmp)", "amount of local memory"}},
		} {
			e, err := q.Launch(&devices.Launch{Kernel: kernelOf(t, p, c.entry), Range: c.r, Args: c.args}, nil)
			if err == nil {
				e.Release()
				t.Errorf("%s over %+v was taken", c.entry, c.r)
				continue
			}
			for _, w := range c.words {
				if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), w) {
					t.Errorf("%s: %q, want %q", c.entry, err, w)
				}
			}
		}
		for entry, words := range map[string][]string{
			"absent": {"only saxpy, where, mine::mixed, scratch"}, "plain": {"line 36", "nd_range_kernel"},
		} {
			_, err := p.Kernel(entry)
			for _, w := range words {
				if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), w) {
					t.Errorf("Kernel(%s): %v, want %q", entry, err, w)
				}
			}
		}
	})
}

func TestSYCLCompileError(t *testing.T) {
	d := open(t)
	_, err := d.Compile(t.Context(), syclSource("#include <sycl/sycl.hpp>\n\nint x = undefined_thing;\n"))
	ce, ok := errors.AsType[*devices.CompileError](err)
	if !ok || !strings.Contains(ce.Error(), "k.cpp:3:") || !strings.Contains(ce.Log, "undefined_thing") {
		t.Errorf("got %+v, want a compile error in k.cpp:3", err)
	}
}

func TestSYCLCached(t *testing.T) {
	d := open(t)
	text, rest, _ := strings.Cut(syclText, "namespace mine {")
	var ok bool
	if _, rest, ok = strings.Cut(rest, "\n}\n}\n"); !ok {
		t.Fatal("the text is another")
	}
	text += rest
	first := compile(t, d, syclSource(text))
	if k := kernelOf(t, first, "saxpy"); k.info.BuildFromCache || k.info.BuildTime <= 0 {
		t.Errorf("the first build: from the cache %v, %v", k.info.BuildFromCache, k.info.BuildTime)
	}
	again := compile(t, d, syclSource(text))
	k := kernelOf(t, again, "saxpy")
	if !k.info.BuildFromCache || k.info.BuildTime != 0 {
		t.Errorf("the second build: from the cache %v, %v", k.info.BuildFromCache, k.info.BuildTime)
	}
	q := newQueue(t, d)
	y := filled(t, q, []float32{1, 2, 3})
	launch(t, q, k, line(3, 0), devices.Arg{Buffer: y}, devices.Arg{Buffer: y}, num(float32(2)))
	if got := contents[float32](t, q, y); !slices.Equal(got, []float32{3, 6, 9}) {
		t.Errorf("the cached build computed %v", got)
	}
	if k := kernelOf(t, again, "scratch"); k.info.Args != 2 {
		t.Errorf("scratch has %d arguments, want 2", k.info.Args)
	}
}
