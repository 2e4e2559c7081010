package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	// Every product and every sum is rounded, in the order of the inner index.
	sum, corner := float32(0), float32(0)
	for i := range rows {
		for j := range cols {
			corner = 0
			for k := range inner {
				corner += float32(left(i, k) * right(k, j))
			}
			sum += corner
		}
	}
	want := fmt.Sprintf("96x256 times 256x512, corner %x, sum %x\n", corner, sum)
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
