// Package probechild asks a vendor library in a child process, so that one
// that crashes, hangs or exits while it is asked takes down the child and not
// the program.
package probechild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Variable makes a program a probe child; its value is the backend to ask.
const Variable = "TANDEM_PROBE_CHILD"

// mark stands before the child's answer: a vendor library may write to
// standard output too.
const mark = "tandem-probe-report "

// BrokenError says how a vendor library broke while it was asked.
type BrokenError struct{ How string }

func (e *BrokenError) Error() string { return e.How }

// Answer writes what find returns to standard output as JSON, when this
// process is a child that was started to ask backend, and reports whether it
// is. The program then ends.
func Answer(backend string, find func() any) bool {
	if os.Getenv(Variable) != backend {
		return false
	}
	if b, err := json.Marshal(find()); err == nil {
		fmt.Printf("\n%s%s\n", mark, b)
	}
	return true
}

// Ask runs program, which has to call Answer for the backend before anything
// else, for at most limit, with env added to the environment, and decodes its
// answer into answer. A *BrokenError is the vendor library's doing; another
// error is not: the program cannot be run, or ctx has ended.
func Ask(ctx context.Context, program, backend string, limit time.Duration, answer any, env ...string) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(bounded, program)
	cmd.Env = append(append(os.Environ(), Variable+"="+backend, "GOTRACEBACK=none"), env...)
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	var out, errs head
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err == nil {
		for line := range bytes.Lines(out.b) {
			if body, ok := bytes.CutPrefix(line, []byte(mark)); ok && json.Unmarshal(body, answer) == nil {
				return nil
			}
		}
		return &BrokenError{"it ended the process while being asked (exit status 0)"}
	}
	var exit *exec.ExitError
	switch {
	case bounded.Err() != nil:
		return &BrokenError{fmt.Sprintf("it gave no answer within %v", limit)}
	case errors.As(err, &exit):
		return &BrokenError{"it broke while being asked (" + death(exit, string(errs.b)) + ")"}
	}
	return err
}

// head keeps the first 64 KiB written to it.
type head struct{ b []byte }

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), 1<<16-len(h.b))]...)
	return len(p), nil
}

// signals are those by which C code dies. Go's runtime catches them, prints
// their name and exits with status 2, so the text tells and not the status.
var signals = [...]struct {
	name   string
	number int
}{{"SIGSEGV", 11}, {"SIGABRT", 6}, {"SIGBUS", 7}, {"SIGILL", 4}, {"SIGFPE", 8}, {"SIGTRAP", 5}, {"SIGSYS", 31}}

// death says how a child ended.
func death(exit *exec.ExitError, stderr string) string {
	for _, s := range signals {
		if strings.Contains(stderr, s.name) {
			return fmt.Sprintf("signal %d, %s", s.number, s.name)
		}
	}
	return exit.Error()
}
