package docs

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

var (
	mdLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	htmlLink = regexp.MustCompile(`(?:src|srcset|href)="([^"]+)"`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	variable = regexp.MustCompile(`TANDEM_[A-Z0-9_]*[A-Z0-9]`)
)

// prose is a page without its fenced blocks and code spans: brackets in those
// are no links.
func prose(text string) string {
	for _, b := range blocks(text) {
		text = strings.Replace(text, b.text, "", 1)
	}
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "")
}

// TestLinks follows every relative link, to the heading where it names one.
func TestLinks(t *testing.T) {
	links := 0
	for _, d := range documents(t) {
		text := prose(d.text)
		for _, m := range slices.Concat(mdLink.FindAllStringSubmatch(text, -1), htmlLink.FindAllStringSubmatch(text, -1)) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			file := d.path
			if target != "" {
				file = path.Join(path.Dir(d.path), target)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: link to %s: %v", d.path, m[1], err)
				continue
			}
			if fragment == "" || path.Ext(file) != ".md" {
				continue
			}
			if !slices.Contains(anchors(readFile(t, filepath.Join(root, filepath.FromSlash(file)))), fragment) {
				t.Errorf("%s: link to %s: the page has no such heading", d.path, m[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("%d links followed: the test proves little", links)
	}
}

// anchors are the headings of a page as links name them: lower case, blanks as
// hyphens, other marks left out.
func anchors(text string) []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
				return unicode.ToLower(c)
			}
			return -1
		}, m[1])
		list = append(list, name)
	}
	return list
}

// TestEnvironment holds docs/environment.md against the variables that the
// code, the Makefile and the scripts name: those are described, and what is
// described is named somewhere, in a test at least.
func TestEnvironment(t *testing.T) {
	const page = "docs/environment.md"
	described := map[string]bool{}
	for _, name := range variable.FindAllString(readFile(t, filepath.Join(root, filepath.FromSlash(page))), -1) {
		described[name] = true
	}
	used, tested := map[string]string{}, map[string]bool{}
	walk(t, func(file string, text func() string) {
		script := path.Dir(file) == ".ci" || path.Base(file) == "Makefile"
		if path.Ext(file) != ".go" && !script {
			return
		}
		for _, name := range variable.FindAllString(text(), -1) {
			if strings.HasSuffix(file, "_test.go") {
				tested[name] = true
			} else {
				used[name] = file
			}
		}
	})
	if len(used) < 5 {
		t.Fatalf("%d variables found in the code: the test would prove nothing", len(used))
	}
	for name, file := range used {
		if !described[name] {
			t.Errorf("%s names %s, which %s does not describe", file, name, page)
		}
	}
	for name := range described {
		if used[name] == "" && !tested[name] {
			t.Errorf("%s describes %s, which nothing names", page, name)
		}
	}
}

// TestPipelineKeys looks for every key of the pipeline format, as the schema
// has it, in docs/pipeline.md.
func TestPipelineKeys(t *testing.T) {
	schema, err := pipeline.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(schema, &tree); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				collect(e)
			}
		case map[string]any:
			if p, ok := v["properties"].(map[string]any); ok {
				for key := range p {
					keys[key] = true
				}
			}
			for _, e := range v {
				collect(e)
			}
		}
	}
	collect(tree)
	if len(keys) < 30 {
		t.Fatalf("the schema has %d keys: the test would prove nothing", len(keys))
	}
	text := readFile(t, filepath.Join(root, "docs", "pipeline.md"))
	for key := range keys {
		if !strings.Contains(text, "`"+key+"`") && !strings.Contains(text, "{"+key+":") && !strings.Contains(text, ", "+key+":") && !strings.Contains(text, "- "+key+":") {
			t.Errorf("docs/pipeline.md does not describe the key %s", key)
		}
	}
}

// TestCases holds the table of the kit's cases against the kit.
func TestCases(t *testing.T) {
	_, section, ok := strings.Cut(readFile(t, filepath.Join(root, "docs", "writing-a-driver.md")), "\n## The cases of the kit\n")
	if !ok {
		t.Fatal("docs/writing-a-driver.md has no section The cases of the kit")
	}
	var listed []string
	for line := range strings.Lines(section) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			listed = append(listed, name)
		}
	}
	if want := devicetest.CaseNames(); !slices.Equal(listed, want) {
		t.Errorf("the page lists\n%v\nthe kit has\n%v", listed, want)
	}
}

// TestGlossaryIsSorted: a list of words that is out of order hides them.
func TestGlossaryIsSorted(t *testing.T) {
	var words []string
	for line := range strings.Lines(readFile(t, filepath.Join(root, "docs", "glossary.md"))) {
		if word, ok := strings.CutPrefix(line, "**"); ok {
			word, _, _ = strings.Cut(word, "**")
			words = append(words, strings.ToLower(word))
		}
	}
	if len(words) < 30 {
		t.Fatalf("%d words found: the test would prove nothing", len(words))
	}
	for i := 1; i < len(words); i++ {
		if words[i] <= words[i-1] {
			t.Errorf("%q stands behind %q", words[i], words[i-1])
		}
	}
}
