package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tandemrun/tandem/runtime/arrayfile"
)

const threeOutputs = `buffers:
  a: {dtype: float32, shape: [3], fill: i, out: a.npy}
  b: {dtype: uint8, shape: [2, 2], fill: 9, out: sub/b.png}
  c: {dtype: int32, shape: [2], fill: 5, out: "both.npz:c"}
  d: {dtype: int64, shape: [2], fill: 6, out: "both.npz:d"}
steps: []
`

// built loads and builds text in dir on the cpu.
func built(t *testing.T, dir, text string) *Built {
	t.Helper()
	s := openSession(t, "cpu")
	p, err := Load(write(t, dir, "p.yaml", text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Build(testContext(t), s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	old := write(t, dir, "a.npy", "old")
	if err := os.Chmod(old, 0o600); err != nil {
		t.Fatal(err)
	}
	b := built(t, dir, threeOutputs)
	outputs, err := b.WriteOutputs(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range outputs {
		names = append(names, o.Buffer)
		file, _ := splitMember(o.File)
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		if o.SHA256 != hex.EncodeToString(sum[:]) || o.Bytes != int64(len(content)) {
			t.Errorf("%+v, but the file has %d bytes and %x", o, len(content), sum)
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c", "d"}) {
		t.Errorf("outputs of %q", names)
	}
	for file, want := range map[string][]float64{"a.npy": {0, 1, 2}, "sub/b.png": {9, 9, 9, 9}, "both.npz:c": {5, 5}, "both.npz:d": {6, 6}} {
		got, _ := numbers(t, filepath.Join(dir, file))
		equalNumbers(t, got, want)
	}
	if info, err := os.Stat(old); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's permissions are %v (%v), were 0600", info.Mode().Perm(), err)
	}
	if got := rest(t, dir); !slices.Equal(got, []string{".", "a.npy", "both.npz", "p.yaml", "sub", "sub/b.png"}) {
		t.Errorf("files %q", got)
	}
}

func rest(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, path := range folder(t, dir) {
		name, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(name))
	}
	return names
}

// TestOutputsFail holds that a failure leaves every earlier file as it was, and
// nothing else behind.
func TestOutputsFail(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a.npy", "old a")
	b := built(t, dir, threeOutputs)
	check := func(what string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(dir, "a.npy")); err != nil || string(got) != "old a" {
			t.Errorf("%s: a.npy holds %q (%v)", what, got, err)
		}
		for _, name := range rest(t, dir) {
			if name == "both.npz" || filepath.Base(name)[0] == '.' && name != "." {
				t.Errorf("%s: %s is left", what, name)
			}
		}
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := b.WriteOutputs(ctx); !errors.Is(err, stop) {
		t.Errorf("cancelled: %v", err)
	}
	check("cancelled")

	// b.png cannot take its place: a folder has come there. By then a.npy has
	// been replaced, and comes back.
	if err := os.MkdirAll(filepath.Join(dir, "sub", "b.png", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := b.WriteOutputs(testContext(t)); err == nil {
		t.Error("no error for an output that cannot be placed")
	}
	check("in the way")

	// And its folder is gone: nothing is written at all.
	if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.WriteOutputs(testContext(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the folder: %v", err)
	}
	check("without the folder")
	if err := b.Free(); err != nil {
		t.Error(err)
	}
	if _, err := b.WriteOutputs(testContext(t)); err == nil {
		t.Error("no error after Free")
	}
}

// TestMemberOutput holds that a single member keeps its name.
func TestMemberOutput(t *testing.T) {
	dir := t.TempDir()
	b := built(t, dir, "buffers: {x: {dtype: int8, shape: [2], fill: 3, out: \"one.npz:named\"}}\nsteps: []\n")
	if _, err := b.WriteOutputs(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if h, err := arrayfile.Stat(filepath.Join(dir, "one.npz"), arrayfile.Options{Member: "named"}); err != nil || h.Elements() != 2 {
		t.Errorf("%v, %v", h, err)
	}
}
