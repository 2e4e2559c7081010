package main

import (
	"fmt"
	"strings"
	"testing"
)

// multiply is rows of width numbers times a matrix, in whole numbers.
func multiply(x []int, f func(i, j int) float32) []int {
	y := make([]int, len(x))
	for r := 0; r < len(x); r += width {
		for j := range width {
			for k := range width {
				y[r+j] += x[r+k] * int(f(k, j))
			}
		}
	}
	return y
}

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	x := make([]int, batches*rows*width)
	for i := range x {
		x[i] = i % 7
	}
	y := multiply(multiply(x, first), second)
	sum := 0
	for i, v := range y {
		if v >= 1<<24 {
			t.Fatalf("value %d is not exact in float32", v)
		}
		sum += i % 11 * v
	}
	want := fmt.Sprintf("12 batches of 64x96, the last value %d\nweighted sum %d\n", y[len(y)-1], sum)
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
