// Command testcount reads the events of `go test -json` and prints what a
// person wants to see: a line for each package, the output of tests that
// failed, the tests that were skipped and why, and in the end
//
//	1204 passed, 0 failed, 3 skipped
//
// It exits with 1 if anything failed. If TANDEM_TEST_COUNTS names a file, the
// three numbers are added to it as a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	counts, err := count(os.Stdin, os.Stdout)
	if err == nil {
		err = counts.keep(os.Getenv("TANDEM_TEST_COUNTS"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(1)
	}
	if counts.failed > 0 {
		os.Exit(1)
	}
}

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build that failed
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

type tally struct{ passed, failed, skipped int }

// keep adds the numbers to a file.
func (t tally) keep(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, t.passed, t.failed, t.skipped); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// count reads events to their end. A line that is no event is passed on: the
// go command itself may speak.
func count(r io.Reader, w io.Writer) (tally, error) {
	var t tally
	type key struct{ pkg, test string }
	output := map[key]*strings.Builder{}
	failedIn := map[string]int{} // tests that failed, by package
	var skipped []string
	s := bufio.NewScanner(r)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var e event
		if json.Unmarshal(s.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(w, s.Text())
			continue
		}
		k := key{e.Package, e.Test}
		text := func() string {
			if b := output[k]; b != nil {
				return b.String()
			}
			return ""
		}
		switch e.Action {
		case "build-output":
			fmt.Fprint(w, e.Output)
		case "output":
			if output[k] == nil {
				output[k] = &strings.Builder{}
			}
			output[k].WriteString(e.Output)
		case "pass", "skip", "fail":
			if e.Test == "" {
				switch {
				case e.Action == "fail":
					if failedIn[e.Package] == 0 { // it did not build, or died outside a test
						t.failed++
						fmt.Fprint(w, text())
					}
					fmt.Fprintf(w, "FAIL  %s  %.1f s\n", e.Package, e.Elapsed)
				case e.Action == "pass":
					fmt.Fprintf(w, "ok    %s  %.1f s\n", e.Package, e.Elapsed)
				}
				delete(output, k)
				continue
			}
			switch e.Action {
			case "pass":
				t.passed++
			case "skip":
				t.skipped++
				skipped = append(skipped, fmt.Sprintf("skip  %s %s: %s", e.Package, e.Test, why(text())))
			case "fail":
				t.failed++
				failedIn[e.Package]++
				fmt.Fprint(w, text())
			}
			delete(output, k)
		}
	}
	for _, line := range skipped {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	return t, s.Err()
}

// why is what a skipped test said, in one line.
func why(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		said = append(said, line)
	}
	return strings.Join(said, " ")
}
