// Package docs holds the tests of the documentation: what it shows is run, what
// it points to exists, and what the code reads is in it.
package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's, from here.
const root = "../.."

// document is one page.
type document struct {
	path string // from the root, with slashes
	text string
}

// documents are all pages of the repository.
func documents(t *testing.T) []document {
	t.Helper()
	var list []document
	walk(t, func(path string, text func() string) {
		if filepath.Ext(path) == ".md" {
			list = append(list, document{path, text()})
		}
	})
	if len(list) < 10 {
		t.Fatalf("%d pages found: the test would prove nothing", len(list))
	}
	return list
}

// walk calls f with every file of the repository that is neither Git's nor a
// test's data.
func walk(t *testing.T, f func(path string, text func() string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "testdata", "bin", "dist"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f(filepath.ToSlash(rel), func() string { return readFile(t, path) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// block is a fenced block of a page.
type block struct {
	lang string
	from string // the file it is said to be from, in a comment above it
	text string
	line int
}

var fromComment = regexp.MustCompile(`^<!-- from (\S+) -->$`)

// blocks are the fenced blocks of a page, in order.
func blocks(text string) []block {
	var list []block
	var open *block
	from := ""
	for n, line := range strings.Split(text, "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			list = append(list, block{lang: lang, from: from, line: n + 1})
			open = &list[len(list)-1]
		case fence:
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
		from = ""
		if m := fromComment.FindStringSubmatch(line); m != nil {
			from = m[1]
		}
	}
	return list
}

// shown is the only block of a language in the README.
func shown(t *testing.T, lang string) string {
	t.Helper()
	var found []string
	for _, b := range blocks(readFile(t, filepath.Join(root, "README.md"))) {
		if b.lang == lang {
			found = append(found, b.text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("README.md has %d blocks of %s, want one", len(found), lang)
	}
	return found[0]
}

// TestQuotesAreTrue holds the code that pages quote from files against them.
func TestQuotesAreTrue(t *testing.T) {
	quotes := 0
	for _, d := range documents(t) {
		for _, b := range blocks(d.text) {
			if b.from == "" {
				continue
			}
			quotes++
			text := readFile(t, filepath.Join(root, filepath.FromSlash(b.from)))
			if !strings.Contains(text, b.text) {
				t.Errorf("%s:%d: %s has no such lines:\n%s", d.path, b.line, b.from, b.text)
			}
		}
	}
	if quotes == 0 {
		t.Error("no page quotes a file: the test proves nothing")
	}
}

// TestGoBlocks formats every Go program and fragment in the pages.
func TestGoBlocks(t *testing.T) {
	gofmt, err := exec.LookPath("gofmt")
	if err != nil {
		gofmt = filepath.Join(goroot(t), "bin", "gofmt")
	}
	for _, d := range documents(t) {
		for _, b := range blocks(d.text) {
			if b.lang != "go" {
				continue
			}
			cmd := exec.Command(gofmt)
			cmd.Stdin = strings.NewReader(b.text)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("%s:%d: %v\n%s", d.path, b.line, err, &stderr)
			} else if string(out) != b.text {
				t.Errorf("%s:%d: gofmt makes this of it:\n%s", d.path, b.line, out)
			}
		}
	}
}

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestBlocks(t *testing.T) {
	got := blocks("a\n```go\nx\n```\n\n<!-- from a/b.go -->\n```yaml\ny\nz\n```\n```\nw\n```\n")
	want := []block{{lang: "go", text: "x\n", line: 2}, {lang: "yaml", from: "a/b.go", text: "y\nz\n", line: 7}, {text: "w\n", line: 11}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
