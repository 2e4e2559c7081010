package fpga

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/toolchain"
)

// bare builds and runs the kernel mad_u32 as a program of its own and returns
// its million words per second.
func bare(b *testing.B, n int) float64 {
	b.Helper()
	dir := b.TempDir()
	frame, err := os.ReadFile("testdata/bare.cpp")
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{"kit.v": kitText, "bare.cpp": frame} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	tools := toolchain.Tools{}
	args := []string{"--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-Wno-fatal", "--prefix", "Vkernel", "--Mdir", "model", "--top-module", "mad_u32", "kit.v"}
	if _, err := tools.Run(b.Context(), dir, toolchain.Verilator, args...); err != nil {
		b.Fatal(err)
	}
	include, err := verilatorInclude(b.Context(), tools)
	if err != nil {
		b.Fatal(err)
	}
	parts, _ := filepath.Glob(filepath.Join(dir, "model", "*.cpp"))
	all := "#include \"bare.cpp\"\n"
	for _, p := range parts {
		all += fmt.Sprintf("#include %q\n", "model/"+filepath.Base(p))
	}
	if err := os.WriteFile(filepath.Join(dir, "all.cpp"), []byte(all), 0o600); err != nil {
		b.Fatal(err)
	}
	args = []string{"-std=c++17", "-O2", "-w", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TRACE=0", "-I.", "-Imodel", "-I" + include, "-o", "bare", "all.cpp"}
	for _, f := range runtimeFiles {
		args = append(args, filepath.Join(include, f))
	}
	if out, err := tools.Run(b.Context(), dir, toolchain.CXX, append(args, "-lpthread")...); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	tools.CXX = filepath.Join(dir, "bare") // run with the same bounds as a tool
	out, err := tools.Run(b.Context(), dir, toolchain.CXX, strconv.Itoa(n))
	if err != nil {
		b.Fatal(err)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// BenchmarkStream streams words through a kernel of one stage, beside the same
// kernel in a program of its own.
func BenchmarkStream(b *testing.B) {
	if err := (&Driver{}).Tools.Missing(needed...); err != nil {
		b.Skip(err)
	}
	const n = 1 << 20
	alone := bare(b, n)
	r := rigOf(b, &Driver{Check: CheckNever})
	k := r.kernel("kit.v", string(kitText), "mad_u32")
	for _, words := range []int{16, 1024, n} {
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			buf, err := r.d.Alloc(int64(words) * 4)
			if err != nil {
				b.Fatal(err)
			}
			defer buf.Free()
			l := devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{words}}, Args: []devices.Arg{{Buffer: buf}, number(3), number(5)}}
			b.SetBytes(int64(words) * 4)
			b.ReportAllocs()
			done := make(told, 1)
			best := time.Hour // of the single launches, as for the program of its own
			for b.Loop() {
				begun := time.Now()
				ev, err := r.q.Launch(&l, nil)
				if err != nil {
					b.Fatal(err)
				}
				ev.Notify(done)
				if err := <-done; err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(begun))
				ev.Release()
			}
			rate := float64(words) / best.Seconds() / 1e6
			b.ReportMetric(rate, "Mword/s")
			b.ReportMetric(rate/alone, "of-bare")
		})
	}
}

type told chan error

// Complete passes the outcome on.
func (t told) Complete(err error) { t <- err }
