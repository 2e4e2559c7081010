package nvrtc

import "testing"

func TestLog(t *testing.T) {
	const raw = "dir/a b.cl(8): error: identifier \"smooth\" is undefined\n     x[0] = smooth(1);\n            ^\n\n" +
		"k.cl(9): warning #177-D: variable \"i\" was declared but never referenced\n     int i;\n         ^\n\n" +
		"Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n\n" +
		"k.cl(12): catastrophic error: too deep\nk.cl(13): remark: a remark\n   x\n  ^\n" +
		"h.cuh(4): note #3327-D: no match\n" +
		"2 errors detected in the compilation of \"k.cl\".\nCompilation terminated.\n"
	const want = "dir/a b.cl:8:11: error: identifier \"smooth\" is undefined\n     x[0] = smooth(1);\n            ^\n\n" +
		"k.cl:9:8: warning: variable \"i\" was declared but never referenced\n     int i;\n         ^\n\n" +
		"k.cl:12:1: error: too deep\nk.cl:13:1: remark: a remark\n   x\n  ^\nh.cuh:4:1: note: no match\n"
	if got := Log(raw); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, blank := range []string{"", "\n", "  \r\n\n", "1 error detected in the compilation of \"x\".\n"} {
		if got := Log(blank); got != "" {
			t.Errorf("Log(%q) = %q", blank, got)
		}
	}
}

func FuzzLog(f *testing.F) {
	f.Add("k.cl(8): error: x\n  y\n ^\n")
	f.Fuzz(func(t *testing.T, raw string) {
		once := Log(raw)
		if again := Log(once); len(again) > len(once) {
			t.Errorf("%q becomes longer the second time: %q", once, again)
		}
	})
}
