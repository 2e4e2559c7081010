package bench

import (
	"bufio"
	"context"
	_ "embed" // the program in C++
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sycl"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

//go:embed native/sycl.cpp
var nativeSYCL []byte

// native is the program in C++ that does the same as tandem through the SYCL
// runtime alone, on the same device. It measures when it is told to, so that
// rounds of both can take turns.
type native struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	dir string
}

// newNative builds and starts the program.
func newNative(ctx context.Context, info devices.Info) (n *native, err error) {
	n = &native{}
	defer func() {
		if err != nil {
			n.close()
			n = nil
		}
	}()
	if n.dir, err = os.MkdirTemp("", "tandem-bench-"); err != nil {
		return n, err
	}
	program := filepath.Join(n.dir, "native")
	if err := sycl.BuildProgram(ctx, nativeSYCL, program); err != nil {
		return n, err
	}
	n.cmd = exec.CommandContext(ctx, program)
	n.cmd.Stderr = os.Stderr
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return n, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return n, err
	}
	n.out = bufio.NewReader(out)
	if err := n.cmd.Start(); err != nil {
		return n, err
	}
	answer, err := n.ask("device %s\t%s", info.Name, info.Platform)
	if err == nil && answer != "ok" {
		err = fmt.Errorf("the program in C++ does not find %s: %q", info.ID, answer)
	}
	return n, err
}

// ask sends one line and reads one.
func (n *native) ask(format string, args ...any) (string, error) {
	line := fmt.Sprintf(format, args...)
	if _, err := fmt.Fprintln(n.in, line); err != nil {
		return "", fmt.Errorf("the program in C++, %q: %w", line, err)
	}
	answer, err := n.out.ReadString('\n')
	answer = strings.TrimSpace(answer)
	if why, failed := strings.CutPrefix(answer, "error: "); failed {
		err = errors.New(why)
	}
	if err != nil {
		return "", fmt.Errorf("the program in C++, %q: %w", line, err)
	}
	return answer, nil
}

// figure measures once.
func (n *native) figure(what string, size int) (float64, error) {
	answer, err := n.ask("%s %d", what, size)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(answer, 64)
}

func (n *native) close() {
	if n.in != nil {
		_ = n.in.Close()
	}
	if n.cmd != nil && n.cmd.Process != nil {
		_ = n.cmd.Wait()
	}
	if n.dir != "" {
		_ = os.RemoveAll(n.dir)
	}
}

// syclDevice is the first SYCL device on a back end that the program in C++ can
// be compared on; false, with a note, for none.
func (o *Options) syclDevice(ctx context.Context) (found, bool, error) {
	list, err := o.devices(ctx, devices.LangOpenCL)
	if err != nil {
		return found{}, false, err
	}
	for _, f := range list {
		if f.info.Backend == "sycl" {
			return f, true, nil
		}
	}
	o.note("there is no SYCL device that compiles OpenCL C: nothing to compare")
	return found{}, false, nil
}

// native is the program in C++ for a device; nil, with a note, where it cannot
// be built here.
func (o *Options) native(ctx context.Context, f found) (*native, error) {
	n, err := newNative(ctx, f.info)
	if errors.Is(err, devices.ErrUnavailable) {
		o.note("the program in C++ cannot be built: nothing to compare (%v)", err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the program in C++: %w", err)
	}
	return n, nil
}

const incCL = "__kernel void inc(__global int *x) { x[get_global_id(0)] += 1; }\n"

// LaunchSYCL runs a chain of small kernels through the SYCL driver, through
// tandem as a graph that was planned before, and from C++ through the SYCL
// runtime alone, in turns: microseconds per launch.
func LaunchSYCL(ctx context.Context, o Options) (all []Result, err error) {
	f, there, err := o.syclDevice(ctx)
	if err != nil || !there {
		return nil, err
	}
	nat, err := o.native(ctx, f)
	if err != nil || nat == nil {
		return nil, err
	}
	defer nat.close()
	k := withOpenCL(goKernel("inc", func(r devices.Range, a *devices.Args) {
		for i, x := r.Lo[0], devices.Slice[int32](a, 0); i < r.Hi[0]; i++ {
			x[i]++
		}
	}, array("x", devices.Int32, kernels.ReadWrite)), incCL)
	n, rounds := pick(&o, 10_000, 500), pick(&o, 8, 2)
	h, err := newHand(ctx, f.driver, k, 64)
	if err != nil {
		return nil, err
	}
	h.launch.Range.Local[0] = 64
	defer func() { err = errors.Join(err, h.close()) }()
	s, err := f.open(ctx, tandem.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	x, g := tandem.NewSlice[int32](s, 64), tandem.NewGraph()
	for range n {
		g.Add(k, x)
	}
	plan, err := s.Plan(ctx, g)
	if err != nil {
		return nil, err
	}
	best := [3]float64{1e9, 1e9, 1e9}
	for range rounds {
		us, err := nat.figure("launch", n)
		if err != nil {
			return nil, err
		}
		best[0] = min(best[0], us)
		start := time.Now()
		if err := h.run(ctx, n, 0); err != nil {
			return nil, err
		}
		best[1] = min(best[1], float64(time.Since(start).Nanoseconds())/1e3/float64(n))
		start = time.Now()
		r, err := s.Start(ctx, plan)
		if err != nil {
			return nil, err
		}
		if err := r.Wait(ctx); err != nil {
			return nil, err
		}
		best[2] = min(best[2], float64(time.Since(start).Nanoseconds())/1e3/float64(n))
	}
	v, err := x.Values(ctx)
	if err != nil {
		return nil, err
	}
	if want := int32(n * rounds); v[0] != want || v[63] != want {
		return nil, fmt.Errorf("launch.sycl: the array holds %d to %d, want %d", v[0], v[63], want)
	}
	return []Result{
		{"launch.sycl.us", best[1], "us", "lower"},
		{"launch.sycl.native_us", best[0], "us", "lower"},
		{"launch.sycl.over_native", best[1] / best[0], "ratio", "lower"},
		{"launch.sycl.graph_us", best[2], "us", "lower"},
	}, nil
}

// nativeRuns is how many triads native/sycl.cpp takes the best of, each time
// over arrays that its host has just written.
const nativeRuns = 3

// StreamSYCL measures the triad a = b + s·c on a SYCL device, through tandem
// and from C++ through the SYCL runtime alone, in turns: gigabytes per second,
// three arrays counted.
func StreamSYCL(ctx context.Context, o Options) (all []Result, err error) {
	f, there, err := o.syclDevice(ctx)
	if err != nil || !there {
		return nil, err
	}
	nat, err := o.native(ctx, f)
	if err != nil || nat == nil {
		return nil, err
	}
	defer nat.close()
	n, rounds := pick(&o, 16<<20, 1<<18), pick(&o, 8, 1)
	through, alone := 0.0, 0.0
	t, err := newTriadRun(ctx, f, n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.session.Close()) }()
	for range rounds {
		rate, err := nat.figure("stream", n)
		if err != nil {
			return nil, err
		}
		alone = max(alone, rate)
		// As many as the program in C++ takes the best of.
		if rate, err = t.best(ctx, nativeRuns); err != nil {
			return nil, err
		}
		through = max(through, rate/1e9)
	}
	return []Result{
		{"stream.sycl.gbps", through, "GB/s", "higher"},
		{"stream.sycl.native_gbps", alone, "GB/s", "higher"},
		{"stream.sycl.over_native", through / alone, "ratio", "higher"},
	}, nil
}
