package sycl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices/internal/buildlog"
)

// rtcPosition is how the compiler of SYCL C++ names a line of the text that it
// was given: it does not heed #line directives.
var rtcPosition = regexp.MustCompile(`\brtc_\d+\.cpp:(\d+)`)

// userLines puts the user's files and lines into a log of that compiler.
func userLines(log, source string) string {
	if !strings.Contains(log, "rtc_") {
		return log
	}
	type place struct {
		file string
		line int
	}
	var places []place // of each line of source
	file, line := "", 0
	for text := range strings.Lines(source) {
		line++
		places = append(places, place{file, line})
		if m := buildlog.LineDirective.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			line = n - 1
			if m[2] != "" {
				file = m[2]
			}
		}
	}
	return rtcPosition.ReplaceAllStringFunc(log, func(at string) string {
		n, err := strconv.Atoi(at[strings.LastIndexByte(at, ':')+1:])
		if err != nil || n < 1 || n > len(places) || places[n-1].file == "" {
			return at
		}
		return fmt.Sprintf("%s:%d", places[n-1].file, places[n-1].line)
	})
}
