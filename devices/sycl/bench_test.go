package sycl

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

const incText = `__kernel void inc(__global int *x) { x[get_global_id(0)] += 1; }`

func incSource() *devices.Source {
	return &devices.Source{Name: "inc.cl", Language: devices.LangOpenCL, Text: []byte(incText)}
}

// chain launches a kernel n times, each after the one before it, and waits for
// the last.
func chain(t testing.TB, q *queue, k *kernel, b devices.Buffer, n int) {
	l := &devices.Launch{Kernel: k, Range: line(64, 64), Args: []devices.Arg{{Buffer: b}}}
	var last []devices.Event
	for range n {
		e, err := q.Launch(l, last)
		if err != nil {
			t.Fatal(err)
		}
		if last == nil {
			last = make([]devices.Event, 1)
		} else {
			last[0].Release()
		}
		last[0] = e
	}
	if err := devices.Wait(context.Background(), last[0]); err != nil {
		t.Fatal(err)
	}
	last[0].Release()
}

// nativeChain is the same from C++, through the runtime alone. It prints the
// microseconds of one launch.
const nativeChain = `
#include <sycl/sycl.hpp>
#include <sycl/backend/opencl.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
int main() {
  sycl::device dev;
  for (auto &p : sycl::platform::get_platforms())
    for (auto &d : p.get_devices())
      if (d.has(sycl::aspect::usm_device_allocations) && d.get_backend() == sycl::backend::opencl) { dev = d; goto found; }
found:
  sycl::context ctx(dev);
  sycl::queue q(ctx, dev, {sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()});
  const char *text = R"(` + incText + `)";
  cl_context c = sycl::get_native<sycl::backend::opencl>(ctx);
  cl_device_id id = sycl::get_native<sycl::backend::opencl>(dev);
  cl_program program = clCreateProgramWithSource(c, 1, &text, nullptr, nullptr);
  clBuildProgram(program, 1, &id, "", nullptr, nullptr);
  sycl::kernel k = sycl::make_kernel<sycl::backend::opencl>(clCreateKernel(program, "inc", nullptr), ctx);
  int *x = sycl::malloc_device<int>(64, q);
  q.memset(x, 0, 64 * sizeof(int)).wait();
  const int n = 10000;
  double best = 1e9;
  for (int round = 0; round < 6; round++) {
    auto begin = std::chrono::steady_clock::now();
    sycl::event last;
    for (int i = 0; i < n; i++)
      last = q.submit([&](sycl::handler &h) {
        if (i > 0)
          h.depends_on(last);
        h.set_arg(0, x);
        h.parallel_for(sycl::nd_range<1>(64, 64), k);
      });
    last.wait();
    double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / n;
    best = std::min(best, us);
  }
  int got = 0;
  q.memcpy(&got, x, sizeof got).wait();
  std::printf("%f %d\n", best, got);
}
`

// nativeMicroseconds builds and runs nativeChain.
func nativeMicroseconds(t testing.TB, d *device) float64 {
	t.Helper()
	cxx, err := compiler()
	r := d.lib.runtime
	if err != nil || r.Include == "" || !d.traits.native {
		t.Skipf("the program in C++ cannot be built here: %v", err)
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "chain.cpp"), filepath.Join(dir, "chain")
	if err := os.WriteFile(file, []byte(nativeChain), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(cxx[1:len(cxx):len(cxx)], "-std=c++17", "-O2", "-w", "-DSYCL_DISABLE_FSYCL_SYCLHPP_WARNING", "-I"+r.Include,
		file, "-o", program, r.SYCL, r.OpenCL, "-Wl,-rpath,"+r.LibDir, "-Wl,--allow-shlib-undefined", "-Wl,--disable-new-dtags")
	if log, err := exec.Command(cxx[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatalf("the program in C++: %v", err)
	}
	words := strings.Fields(string(out))
	if len(words) != 2 || words[1] != "60000" {
		t.Fatalf("the program in C++ said %q, want a time and 60000", out)
	}
	us, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return us
}

// BenchmarkLaunch is a chain of small kernels, and the same from C++ through
// the runtime alone.
func BenchmarkLaunch(b *testing.B) {
	d := open(b)
	q, k := newQueue(b, d), kernelOf(b, compile(b, d, incSource()), "inc")
	x := filled(b, q, make([]int32, 64))
	const n = 10_000
	best := time.Duration(1 << 62)
	for b.Loop() {
		begin := time.Now()
		chain(b, q, k, x, n)
		best = min(best, time.Since(begin))
	}
	us := float64(best.Microseconds()) / n
	native := nativeMicroseconds(b, d)
	b.ReportMetric(us, "launch.sycl.us")
	b.ReportMetric(native, "launch.sycl.native_us")
	b.ReportMetric(us/native, "ratio")
}
