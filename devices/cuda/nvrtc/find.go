package nvrtc

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
)

// LibraryVariable is the environment variable that names the NVRTC library to
// load, or several separated as in PATH, in place of all the places that are
// looked at otherwise.
const LibraryVariable = "TANDEM_NVRTC_LIBRARY"

// A Version of NVRTC, or of the CUDA that a driver supports. The zero value is
// "not known".
type Version struct{ Major, Minor int }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// candidate is a library that may be loaded.
type candidate struct {
	path  string
	major int // by its name; 0: the name does not say
}

// majors are the versions whose names the loader is asked for, the newest
// first. NVRTC 11.2 is the first that says which architectures it knows.
var majors = [...]int{13, 12, 11}

// candidates lists the libraries to try: those that a variable names, or what
// CUDA_PATH, CUDA_HOME, VIRTUAL_ENV, CONDA_PREFIX and the usual places hold and
// then the loader's. Newer ones come first; of the same age, the first place
// counts.
func candidates() []candidate {
	var list []candidate
	add := func(path string) {
		if path != "" && !slices.ContainsFunc(list, func(c candidate) bool { return c.path == path }) {
			list = append(list, candidate{path, majorOf(path)})
		}
	}
	if named := os.Getenv(LibraryVariable); named != "" {
		for _, path := range filepath.SplitList(named) {
			add(path)
		}
	} else {
		for _, dir := range folders() {
			for _, path := range inFolder(dir) {
				add(path)
			}
		}
		for _, name := range loaderNames() {
			add(name)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return b.major - a.major })
	return list
}

// folders are the folders to look into, in order.
func folders() []string {
	var dirs []string
	toolkit := func(root string) {
		if root == "" {
			return
		}
		if goruntime.GOOS == "windows" {
			dirs = append(dirs, filepath.Join(root, "bin", "x64"), filepath.Join(root, "bin"))
			return
		}
		dirs = append(dirs, filepath.Join(root, "lib64"), filepath.Join(root, "lib"))
		more, _ := filepath.Glob(filepath.Join(globbed(root), "targets", "*", "lib"))
		dirs = append(dirs, more...)
	}
	toolkit(os.Getenv("CUDA_PATH"))
	toolkit(os.Getenv("CUDA_HOME"))
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		root := os.Getenv(name)
		if root == "" {
			continue
		}
		wheels := []string{"lib/python3*/site-packages/nvidia/*/lib", "lib64/python3*/site-packages/nvidia/*/lib"}
		if goruntime.GOOS == "windows" {
			wheels = []string{"Lib/site-packages/nvidia/*/bin", "Lib/site-packages/nvidia/*/bin/x86_64"}
		}
		for _, w := range wheels {
			found, _ := filepath.Glob(filepath.Join(globbed(root), filepath.FromSlash(w)))
			dirs = append(dirs, found...)
		}
		toolkit(root)
	}
	if goruntime.GOOS != "windows" {
		toolkit("/usr/local/cuda")
		versions, _ := filepath.Glob("/usr/local/cuda-*")
		slices.SortFunc(versions, func(a, b string) int { return compareNumbers(b, a) })
		for _, v := range versions {
			toolkit(v)
		}
		toolkit("/opt/cuda")
	}
	return dirs
}

// globbed escapes what filepath.Glob takes for a pattern in the folder of a
// user's variable.
func globbed(dir string) string {
	if goruntime.GOOS == "windows" {
		return dir // there is no escape there, and * and ? are in no name
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// compareNumbers orders names with a version at their end, "cuda-9.2" before
// "cuda-12.0".
func compareNumbers(a, b string) int {
	x, y := numbers(filepath.Base(a)), numbers(filepath.Base(b))
	if c := slices.Compare(x, y); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

func numbers(s string) []int {
	var list []int
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// inFolder lists the NVRTC libraries of a folder, without the twins that other
// names lead to: "libnvrtc.so.13" of libnvrtc.so, libnvrtc.so.13 and
// libnvrtc.so.13.0.48, and without the variants with a smaller memory
// footprint ("alt").
func inFolder(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	best := map[int]string{}
	for _, e := range entries {
		name := e.Name()
		m := majorOf(name)
		if !isLibrary(name) || m == 0 && name != "libnvrtc.dylib" {
			continue
		}
		if was, ok := best[m]; !ok || len(name) < len(was) {
			best[m] = name
		}
	}
	var list []string
	for _, name := range best {
		list = append(list, filepath.Join(dir, name))
	}
	slices.SortFunc(list, func(a, b string) int { return majorOf(b) - majorOf(a) })
	return list
}

func isLibrary(name string) bool {
	if strings.Contains(name, "builtins") || strings.Contains(name, "alt") {
		return false
	}
	return strings.HasPrefix(name, "libnvrtc.so.") || strings.HasPrefix(name, "nvrtc64_") && strings.HasSuffix(name, ".dll") || name == "libnvrtc.dylib"
}

// majorOf reads the version of CUDA from a library's name: libnvrtc.so.13 and
// nvrtc64_130_0.dll are of 13, libnvrtc.so.11.2 is of 11; 0 if it does not say.
func majorOf(path string) int {
	name := filepath.Base(path)
	if v, ok := strings.CutPrefix(name, "nvrtc64_"); ok {
		v, _, _ = strings.Cut(v, "_")
		n, err := strconv.Atoi(v)
		if err != nil || n < 100 {
			return 0
		}
		return n / 10
	}
	_, v, ok := strings.Cut(name, ".so.")
	if !ok {
		return 0
	}
	v, _, _ = strings.Cut(v, ".")
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// loaderNames are what the system's loader is asked for.
func loaderNames() []string {
	var names []string
	switch goruntime.GOOS {
	case "windows":
		for _, m := range majors {
			names = append(names, fmt.Sprintf("nvrtc64_%d0_0.dll", m))
		}
	case "darwin": // there has been no CUDA for it since 10.2
	default:
		for _, m := range majors {
			if m == 11 {
				names = append(names, "libnvrtc.so.11.2")
				continue
			}
			names = append(names, fmt.Sprintf("libnvrtc.so.%d", m))
		}
		names = append(names, "libnvrtc.so")
	}
	return names
}
