package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A peer is one program under bench/peers that does what a problem of tandem's
// does, in another system or by hand.
type peer struct {
	name    string // of the system: "starpu"
	problem string
	source  string   // below bench/peers
	flags   []string // of the compiler
	modules []string // that pkg-config knows
	libs    []string // linked besides
	env     []string // set for a run
	install string   // Debian packages that it needs
}

// starpuEnv: StarPU says nothing, keeps what it learns in the cache folder
// (which is put in front) and schedules as it does best with short tasks.
var starpuEnv = []string{"STARPU_SILENT=1", "STARPU_SCHED=eager"}

// peers are all of them, in the order of the table.
func peers() []peer {
	starpu := func(problem string, modules ...string) peer {
		return peer{name: "starpu", problem: problem, source: problem + "/starpu.c", modules: append([]string{"starpu-1.3"}, modules...),
			libs: []string{"-lm"}, env: starpuEnv, install: "libstarpu-dev"}
	}
	tbb := func(problem string) peer {
		return peer{name: "tbb", problem: problem, source: problem + "/tbb.cpp", modules: []string{"tbb"}, install: "libtbb-dev"}
	}
	openmp := func(problem string) peer {
		return peer{name: "openmp", problem: problem, source: problem + "/openmp.c", flags: []string{"-fopenmp"}, libs: []string{"-lm"}, install: "gcc"}
	}
	openblas := func(problem string) peer {
		return peer{name: "openblas", problem: problem, source: problem + "/openblas.c", modules: []string{"openblas"}, libs: []string{"-lm"},
			install: "libopenblas-dev"}
	}
	return []peer{
		starpu("overhead"), tbb("overhead"), openmp("overhead"),
		tbb("replay"),
		starpu("grain"), tbb("grain"), openmp("grain"),
		starpu("cholesky", "openblas"), openblas("cholesky"),
		starpu("gemm", "openblas", "OpenCL"), openblas("gemm"),
		{name: "hand", problem: "launch", source: "launch/opencl.c", modules: []string{"OpenCL"}, install: "ocl-icd-opencl-dev"},
		openmp("stream"),
		openmp("library"),
	}
}

// compiler is what a peer is built with, by the language of its source.
func (p *peer) compiler() []string {
	command, standard := os.Getenv("CC"), "-std=gnu11"
	if command == "" {
		command = "cc"
	}
	if strings.HasSuffix(p.source, ".cpp") {
		standard = "-std=c++17"
		if command = os.Getenv("CXX"); command == "" {
			command = "c++"
		}
	}
	return []string{command, standard, "-O3", "-march=native", "-Wall", "-Wextra"}
}

// build compiles the peer into a folder and returns the program. A program that
// was built before from the same text by the same command is used again.
func (p *peer) build(ctx context.Context, root, folder string) (string, error) {
	command := append(p.compiler(), p.flags...)
	command = append(command, filepath.Join(root, filepath.FromSlash(p.source)))
	if len(p.modules) > 0 {
		out, err := output(ctx, "pkg-config", append([]string{"--cflags", "--libs"}, p.modules...)...)
		if err != nil {
			return "", fmt.Errorf("%w (on Debian: apt-get install pkg-config %s)", err, p.install)
		}
		command = append(command, strings.Fields(out)...)
	}
	command = append(command, p.libs...)
	version, err := output(ctx, command[0], "--version")
	if err != nil {
		return "", fmt.Errorf("%w (on Debian: apt-get install %s)", err, p.install)
	}
	text, err := sources(root)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(strings.Join(command, "\x00") + "\x00" + version + "\x00" + text))
	program := filepath.Join(folder, fmt.Sprintf("%s-%s-%s", p.problem, p.name, hex.EncodeToString(sum[:8])))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	part := fmt.Sprintf("%s.%d", program, os.Getpid())
	defer os.Remove(part) // it is gone if all went well
	if _, err := output(ctx, command[0], append(command[1:], "-o", part)...); err != nil {
		return "", fmt.Errorf("%w (on Debian: apt-get install %s)", err, p.install)
	}
	return program, os.Rename(part, program)
}

// sources is the text of every source of the peers: they share headers.
func sources(root string) (string, error) {
	var all []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var b []byte
			if b, err = os.ReadFile(path); err == nil {
				all = append(all, path+"\x00"+string(b))
			}
		}
		return err
	})
	slices.Sort(all)
	return strings.Join(all, "\x00"), err
}

// output runs a command and returns what it prints; an error has what it says.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			first, _, _ := strings.Cut(said, "\n")
			return "", fmt.Errorf("%s: %w: %s", filepath.Base(name), err, first)
		}
		return "", fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return stdout.String(), nil
}
