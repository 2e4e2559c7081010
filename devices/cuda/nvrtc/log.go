package nvrtc

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// "k.cu(12): error: text" and, with a number, "k.cu(12): error #20: text".
	located = regexp.MustCompile(`^(.*)\((\d+)\): (catastrophic error|error|warning|remark|note)(?: #[\w-]+)?: (.*)$`)
	caret   = regexp.MustCompile(`^\s*\^\s*$`)
	noise   = regexp.MustCompile(`^(?:\d+ (?:catastrophic )?errors? detected in the compilation of .*|Remark: The warnings can be suppressed with .*|Compilation terminated\.)$`)
)

// Log brings a log of NVRTC into the form of this module's other compilers: a
// message with a place begins with "file:line:column: error: ", the column
// being that of the caret in the lines that follow, and the counts at the end
// go. What follows a message, the source's line and the caret, stays. A log of
// blanks is "".
func Log(log string) string {
	lines := strings.Split(strings.ReplaceAll(log, "\r\n", "\n"), "\n")
	var out []string
	for i, line := range lines {
		if noise.MatchString(strings.TrimSpace(line)) {
			continue
		}
		if m := located.FindStringSubmatch(line); m != nil {
			kind := m[3]
			if kind == "catastrophic error" {
				kind = "error"
			}
			line = fmt.Sprintf("%s:%s:%d: %s: %s", m[1], m[2], caretColumn(lines[i+1:]), kind, m[4])
		}
		if strings.TrimSpace(line) == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, strings.TrimRight(line, " \t"))
	}
	text := strings.Trim(strings.Join(out, "\n"), "\n")
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return text + "\n"
}

// caretColumn finds the caret below a message. NVRTC indents the source's line
// by two blanks, and the caret with it. 1 where there is none before the next
// message.
func caretColumn(rest []string) int {
	const indent = 2
	for _, line := range rest {
		if located.MatchString(line) {
			break
		}
		if caret.MatchString(line) {
			return max(strings.IndexByte(line, '^')-indent+1, 1)
		}
	}
	return 1
}
