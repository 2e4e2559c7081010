// What the bridge to SYCL is compared with: the same work done from C++ through
// the runtime alone. Built by package bench, which writes to standard input one
// line for each measurement and reads one line for it:
//
//   device NAME \t PLATFORM   "ok", or why there is no such device
//   launch N                  microseconds per launch of a chain of N kernels
//   stream N                  gigabytes per second of a triad over N floats
//
// A line "error: ..." in place of a figure ends the program.
#include <sycl/sycl.hpp>
#include <sycl/backend/opencl.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

static const char *text =
    "__kernel void inc(__global int *x) { x[get_global_id(0)] += 1; }\n"
    "__kernel void triad(__global float *a, __global const float *b, __global const float *c, float s) {\n"
    "  size_t i = get_global_id(0);\n"
    "  a[i] = b[i] + s * c[i];\n"
    "}\n";

struct Bench {
  sycl::device device;
  sycl::context context;
  sycl::queue queue;
  sycl::kernel inc, triad;

  static sycl::kernel load(const sycl::context &context, cl_program program, const char *name) {
    return sycl::make_kernel<sycl::backend::opencl>(clCreateKernel(program, name, nullptr), context);
  }

  static cl_program build(const sycl::device &device, const sycl::context &context) {
    cl_device_id id = sycl::get_native<sycl::backend::opencl>(device);
    cl_program program = clCreateProgramWithSource(sycl::get_native<sycl::backend::opencl>(context), 1, &text, nullptr, nullptr);
    if (clBuildProgram(program, 1, &id, "", nullptr, nullptr) != CL_SUCCESS)
      throw std::runtime_error("the kernels do not compile");
    return program;
  }

  Bench(sycl::device d, sycl::context c, cl_program program)
      : device(d), context(c),
        // With times, as the queues of the driver.
        queue(c, d, {sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()}),
        inc(load(c, program, "inc")), triad(load(c, program, "triad")) {}

  double launch(int n) {
    const size_t items = 64;
    std::unique_ptr<int, std::function<void(int *)>> x(sycl::malloc_device<int>(items, queue), [&](int *p) { sycl::free(p, queue); });
    queue.memset(x.get(), 0, items * sizeof(int)).wait();
    auto begin = std::chrono::steady_clock::now();
    sycl::event last;
    for (int i = 0; i < n; i++)
      last = queue.submit([&](sycl::handler &h) {
        h.set_arg(0, x.get());
        h.parallel_for(sycl::nd_range<1>(items, items), inc);
      });
    last.wait();
    double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / n;
    int got = 0;
    queue.memcpy(&got, x.get(), sizeof got).wait();
    if (got != n)
      throw std::runtime_error("wrong result");
    return us;
  }

  double stream(size_t n) {
    auto array = [&](float v) {
      std::shared_ptr<float> p(sycl::aligned_alloc_shared<float>(4096, n, queue), [this](float *q) { sycl::free(q, queue); });
      std::fill_n(p.get(), n, v);
      return p;
    };
    auto a = array(0), b = array(1), c = array(1);
    double best = 0;
    for (int round = 0; round < 3; round++) { // nativeRuns
      auto begin = std::chrono::steady_clock::now();
      queue.submit([&](sycl::handler &h) {
        h.set_arg(0, a.get());
        h.set_arg(1, b.get());
        h.set_arg(2, c.get());
        h.set_arg(3, 3.0f);
        h.parallel_for(sycl::range<1>(n), triad);
      }).wait();
      double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      best = std::max(best, 12 * double(n) / s / 1e9);
    }
    if (a.get()[0] != 4 || a.get()[n - 1] != 4)
      throw std::runtime_error("wrong result");
    return best;
  }
};

static std::unique_ptr<Bench> open(const std::string &want) {
  for (auto &p : sycl::platform::get_platforms())
    for (auto &d : p.get_devices())
      if (d.get_backend() == sycl::backend::opencl && d.has(sycl::aspect::usm_device_allocations) &&
          d.get_info<sycl::info::device::name>() + "\t" + p.get_info<sycl::info::platform::name>() == want) {
        sycl::context c(d);
        return std::make_unique<Bench>(d, c, Bench::build(d, c));
      }
  throw std::runtime_error("no such device");
}

int main() try {
  std::unique_ptr<Bench> bench;
  for (std::string line; std::getline(std::cin, line);) {
    auto blank = line.find(' ');
    std::string what = line.substr(0, blank), rest = blank == line.npos ? "" : line.substr(blank + 1);
    if (what == "device") {
      bench = open(rest);
      std::printf("ok\n");
    } else if (bench && what == "launch") {
      std::printf("%f\n", bench->launch(std::stoi(rest)));
    } else if (bench && what == "stream") {
      std::printf("%f\n", bench->stream(std::stoul(rest)));
    } else {
      throw std::runtime_error("no such measurement: " + line);
    }
    std::fflush(stdout);
  }
} catch (const std::exception &e) {
  std::printf("error: %s\n", e.what());
}
