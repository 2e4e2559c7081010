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
	trace := 0
	for i := range n {
		for k := range n {
			trace += (i + 2*k) % 5 * ((3*k + i) % 7)
		}
	}
	if want := fmt.Sprintf("64 products of 128x128 tiles, trace %d\n", trace); out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
