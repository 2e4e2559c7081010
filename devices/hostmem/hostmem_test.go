package hostmem

import (
	"testing"
	"unsafe"
)

func TestAlloc(t *testing.T) {
	before := InUse()
	for _, n := range []int64{0, 1, 4095, 4096, 1 << 20} {
		mem, err := Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(mem)) != n {
			t.Fatalf("Alloc(%d) has length %d", n, len(mem))
		}
		if n > 0 && uintptr(unsafe.Pointer(&mem[0]))%uintptr(PageSize()) != 0 {
			t.Errorf("Alloc(%d) is not page-aligned", n)
		}
		for i := range mem {
			if mem[i] != 0 {
				t.Fatalf("Alloc(%d): byte %d is %d, want 0", n, i, mem[i])
			}
		}
		if err := Free(mem); err != nil {
			t.Fatal(err)
		}
	}
	if got := InUse(); got != before {
		t.Errorf("%d bytes in use after freeing all, want %d", got, before)
	}
}

func TestAllocImpossible(t *testing.T) {
	for _, n := range []int64{-1, 1<<63 - 1} {
		if _, err := Alloc(n); err == nil {
			t.Errorf("Alloc(%d) succeeded", n)
		}
	}
}
