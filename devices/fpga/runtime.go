package fpga

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
)

// runtimeFiles are the parts of Verilator's runtime that a model needs.
var runtimeFiles = []string{"verilated.cpp", "verilated_threads.cpp"}

// runtimeObjects puts the objects of Verilator's runtime into a build folder,
// compiled or from the cache. The runtime takes longer than a kernel.
func (b *builder) runtimeObjects(ctx context.Context, dir string) ([]string, error) {
	include, err := verilatorInclude(ctx, b.d.Tools)
	if err != nil {
		return nil, err
	}
	b.d.mu.Lock()
	b.include = include
	b.d.mu.Unlock()
	var objects []string
	for _, file := range runtimeFiles {
		object := strings.TrimSuffix(file, ".cpp") + ".o"
		key := buildcache.MakeKey("fpga runtime 1", file, include, runtimeText, strings.Join(compileFlags, " "), b.version[0], b.version[1], runtime.GOARCH)
		e, ok := b.cache.Get(key)
		if !ok {
			args := append(slices.Clone(compileFlags), "-I.", "-I"+include, "-c", "-o", object, filepath.Join(include, file))
			if out, err := b.d.Tools.Run(ctx, dir, toolchain.CXX, args...); err != nil {
				return nil, &buildError{file, out, err}
			}
			if e.Binary, err = os.ReadFile(filepath.Join(dir, object)); err != nil {
				return nil, fmt.Errorf("build folder: %w", err)
			}
			b.cache.Put(key, e)
		}
		if err := os.WriteFile(filepath.Join(dir, object), e.Binary, 0o600); err != nil {
			return nil, fmt.Errorf("build folder: %w", err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// verilatorInclude is the folder of Verilator's runtime.
func verilatorInclude(ctx context.Context, tools toolchain.Tools) (string, error) {
	var tried []string
	for _, root := range []string{os.Getenv("VERILATOR_ROOT"), askRoot(ctx, tools), "/usr/share/verilator", "/usr/local/share/verilator"} {
		if root == "" || slices.Contains(tried, root) {
			continue
		}
		tried = append(tried, root)
		include := filepath.Join(root, "include")
		if _, err := os.Stat(filepath.Join(include, "verilated.cpp")); err == nil {
			return include, nil
		}
	}
	return "", fmt.Errorf("verilated.cpp of Verilator is in none of %s: %w", strings.Join(tried, ", "), devices.ErrUnavailable)
}

// askRoot asks Verilator where it lives; "" if it does not say.
func askRoot(ctx context.Context, tools toolchain.Tools) string {
	dir, err := os.MkdirTemp("", "tandem-tool-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	out, err := tools.Run(ctx, dir, toolchain.Verilator, "--getenv", "VERILATOR_ROOT")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}
