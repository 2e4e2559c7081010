package robustness

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edit replaces text in a file, which has to be there.
func edit(t *testing.T, dir, name, from, to string) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), from) {
		t.Fatalf("%s does not hold %q", name, from)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(b), from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// protect takes the write permission of a file away, or makes it without.
func protect(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		put(t, dir, name, "")
	}
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
}

// protected checks that a file still has no write permission.
func protected(t *testing.T, dir, name string) {
	t.Helper()
	if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode()&0o222 != 0 {
		t.Errorf("%s: mode %v, %v; want no write permission", name, st.Mode(), err)
	}
}

// ordered are the names of files in order.
func ordered(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }
