package sycl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// noise are lines of build logs that tell a user nothing.
var noise = regexp.MustCompile(`(?m)^(?:.*\b\d+ instructions in function.*|Device .* failed to build the program|\d+ (?:warnings?|errors?)(?: and \d+ errors?)? generated\.` +
	`|(?:Compilation|Linking|Device build) (?:started|done)|Options used by backend compiler:.*|remark: .*|Kernel ".*" was .*vectorized.*|Done\.|Build (?:started|done))$\n?`)

// cleanLog is a build log without noise; one that holds blanks only is "".
func cleanLog(log string) string {
	log = strings.TrimSpace(noise.ReplaceAllString(log, ""))
	if log == "" {
		return ""
	}
	return log + "\n"
}

// unresolved are the ways in which linkers report a function that is defined
// nowhere.
var unresolved = regexp.MustCompile(`(?i)(?:cannot find symbol|undefined symbol:?|undefined reference to|unresolved extern(?:al)? (?:function|symbol)|undefined external) +['"` + "`" + `]?([A-Za-z_]\w*)`)

// errorLog is the whole log of a build that failed, led by a line for each
// unresolved function: compilers bury those in notes, or say "error" in
// another line.
func errorLog(log, source string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, m := range unresolved.FindAllStringSubmatch(log, -1) {
		name := m[1]
		if seen[name] {
			continue
		}
		seen[name] = true
		fmt.Fprintf(&b, "%serror: function '%s' is called and defined nowhere\n", position(source, name), name)
	}
	b.WriteString(strings.TrimSpace(log))
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "\n"
}

var lineDirective = regexp.MustCompile(`^\s*#\s*(?:line\s+)?(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?`)

// position is "file:line: " of the first line of source in which name is
// called, as #line directives count; "" when there is none.
func position(source, name string) string {
	call := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\(`)
	file, line := "", 0
	at := ""
	for text := range strings.Lines(source) {
		if m := lineDirective.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			line = n - 1
			if m[2] != "" {
				file = m[2]
			}
			continue
		}
		line++
		if file != "" && call.MatchString(text) {
			at = fmt.Sprintf("%s:%d: ", file, line)
			if !strings.HasSuffix(strings.TrimSpace(text), ");") || strings.Contains(text, "=") {
				return at // not just a declaration
			}
		}
	}
	return at
}

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
		if m := lineDirective.FindStringSubmatch(text); m != nil {
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
