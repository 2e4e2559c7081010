package nvrtc

import (
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestMajorOf(t *testing.T) {
	for name, want := range map[string]int{
		"libnvrtc.so.13": 13, "/a/b/libnvrtc.so.12.9.86": 12, "libnvrtc.so.11.2": 11, "libnvrtc.so": 0,
		"nvrtc64_130_0.dll": 13, "nvrtc64_112_0.dll": 11, "nvrtc64_9_0.dll": 0, "libnvrtc.so.x": 0,
	} {
		if got := majorOf(name); got != want {
			t.Errorf("majorOf(%q) = %d, want %d", name, got, want)
		}
	}
}

// environment clears what the search reads.
func environment(t *testing.T, set map[string]string) {
	t.Helper()
	for _, name := range []string{LibraryVariable, "CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX"} {
		t.Setenv(name, set[name])
	}
}

// plant makes files under a folder.
func plant(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(root, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("no library"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCandidates(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("the places are those of Linux")
	}
	root := filepath.Join(t.TempDir(), "with [blank] *")
	plant(t, root,
		"toolkit/lib64/libnvrtc.so.12", "toolkit/lib64/libnvrtc.so.12.4.99", "toolkit/lib64/libnvrtc-builtins.so.12.4", "toolkit/lib64/libnvrtc.so",
		"venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
		"venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.alt.so.12",
		"conda/targets/x86_64-linux/lib/libnvrtc.so.11.2")
	environment(t, map[string]string{"CUDA_PATH": filepath.Join(root, "toolkit"), "VIRTUAL_ENV": filepath.Join(root, "venv"), "CONDA_PREFIX": filepath.Join(root, "conda")})
	var got []string
	for _, c := range candidates() {
		if path, ok := strings.CutPrefix(c.path, root+"/"); ok {
			got = append(got, path)
		}
	}
	want := []string{
		"venv/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
		"toolkit/lib64/libnvrtc.so.12",
		"venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
		"conda/targets/x86_64-linux/lib/libnvrtc.so.11.2",
	}
	if !slices.Equal(got, want) {
		t.Errorf("candidates\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	one, two := filepath.Join(root, "libnvrtc.so.12"), filepath.Join(root, "libnvrtc.so.13")
	environment(t, map[string]string{LibraryVariable: one + string(os.PathListSeparator) + two, "CUDA_PATH": filepath.Join(root, "toolkit")})
	list := candidates()
	if len(list) != 2 || list[0].path != two || list[1].path != one {
		t.Errorf("with %s: %v", LibraryVariable, list)
	}
}

func TestOpenFails(t *testing.T) {
	root := t.TempDir()
	plant(t, root, "libnvrtc.so.12", "libnvrtc.so.13")
	twelve, thirteen := filepath.Join(root, "libnvrtc.so.12"), filepath.Join(root, "libnvrtc.so.13")
	environment(t, map[string]string{LibraryVariable: twelve + string(os.PathListSeparator) + thirteen})
	_, err := Open(Options{Driver: Version{12, 4}})
	load, ok := errors.AsType[*devices.LoadError](err)
	if !ok || !errors.Is(err, devices.ErrUnavailable) {
		t.Fatalf("got %v, want a *devices.LoadError", err)
	}
	if !slices.Equal(load.Tried, []string{thirteen, twelve}) {
		t.Errorf("tried %v", load.Tried)
	}
	if text := err.Error(); !strings.Contains(text, "libnvrtc.so.13 is newer than the driver, which supports CUDA 12.4") {
		t.Errorf("the error does not say that 13 is too new: %s", text)
	}
}
