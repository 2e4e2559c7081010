package ragged

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// TestOnce lays random ranges out and counts how often each work-item is in a
// box, and that each box can be launched.
func TestOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 3000 {
		r := devices.NDRange{Dims: 1 + rng.IntN(3)}
		for d := range r.Dims {
			r.Size[d] = rng.IntN([]int{200, 30, 9}[r.Dims-1])
			r.Offset[d] = rng.IntN(5)
		}
		if rng.IntN(2) == 0 {
			for d := range r.Dims {
				r.Local[d] = 1 + rng.IntN(8)
			}
		}
		k := Rules{Uses: []Usage{None, Groups, Size}[rng.IntN(3)], MaxGroup: 512, Units: 2, HostCores: rng.IntN(2) == 0, Row: rng.IntN(2) * 256}
		var l Layout
		if err := l.Lay(r, &k); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		times := map[[3]uint64]int{}
		for _, b := range l.Boxes[:l.N] {
			for d := range 3 {
				if b.Local[d] == 0 || b.Size[d]%b.Local[d] != 0 {
					t.Fatalf("%+v: box %+v cannot be launched", r, b)
				}
			}
			for z := range b.Size[2] {
				for y := range b.Size[1] {
					for x := range b.Size[0] {
						times[[3]uint64{b.Offset[0] + x, b.Offset[1] + y, b.Offset[2] + z}]++
					}
				}
			}
		}
		if int64(len(times)) != r.Items() {
			t.Fatalf("%+v: %d work-items in the boxes, want %d", r, len(times), r.Items())
		}
		n := r.Norm()
		for id, count := range times {
			for d := range 3 {
				if int(id[d]) < n.Offset[d] || int(id[d]) >= n.Offset[d]+n.Size[d] {
					t.Fatalf("%+v: work-item %v is outside", r, id)
				}
			}
			if count != 1 {
				t.Fatalf("%+v: work-item %v is in %d boxes", r, id, count)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	line := func(n, local int) devices.NDRange {
		return devices.NDRange{Dims: 1, Size: [3]int{n}, Local: [3]int{local}}
	}
	part := line(10, 4)
	part.Offset, part.Whole = [3]int{2}, [3]int{100}
	for _, c := range []struct {
		r     devices.NDRange
		k     Rules
		words string
	}{
		{devices.NDRange{}, Rules{}, "0 dimensions"},
		{devices.NDRange{Dims: 4}, Rules{}, "4 dimensions"},
		{line(-1, 0), Rules{}, "-1"},
		{line(8, 65), Rules{MaxGroup: 64}, "65 work-items, the kernel takes at most 64"},
		{line(8, 65), Rules{MaxItems: [3]int{32}}, "local size 65, the device takes at most 32"},
		{line(1000, 0), Rules{Fixed: [3]int{64, 1, 1}}, "fixed local size [64 1 1] does not divide the global size 1000"},
		{line(64, 32), Rules{Fixed: [3]int{64, 1, 1}}, "fixed at [64 1 1]"},
		{line(100, 16), Rules{Uses: GroupID, Sealed: true}, "local size [16]"},
		{part, Rules{Uses: Groups}, "from 2 to 12 cuts through a group of local size 4"},
	} {
		var l Layout
		err := l.Lay(c.r, &c.k)
		if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v with %+v: %v, want %q", c.r, c.k, err, c.words)
		}
	}
}

func TestGeometry(t *testing.T) {
	var l Layout
	r := devices.NDRange{Dims: 1, Size: [3]int{100}, Local: [3]int{16}}
	if err := l.Lay(r, &Rules{Uses: GroupID | Groups}); err != nil || !l.Special || l.N != 2 {
		t.Fatalf("%v, special %v, %d boxes, want special and 2", err, l.Special, l.N)
	}
	want := Geometry{Uses: GroupID, Whole: [3]int{100, 1, 1}, Local: [3]int{16, 1, 1}}
	if l.Geometry != want {
		t.Errorf("geometry %+v, want %+v", l.Geometry, want)
	}
	text := string(Prelude(l.Geometry))
	for _, w := range []string{"#define get_group_id(d) tandem_group_id(d)", "#define get_num_groups(d)", "(size_t)7UL"} {
		if !strings.Contains(text, w) {
			t.Errorf("the prelude lacks %q:\n%s", w, text)
		}
	}
	if err := l.Lay(r, &Rules{Uses: Groups}); err != nil || l.Special {
		t.Errorf("a kernel that sees local ids only: %v, special %v, want not", err, l.Special)
	}
}

const twoKernels = `
#include <sycl/sycl.hpp>
namespace k {
struct helper { static size_t n(sycl::nd_item<1> it) { return it.get_global_range(0); } };
inline int plain(int i) { return i + 1; }
}
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void simple(int *x) { size_t i = syclext::this_work_item::get_nd_item<1>().get_global_id(0); x[i] = k::plain(i); }
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void sized(int *x) { auto it = syclext::this_work_item::get_nd_item<1>(); x[it.get_global_id(0)] = k::helper::n(it); }
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void grouped(int *x) { auto it = syclext::this_work_item::get_nd_item<1>(); x[it.get_global_id(0)] = it.get_local_id(0); sycl::group_barrier(it.get_group()); }
`

func TestScanSYCL(t *testing.T) {
	s := SYCL(twoKernels)
	for entry, want := range map[string]Usage{
		"simple": None, "sized": Size, "grouped": Groups | GroupID, "absent": Size | Groups | GroupID,
	} {
		if got := s.Of(entry); got != want {
			t.Errorf("%s uses %b, want %b", entry, got, want)
		}
	}
}

func TestScanOpenCL(t *testing.T) {
	s := OpenCL(`
#define N get_global_size(0)
int f(int i) { return i + N; }
__kernel void a(__global int *x) { x[get_global_id(0)] = 1; }
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void b(__global int *x) { x[get_global_id(0)] = f(1); }
__kernel void c(__local int *x) { x[get_local_id(0)] = get_group_id(0); }
`)
	for entry, want := range map[string]Usage{"a": None, "b": Size, "c": Groups | GroupID} {
		if got := s.Of(entry); got != want {
			t.Errorf("%s uses %b, want %b", entry, got, want)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add(twoKernels, "simple")
	f.Add("}}{{((;", "x")
	f.Fuzz(func(t *testing.T, src, entry string) {
		a, b := OpenCL(src), SYCL(src)
		if got := a.Of(entry); got&^All != 0 || got&^a.all != 0 {
			t.Errorf("OpenCL: %b of %b", got, a.all)
		}
		if got := b.Of(entry); got&^b.all != 0 {
			t.Errorf("SYCL: %b of %b", got, b.all)
		}
	})
}
