package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// buildFaults are the errors of a compiler's log that name a place in a file,
// one fault each; the first keeps the whole log. None: the log names no place.
// context is what the error says before the compiler's own words.
func buildFaults(ce *devices.CompileError, context string) []fault {
	// "error: k.cl:3:12: text" is PoCL's way, "k.cl:3:12: error: text" that of
	// compilers.
	located := regexp.MustCompile(`^(?:fatal )?(error: )?(.+?):(\d+):(\d+): (?:fatal )?(error: )?(.*)$`)
	var list []fault
	for line := range strings.Lines(ce.Log) {
		m := located.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || (m[1] == "" && m[5] == "") {
			continue
		}
		f := fault{File: m[2]}
		f.Line, _ = strconv.Atoi(m[3]) // digits; more than an int holds stay 0
		f.Column, _ = strconv.Atoi(m[4])
		f.Message = fmt.Sprintf("%s:%d:%d: %s (%s%s)", f.File, f.Line, f.Column, m[6], context, ce.Device)
		list = append(list, f)
	}
	if len(list) > 0 {
		list[0].Log = strings.TrimRight(ce.Log, "\n ")
		if len(list) == 1 && strings.Count(list[0].Log, "\n") == 0 {
			list[0].Log = "" // the message says it all
		}
		list[len(list)-1].log = list[0].Log // shown once, behind the last
	}
	return list
}
