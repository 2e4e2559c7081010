package buildlog

import (
	"strings"
	"testing"
)

func FuzzPosition(f *testing.F) {
	f.Add("#line 1 \"k.cl\"\n__kernel void k(__global int *x) { x[0] = get_group_id(0); }")
	f.Add("#line 7 \"a.cl\"\n#define A(b) b\\\n## c\nint f(void) { return k (1); }\n/* \"unclosed")
	f.Add("'\\")
	f.Fuzz(func(t *testing.T, source string) {
		at := position(source, "k")
		if at != "" && (!strings.HasSuffix(at, ": ") || !strings.Contains(source, "k")) {
			t.Errorf("%q is found at %q", source, at)
		}
	})
}
