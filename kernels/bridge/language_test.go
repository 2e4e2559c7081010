package bridge

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// testSource reads a source of testdata.
func testSource(t testing.TB, name string) *devices.Source {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return &devices.Source{Name: name, Language: devices.LangOpenCL, Text: text}
}

// TestLanguage: what the language has compiles, for every architecture.
func TestLanguage(t *testing.T) {
	l := compiler(t)
	for _, name := range []string{"language.cl", "group.cl"} {
		p, _ := compile(t, l, testSource(t, name), archs)
		for k, err := range p.Refused {
			t.Errorf("%s: %s: %v", name, k, err)
		}
	}
}
