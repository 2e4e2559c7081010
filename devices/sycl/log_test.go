package sycl

import "testing"

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
