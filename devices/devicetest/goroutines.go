package devicetest

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"
)

// CheckGoroutines fails t at its end when goroutines run that did not run
// when it was called. It gives those that are about to end five seconds. Not
// for tests that run in parallel with others.
func CheckGoroutines(t testing.TB) {
	t.Helper()
	before := goroutines()
	t.Cleanup(func() {
		var left []string
		for deadline := time.Now().Add(5 * time.Second); ; runtime.Gosched() {
			left = left[:0]
			for id, stack := range goroutines() {
				if _, ok := before[id]; !ok {
					left = append(left, stack)
				}
			}
			if len(left) == 0 {
				return
			}
			if time.Now().After(deadline) {
				break
			}
		}
		t.Errorf("%d goroutine(s) left behind:\n%s", len(left), strings.Join(left, "\n\n"))
	})
}

// goroutines are the stacks of all goroutines but the caller's and those of
// package testing, by goroutine header word ("goroutine 7").
func goroutines() map[string]string {
	buf := make([]byte, 1<<16)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	all := map[string]string{}
	for i, stack := range bytes.Split(buf, []byte("\n\n")) {
		text := string(stack)
		if i == 0 || strings.Contains(text, "testing.(*T).Run(") || strings.Contains(text, "testing.tRunner.func") ||
			strings.Contains(text, "testing.(*M).startAlarm") || strings.Contains(text, "runtime.ensureSigM") {
			continue
		}
		id, _, _ := strings.Cut(text, " [")
		all[id] = text
	}
	return all
}
