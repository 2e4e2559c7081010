// Package buildlog reads what the compilers behind OpenCL and SYCL say.
package buildlog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// noise are lines of build logs that tell a user nothing: LLVM's counts, and
// the Intel runtime's account of its own steps.
var noise = regexp.MustCompile(`(?m)^(?:.*\b\d+ instructions in function.*|Device .* failed to build the program|\d+ (?:warnings?|errors?)(?: and \d+ errors?)? generated\.` +
	`|(?:Compilation|Linking|Device build) (?:started|done)|Options used by backend compiler:.*|remark: .*|Kernel ".*" was .*vectorized.*|Done\.|Build (?:started|done))$\n?`)

// Clean is a build log without noise; one that holds blanks only is "".
func Clean(log string) string {
	log = strings.TrimSpace(noise.ReplaceAllString(log, ""))
	if log == "" {
		return ""
	}
	return log + "\n"
}

// unresolved are the ways in which linkers report a function that is defined
// nowhere.
var unresolved = regexp.MustCompile(`(?i)(?:cannot find symbol|undefined symbol:?|undefined reference to|unresolved extern(?:al)? (?:function|symbol)|undefined external) +['"` + "`" + `]?([A-Za-z_]\w*)`)

// Errors is the whole log of a build that failed, led by a line for each
// unresolved function: compilers bury those in notes, or say "error" in
// another line.
func Errors(log, source string) string {
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

// LineDirective matches a #line directive, with the number and the quoted name
// of the file, which may be left out, as its groups.
var LineDirective = regexp.MustCompile(`^\s*#\s*(?:line\s+)?(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?`)

// position is "file:line:column: " of the first place inside a function of
// source in which name is called, else of the first one at all, which is a
// declaration or a macro; as #line directives count. "" when there is none.
func position(source, name string) string {
	call := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\(`)
	file, line, depth := "", 0, 0
	first := ""
	code := strings.SplitAfter(plainCode(source), "\n")
	for n, text := range strings.SplitAfter(source, "\n") {
		if m := LineDirective.FindStringSubmatch(text); m != nil {
			at, _ := strconv.Atoi(m[1])
			line = at - 1
			if m[2] != "" {
				file = m[2]
			}
			continue
		}
		line++
		text = code[n]
		for _, m := range call.FindAllStringIndex(text, -1) {
			if file == "" {
				break
			}
			at := fmt.Sprintf("%s:%d:%d: ", file, line, m[0]+1)
			before := text[:m[0]]
			if depth+strings.Count(before, "{")-strings.Count(before, "}") > 0 {
				return at
			}
			if first == "" {
				first = at
			}
		}
		depth += strings.Count(text, "{") - strings.Count(text, "}")
	}
	return first
}

// notCode are comments and text between quotation marks.
var notCode = regexp.MustCompile(`(?s)/\*.*?(?:\*/|$)|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)

// plainCode is source with blanks in place of comments and quoted text, so that
// everything else stays where it is.
func plainCode(source string) string {
	return notCode.ReplaceAllStringFunc(source, func(text string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return ' '
		}, text)
	})
}
