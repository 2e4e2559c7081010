package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandemrun/tandem/bench"
)

// contest runs tandem and its peers in turns.
type contest struct {
	root    string // of the repository
	cache   string // folder of the programs that are built
	workers int
	rounds  int // 0: as many as the problem wants
	quick   bool
	device  string // what the OpenCL peer's platform is called
	limit   time.Duration
	log     io.Writer

	tandem string   // the program
	left   []string // what was left out of the problem, and why
}

// rounds is how often a problem is measured: those with peers several times, in
// turns with them.
func rounds(problem string) int {
	switch problem {
	case "launch", "stream":
		return 5
	case "overhead", "replay", "grain", "library", "cholesky", "gemm":
		return 3
	}
	return 1
}

func (c *contest) say(format string, args ...any) { fmt.Fprintf(c.log, format+"\n", args...) }

func (c *contest) leaveOut(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(c.left, text) {
		c.left = append(c.left, text)
		c.say("%s", text)
	}
}

// buildTandem builds the program that is measured.
func (c *contest) buildTandem(ctx context.Context) error {
	c.tandem = filepath.Join(c.cache, "tandem")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", c.tandem, "./cmd/tandem")
	cmd.Dir = c.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/tandem: %w\n%s", err, out)
	}
	return nil
}

// entrant is a system in a problem: a program and its arguments.
type entrant struct {
	system  string
	program string
	args    []string
	env     []string
	parse   func([]byte) ([]bench.Result, error)
}

// run measures some problems, all if none is named, and hands each over when it
// has been.
func (c *contest) run(ctx context.Context, names []string, done func(problem) error) error {
	problems, err := bench.Select(names...)
	if err != nil {
		return err
	}
	commit := describe(ctx, c.root)
	for _, p := range problems {
		begun := time.Now()
		c.left = nil
		var f figures
		load := loadAverages()
		all, err := c.entrants(ctx, p.Name)
		if err != nil {
			return err
		}
		n := c.rounds
		if n == 0 {
			n = rounds(p.Name)
			if c.quick {
				n = min(n, 2)
			}
		}
		for round := range n {
			// Who goes first changes: the machine may have been busy before.
			for i := range all {
				e := all[(i+round)%len(all)]
				results, err := c.measure(ctx, e)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err != nil {
					c.leaveOut("%s in %s, round %d: %v", e.system, p.Name, round+1, err)
					continue
				}
				f.add(e.system, round, results)
			}
		}
		c.say("%s: %d rounds of %d programs in %.1f s", p.Name, n, len(all), time.Since(begun).Seconds())
		f.borrow()
		err = done(problem{Name: p.Name, Date: begun.Format(time.RFC3339), Tandem: commit, Quick: c.quick, Load: load, Rows: rows(&f), LeftOut: c.left})
		if err != nil {
			return err
		}
	}
	return nil
}

// entrants are tandem and the peers that can be built.
func (c *contest) entrants(ctx context.Context, problem string) ([]entrant, error) {
	args := []string{"bench", problem, "--json"}
	var quick []string
	if c.quick {
		quick = []string{"--quick"}
	}
	var env []string
	if c.workers > 0 {
		env = append(env, "TANDEM_CPU_WORKERS="+strconv.Itoa(c.workers))
	}
	all := []entrant{{ours, c.tandem, append(args, quick...), env, parseTandem}}
	for _, p := range peers() {
		if p.problem != problem {
			continue
		}
		program, err := p.build(ctx, filepath.Join(c.root, "bench", "peers"), c.cache)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			c.leaveOut("%s in %s: %v", p.name, problem, err)
			continue
		}
		n := strconv.Itoa(c.threads())
		env := append([]string{"PEER_WORKERS=" + n, "OMP_NUM_THREADS=" + n, "POCL_MAX_PTHREAD_COUNT=" + n, "STARPU_HOME=" + c.cache}, p.env...)
		if c.device != "" {
			env = append(env, "PEER_OPENCL_PLATFORM="+c.device)
		}
		all = append(all, entrant{p.name, program, quick, env, parsePeer})
	}
	return all, nil
}

// measure runs a program once.
func (c *contest) measure(ctx context.Context, e entrant) ([]bench.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.program, e.args...)
	cmd.Env = append(os.Environ(), e.env...)
	cmd.WaitDelay = time.Second // what it started may hold its output open
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("took more than %v", c.limit)
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	results, err := e.parse(stdout.Bytes())
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("no figures: %s", strings.TrimSpace(stderr.String()))
	}
	return results, nil
}
