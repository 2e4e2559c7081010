package sycl

import "testing"

func TestCleanLog(t *testing.T) {
	const quiet = "Compilation started\nCompilation done\nLinking started\nLinking done\nDevice build started\n" +
		"Options used by backend compiler: -cl-kernel-arg-info\nDevice build done\nremark: <unknown>:0:0: loop not vectorized\n" +
		"Kernel \"longest\" was successfully vectorized (8)\nDone."
	if got := cleanLog(quiet); got != "" {
		t.Errorf("of a build without warnings this is left: %q", got)
	}
	const warning = "k.cl:5:3: warning: unused variable 'x'\n"
	if got := cleanLog("Compilation started\n" + warning + "1 warning generated.\nDone."); got != warning {
		t.Errorf("of a warning this is left: %q, want %q", got, warning)
	}
}

func TestUserLines(t *testing.T) {
	source := "#define A 1\n#line 1 \"my file.cpp\"\nint a;\nint b;\n#line 10 \"h.h\"\nint c;\n"
	for _, c := range [][2]string{
		{"rtc_3.cpp:3:5: error: x", "my file.cpp:1:5: error: x"},
		{"rtc_0.cpp:4:1: note\nrtc_0.cpp:6:2: y", "my file.cpp:2:1: note\nh.h:10:2: y"},
		{"rtc_0.cpp:1:1: z", "rtc_0.cpp:1:1: z"},   // before the first directive
		{"rtc_0.cpp:99:1: z", "rtc_0.cpp:99:1: z"}, // no line of the text
		{"nothing", "nothing"},
	} {
		if got := userLines(c[0], source); got != c[1] {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
	}
}
