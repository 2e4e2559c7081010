package cudatest

import (
	"bytes"
	"context"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
)

//go:embed double
var sources embed.FS

// Require is the name that TANDEM_REQUIRE knows the double by.
const Require = "cuda-double"

// Settings is the environment variable that holds the double's settings.
const Settings = "TANDEM_CUDA_DOUBLE"

// The library's file. Beside it lies libcuda.so, for linkers.
const fileName = "libcuda.so.1"

var flags = []string{"-std=gnu11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-w"}

// laneFlags are for the files of the loops over lanes; on amd64 with the vector
// instructions that nearly every processor has, if this one does.
func laneFlags() []string {
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil && runtime.GOARCH == "amd64" {
		words := strings.Fields(string(info))
		if slices.Contains(words, "avx2") && slices.Contains(words, "fma") && slices.Contains(words, "f16c") {
			return []string{"-O3", "-mavx2", "-mfma", "-mf16c"}
		}
	}
	return []string{"-O3"}
}

// buildTimeout bounds all the compiling.
const buildTimeout = 5 * time.Minute

// Build returns the path of the double's library, which it compiles where the
// cache has none. Without a C compiler, or on a system that is not Linux, it
// skips t (see devicetest.Require, name "cuda-double").
func Build(t testing.TB) string {
	t.Helper()
	path, err := Library(t.Context())
	if err != nil && !errors.Is(err, devices.ErrUnavailable) {
		t.Fatal(err)
	}
	devicetest.Require(t, Require, err)
	return path
}

// Library returns the path of the double's library, which it compiles with the
// machine's C compiler (CC, or cc, gcc, clang) where the user's cache has none
// of these sources, this compiler and this kind of processor. Compiling takes
// some ten seconds. The error of a machine that cannot have the double wraps
// devices.ErrUnavailable.
func Library(ctx context.Context) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("cuda double: built on Linux only, this is %s: %w", runtime.GOOS, devices.ErrUnavailable)
	}
	cc, err := compiler()
	if err != nil {
		return "", err
	}
	files, err := fs.Glob(sources, "double/*.[ch]")
	if err != nil {
		return "", err
	}
	parts := []string{"cuda double 1", runtime.GOARCH, strings.Join(cc, " "), stamp(cc[0]), strings.Join(flags, " "), strings.Join(laneFlags(), " ")}
	for _, name := range files {
		text, err := sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		parts = append(parts, name, string(text))
	}
	key := buildcache.MakeKey(parts...)
	// Not the folder of TANDEM_CACHE_DIR: tests set that to a new one each.
	root, err := os.UserCacheDir()
	if err != nil {
		root = filepath.Join(os.TempDir(), fmt.Sprintf("tandem-%d", os.Getuid()))
	}
	root = filepath.Join(root, "tandem", "cuda-double")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", fmt.Errorf("cuda double: %w: %w", err, devices.ErrUnavailable)
	}
	// What lies in this folder is run: nobody else may write to it.
	if info, err := os.Stat(root); err != nil || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("cuda double: other users can write to %s: %w", root, devices.ErrUnavailable)
	}
	dir := filepath.Join(root, hex.EncodeToString(key[:8]))
	path := filepath.Join(dir, fileName)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	tmp, err := os.MkdirTemp(root, ".build-")
	if err != nil {
		return "", fmt.Errorf("cuda double: %w: %w", err, devices.ErrUnavailable)
	}
	defer os.RemoveAll(tmp)
	bounded, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	if err := compile(bounded, cc, files, tmp); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(tmp, "out"), dir); err != nil {
		if _, there := os.Stat(path); there == nil { // another process was faster
			return path, nil
		}
		return "", fmt.Errorf("cuda double: %w", err)
	}
	return path, nil
}

func compiler() ([]string, error) {
	if cc := strings.Fields(os.Getenv("CC")); len(cc) > 0 {
		if path, err := exec.LookPath(cc[0]); err == nil {
			return append([]string{path}, cc[1:]...), nil
		}
	}
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, fmt.Errorf("cuda double: no C compiler (cc, gcc, clang); apt-get install gcc libc6-dev: %w", devices.ErrUnavailable)
}

func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "absent"
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// compile writes the sources to dir and compiles them, as many files at a time
// as there are processors, into dir/out.
func compile(ctx context.Context, cc, files []string, dir string) error {
	for _, name := range files {
		text, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			return fmt.Errorf("cuda double: %w", err)
		}
	}
	run := func(args ...string) error {
		cmd := exec.CommandContext(ctx, cc[0], append(cc[1:len(cc):len(cc)], args...)...)
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("cuda double: %s %s: %w\n%s", cc[0], strings.Join(args, " "), err, log.String())
		}
		return nil
	}
	var jobs [][]string
	objects := []string{"-shared", "-Wl,-soname," + fileName, "-o", filepath.Join("out", fileName)}
	add := func(source, object string, more ...string) {
		args := append(append([]string(nil), flags...), more...)
		jobs = append(jobs, append(args, "-c", source, "-o", object))
		objects = append(objects, object)
	}
	isLanes := func(name string) bool { return strings.HasPrefix(filepath.Base(name), "lanes") }
	ordered := slices.Clone(files) // the longest first
	slices.SortStableFunc(ordered, func(a, b string) int {
		if isLanes(a) == isLanes(b) {
			return 0
		} else if isLanes(a) {
			return -1
		}
		return 1
	})
	for _, name := range ordered {
		switch base := filepath.Base(name); {
		case !strings.HasSuffix(base, ".c"):
		case isLanes(base):
			add(base, base+".o", laneFlags()...)
		default:
			add(base, base+".o")
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, len(jobs))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, args := range jobs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = run(args...)
		})
	}
	wg.Wait()
	for _, err := range errs { // one is enough to read
		if err != nil {
			return err
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		return fmt.Errorf("cuda double: %w", err)
	}
	if err := run(append(objects, "-lm", "-ldl", "-lpthread")...); err != nil {
		return err
	}
	return os.Symlink(fileName, filepath.Join(dir, "out", "libcuda.so"))
}
