package ragged

import (
	"encoding/binary"
	"testing"
)

func TestScanDefinitions(t *testing.T) {
	const src = `
// get_group_id in a comment
/* barrier() too */
#define WIDTH 16 \
  + 1
#define GID get_group_id(0)
static size_t helper(int d) { return get_global_size(d); }
size_t outer(int d) { return helper(d) + 1; }
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void simple(__global int *x) { x[get_global_id(0)] = 1; }
__kernel void viaHelper(__global int *x) { x[get_global_id(0)] = outer(0); }
__kernel void viaMacro(__global int *x) { x[get_global_id(0)] = GID; }
__kernel void withLocal(__global int *x, __local int *s) { s[0] = x[get_global_id(0)]; }
__kernel void text(__global int *x) __attribute__((vec_type_hint(int))) { printf("get_num_groups { %d"); if (x[0]) { x[1] = '{'; } }
__kernel void linear(__global int *x) { x[get_global_linear_id()] = get_global_offset(0) + get_enqueued_local_size(0); work_group_barrier(1); }
`
	u := OpenCL(src)
	if !u.sound {
		t.Fatal("not understood")
	}
	for entry, want := range map[string]Usage{
		"simple": 0, "viaHelper": Size, "viaMacro": GroupID, "withLocal": Groups, "text": 0,
		"linear": Linear | Offset | Enqueued | Groups, "unknown": All,
	} {
		if got := u.Of(entry); got != want {
			t.Errorf("%s: %07b, want %07b", entry, got, want)
		}
	}
	// What is put together by the preprocessor is taken to use everything.
	if got := OpenCL("#define F(n) get_##n\n__kernel void k(__global int *x) { x[0] = F(group_id)(0); }").Of("k"); got != All {
		t.Errorf("pasted names: %07b, want all", got)
	}
	if got := OpenCL("#define K(n) __kernel void n(__global int *x) { x[0] = get_group_id(0); }\nK(a)").Of("a"); got != GroupID {
		t.Errorf("a kernel made by a macro: %07b, want %07b", got, GroupID)
	}
	if got := OpenCL("#if A\n__kernel void k(int a) {\n#else\n__kernel void k(void) {\n#endif\nget_num_groups(0); }").Of("k"); got != GroupID {
		t.Errorf("unbalanced braces: %07b, want %07b", got, GroupID)
	}
}

func TestSPIRV(t *testing.T) {
	module := func(order binary.ByteOrder, instructions ...[]uint32) []byte {
		words := []uint32{0x07230203, 0x00010000, 0, 100, 0}
		for _, ins := range instructions {
			words = append(words, uint32(len(ins))<<16|ins[0])
			words = append(words, ins[1:]...)
		}
		var b []byte
		for _, w := range words {
			var four [4]byte
			order.PutUint32(four[:], w)
			b = append(b, four[:]...)
		}
		return b
	}
	decorate := func(builtIn uint32) []uint32 { return []uint32{71, 5, 11, builtIn} }
	for name, c := range map[string]struct {
		module []byte
		want   Usage
	}{
		"global ids only": {module(binary.LittleEndian, decorate(28)), 0},
		"group ids":       {module(binary.LittleEndian, decorate(28), decorate(26), decorate(31)), GroupID | Size},
		"big endian":      {module(binary.BigEndian, decorate(33), decorate(34)), Offset | Linear},
		"local memory":    {module(binary.LittleEndian, []uint32{32, 7, 4, 6}), Groups},
		"barrier":         {module(binary.LittleEndian, []uint32{224, 1, 2, 3}), Groups},
		"no module":       {[]byte("something else entirely, long enough"), All},
		"cut":             {module(binary.LittleEndian, decorate(28))[:24], All},
		"short":           {[]byte{3, 2}, All},
	} {
		if got := SPIRV(c.module); got != c.want {
			t.Errorf("%s: %07b, want %07b", name, got, c.want)
		}
	}
}

func FuzzSPIRV(f *testing.F) {
	f.Add([]byte{3, 2, 0x23, 7, 0, 0, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 71, 0, 4, 0})
	f.Fuzz(func(t *testing.T, b []byte) { SPIRV(b) })
}
