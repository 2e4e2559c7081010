// Compare runs tandem's benchmarks and the same problems in its peers, in turns
// on this machine, and prints one table: tandem's figure, each peer's, their
// ratio and its spread. It can write the figures as JSON, as a plot, and as a
// page.
//
//	go run ./bench/compare [-quick] [-docs FOLDER] [-json FILE] [PROBLEM...]
//
// A page keeps the figures of problems that are not measured anew, if they are
// of the same machine.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/tandemrun/tandem/devices/cpu"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: 0 done, 1 it failed, 2 wrong usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c contest
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&c.quick, "quick", false, "small problems and few rounds: minutes, and noisy figures")
	flags.IntVar(&c.rounds, "rounds", 0, "rounds of every problem (default: by the problem)")
	flags.IntVar(&c.workers, "workers", 0, "threads that compute (default: as many as the process may use)")
	flags.DurationVar(&c.limit, "limit", 10*time.Minute, "most time for one run of one program")
	docs := flags.String("docs", "", "folder that gets benchmarks.md, benchmarks.json and images/benchmarks.svg")
	file := flags.String("json", "", "file that gets the figures as JSON")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if c.rounds < 0 || c.workers < 0 || c.limit <= 0 {
		fmt.Fprintln(stderr, "compare: -rounds, -workers and -limit must not be negative")
		return 2
	}
	c.log = stderr
	if err := c.compare(ctx, flags.Args(), *docs, *file, stdout); err != nil {
		fmt.Fprintln(stderr, "compare:", err)
		return 1
	}
	return 0
}

func (c *contest) compare(ctx context.Context, problems []string, docs, file string, stdout io.Writer) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	d := document{Machine: look(ctx, c.tandem, c.threads())}
	c.device = d.Machine.platform
	page := document{Machine: d.Machine}
	if docs != "" {
		before, err := readDocument(filepath.Join(docs, "benchmarks.json"))
		if err != nil {
			return err
		}
		if before.Machine.same(&d.Machine) {
			page.Problems = before.Problems
		} else if len(before.Problems) > 0 {
			c.say("the figures in %s are of another machine (%s) and make room", docs, before.Machine.CPU)
		}
	}
	// Written after every problem: who ends the comparison early keeps the
	// figures so far.
	err := c.run(ctx, problems, func(p problem) error {
		d.put(p)
		page.put(p)
		return firstError(
			func() error {
				if file == "" {
					return nil
				}
				return write(file, d.writeJSON)
			},
			func() error {
				if docs == "" {
					return nil
				}
				return page.writePage(docs)
			})
	})
	writeTable(stdout, d.rows())
	return err
}

func firstError(all ...func() error) error {
	for _, f := range all {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// threads is how many threads a peer computes with.
func (c *contest) threads() int {
	if c.workers > 0 {
		return c.workers
	}
	n, _ := cpu.Budget()
	return n
}

// prepare finds the repository and the cache folder and builds tandem.
func (c *contest) prepare(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list -m: %w: run this in the repository", err)
	}
	c.root = strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(c.root, "bench", "peers", "peer.h")); err != nil {
		return fmt.Errorf("this is not tandem's repository: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("a folder for the programs that are built: %w", err)
	}
	c.cache = filepath.Join(cache, "tandem", "peers")
	if err := os.MkdirAll(c.cache, 0o700); err != nil {
		return err
	}
	return c.buildTandem(ctx)
}

// write writes a file in one go.
func write(path string, f func(io.Writer) error) error {
	var b bytes.Buffer
	if err := f(&b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return maybe.WriteFile(path, b.Bytes(), 0o644)
}
