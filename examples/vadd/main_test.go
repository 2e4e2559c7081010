package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if lines[0] != "cpu:0: 1048576 sums, the last one 1.0485755e+06" {
		t.Errorf("first line %q", lines[0])
	}
	for _, l := range lines[1:] {
		if !strings.HasSuffix(l, ": 1048576 sums, the last one 1.0485755e+06") {
			t.Errorf("line %q", l)
		}
	}
}
