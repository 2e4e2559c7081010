package buildlog

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for log, want := range map[string]string{
		"":                       "",
		" \n\t\n \n":             "",
		"1 warning generated.\n": "",
		"a.cl:1:2: warning: x\n1 warning generated.\nDevice pthread failed to build the program\n": "a.cl:1:2: warning: x\n",
		"note: 135 instructions in function affine\nwarning: y":                                    "warning: y\n",
		"Compilation started\nCompilation done\nLinking started\nLinking done\nDevice build started\nOptions used by backend compiler: -cl-kernel-arg-info\n" +
			"Device build done\nremark: <unknown>:0:0: loop not vectorized\nKernel \"longest\" was successfully vectorized (8)\nDone.": "",
		"Compilation started\nk.cl:5:3: warning: unused variable 'x'\nDone.": "k.cl:5:3: warning: unused variable 'x'\n",
	} {
		if got := Clean(log); got != want {
			t.Errorf("Clean(%q) = %q, want %q", log, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	source := "#line 1 \"a b.h\"\nfloat smooth(float v);  /* { declared */\n#line 10 \"k.cl\"\nvoid k() { // smooth(1)\nx = smooth (1);\n}\n"
	for log, first := range map[string]string{
		"note: 135 instructions in function affine\nCannot find symbol smooth in kernel library\n": "k.cl:11:5: error: function 'smooth' is called and defined nowhere",
		"ptxas fatal   : Unresolved extern function 'smooth'":                                      "k.cl:11:5: error: function 'smooth' is called and defined nowhere",
		"ld.lld: error: undefined symbol: smooth":                                                  "k.cl:11:5: error: function 'smooth' is called and defined nowhere",
		"undefined reference to `nowhere'":                                                         "error: function 'nowhere' is called and defined nowhere",
		"k.cl:3:1: error: expected ';'":                                                            "k.cl:3:1: error: expected ';'",
	} {
		got := Errors(log, source)
		if line, _, _ := strings.Cut(got, "\n"); line != first {
			t.Errorf("Errors(%q) begins with %q, want %q", log, line, first)
		}
		if !strings.Contains(got, strings.TrimSpace(log)) {
			t.Errorf("Errors(%q) lost the log: %q", log, got)
		}
	}
	if got := Errors(" \n", source); got != "" {
		t.Errorf("a log of blanks became %q", got)
	}
}
