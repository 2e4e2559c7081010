package freefunc

import (
	"fmt"
	"slices"
	"testing"
)

const source = `
#include <sycl/sycl.hpp>
#define KERNEL(x) nothing
#define ND1 SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
namespace syclext = sycl::ext::oneapi;
typedef unsigned int word;
using pair = sycl::vec<float, 2>;
struct thing { int id; sycl::float3 at; void f(int x) {} };

static float helper(float x) { return x; }

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<1>))
void saxpy(const float *__restrict x, float *y, float a) { y[0] = helper(a) * x[0]; }
#line 100 "other.cpp"
namespace mine { inline namespace v1 {
ND1 void all(word n, pair p, sycl::float3 f, thing t, sycl::local_accessor<float, 1> tmp, const size_t *s, uint8_t b[]) {
  if (n) { return; }
}
} }
extern "C" {
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<2>)) void image(unsigned char *px, int, long long wide) {}
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::single_task_kernel)) void once(void) {}
}
template <typename T> void skip(T x) {}
`

func TestFunctions(t *testing.T) {
	list := Functions(source)
	var got []string
	for _, f := range list {
		s := fmt.Sprintf("%s/%d%v@%s:%d", f.Name, f.Dims, f.SingleTask, f.File, f.Line)
		for _, p := range f.Params {
			s += fmt.Sprintf(" %s|%s|%d|%v|%d", p.Name, p.Type, p.Kind, p.Const, p.Size)
		}
		got = append(got, s)
	}
	want := []string{
		"helper/0false@:10 x|float|0|false|4",
		"saxpy/1false@:13 x|float|1|true|0 y|float|1|false|0 a|float|0|false|4",
		"mine::v1::all/1false@other.cpp:101 n|unsigned int|0|false|4 p|sycl::vec<float, 2>|0|false|8 f|sycl::float3|0|false|16 t|thing|0|false|0 tmp|sycl::local_accessor<float, 1>|2|false|0 s|size_t|1|true|0 b|uint8_t|1|false|0",
		"image/2false@other.cpp:106 px|unsigned char|1|false|0 |int|0|false|4 wide|long long|0|false|8",
		"once/0true@other.cpp:107",
	}
	if !slices.Equal(got, want) {
		t.Errorf("functions:\n%q\nwant\n%q", got, want)
	}
	if names := Kernels(list); !slices.Equal(names, []string{"saxpy", "mine::v1::all", "image"}) {
		t.Errorf("kernels %v", names)
	}
}

func FuzzFunctions(f *testing.F) {
	f.Add(source)
	f.Add("#define A B\n#define B A\nA { ( } ) [ } ;")
	f.Add("void f(int x[")
	f.Fuzz(func(t *testing.T, src string) {
		for _, fn := range Functions(src) {
			if fn.Name == "" || fn.Dims < 0 || fn.Dims > 3 {
				t.Errorf("function %+v", fn)
			}
		}
	})
}
