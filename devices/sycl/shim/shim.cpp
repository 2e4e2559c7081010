// tandem's shim over a SYCL 2020 runtime: a C ABI that a program can call
// without linking C++. It is compiled on the machine it runs on, against the
// headers of the runtime that is there, by any C++17 compiler: it holds no
// device code.
//
// The ABI
//
//   - Every function is called tandem_sycl_*, and takes integers, pointers to
//     plain memory and handles (64-bit numbers that mean something here only).
//   - A function that can fail returns a Status and, unless that is OK, fills
//     in the Error that it was given. No exception leaves this file.
//   - Any thread may call any function. A handle is freed once, and not while
//     another thread uses it.
//   - What a call is given as a pointer is read before it returns, except the
//     memory that a copy or a kernel works on.
//   - Sizes, offsets and local sizes are given with dimension 0 the fastest
//     varying, as OpenCL counts. SYCL counts the other way round; the order is
//     turned here, so that a kernel in SYCL C++ sees what its author expects:
//     the fastest varying dimension is its last.
//   - tandem_sycl_abi() is the number below. It changes whenever a caller of
//     the old ABI would go wrong.
//
// Extensions of the runtime are used behind their feature-test macros. On the
// OpenCL back end completion is told by clSetEventCallback, and kernels made of
// a program of OpenCL are launched by OpenCL's own functions on the queue's own
// queue, which is in order whoever enqueues; on any other one thread per queue
// waits for the events that somebody asked about, and all else is SYCL's.

#include <sycl/sycl.hpp>

#if __has_include(<CL/cl.h>) && __has_include(<sycl/backend/opencl.hpp>)
#include <sycl/backend/opencl.hpp>
#define TANDEM_OPENCL 1
#else
#define TANDEM_OPENCL 0
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef _WIN32
#include <windows.h>
#define TANDEM_API extern "C" __declspec(dllexport)
#else
#include <dlfcn.h>
#define TANDEM_API extern "C" __attribute__((visibility("default")))
#endif

namespace {

constexpr int32_t abi = 2;

enum Status : int32_t {
  OK = 0,
  Failed = 1,      // anything else
  Unavailable = 2, // no such device
  Unsupported = 3, // the device or the runtime cannot do this
  OutOfMemory = 4,
  DeviceLost = 5,
  Invalid = 6,  // a wrong argument
  NoBuild = 7,  // the source does not compile; the program's log says why
  NoKernel = 8, // the program has no kernel of that name
};

struct Error {
  int32_t status;
  int32_t native;  // the back end's own code, 0 where there is none
  char text[1016]; // zero-terminated
};

// One argument of a launch.
struct Argument {
  enum : uint32_t { Pointer = 0, Value = 1, Local = 2 };
  uint32_t kind;
  uint32_t reserved;
  uint64_t size; // of a value or of local memory, in bytes
  uint64_t data; // Pointer: the pointer itself; Value: where its bytes are
};

struct Launch {
  uint64_t kernel;
  uint32_t dims;      // 1 to 3
  uint32_t arguments; // how many
  uint64_t argument;  // where they are: Argument[arguments]
  uint64_t offset[3], global[3], local[3];
};

enum Language : int32_t { LangOpenCL = 1, LangSPIRV = 2, LangBinary = 3, LangSYCL = 4, LangSYCLBinary = 5 };

struct Build {
  int32_t language;
  int32_t options; // how many
  uint64_t text, size;
  uint64_t option; // where they are: const char *[options], zero-terminated
  int32_t names;   // how many, of SYCL C++: the kernels that are not extern "C"
  int32_t reserved;
  uint64_t name; // where they are, as the options
};

struct Failure {
  Status status;
  int32_t native;
  std::string text;
};

[[noreturn]] void fail(Status status, std::string text, int32_t native = 0) {
  throw Failure{status, native, std::move(text)};
}

Status classify(const sycl::exception &e) {
  const std::string_view text = e.what();
  auto says = [&](std::string_view word) { return text.find(word) != text.npos; };
  if (says("DEVICE_LOST"))
    return DeviceLost;
  if (says("OUT_OF_HOST_MEMORY") || says("OUT_OF_DEVICE_MEMORY") || says("OUT_OF_RESOURCES") || says("MEM_OBJECT_ALLOCATION"))
    return OutOfMemory;
  if (e.code().category() != sycl::sycl_category())
    return Failed;
  switch (static_cast<sycl::errc>(e.code().value())) {
  case sycl::errc::memory_allocation:
    return OutOfMemory;
  case sycl::errc::feature_not_supported:
  case sycl::errc::backend_mismatch:
    return Unsupported;
  case sycl::errc::build:
    return NoBuild;
  case sycl::errc::invalid:
  case sycl::errc::nd_range:
  case sycl::errc::kernel_argument:
  case sycl::errc::kernel_not_supported:
    return Invalid;
  default:
    return Failed;
  }
}

int32_t report(Error *err, Status status, int32_t native, const char *text) {
  if (err) {
    err->status = status;
    err->native = native;
    std::snprintf(err->text, sizeof err->text, "%s", text);
  }
  return status;
}

// guarded runs f and turns whatever it throws into a Status.
template <typename F> int32_t guarded(Error *err, F &&f) noexcept {
  try {
    f();
    return OK;
  } catch (const Failure &e) {
    return report(err, e.status, e.native, e.text.c_str());
  } catch (const sycl::exception &e) {
    return report(err, classify(e), e.code().value(), e.what());
  } catch (const std::bad_alloc &) {
    return report(err, OutOfMemory, 0, "the host is out of memory");
  } catch (const std::exception &e) {
    return report(err, Failed, 0, e.what());
  } catch (...) {
    return report(err, Failed, 0, "an exception of an unknown type");
  }
}

template <typename T> uint64_t handle(T *p) { return reinterpret_cast<uintptr_t>(p); }
template <typename T> T *object(uint64_t h) { return reinterpret_cast<T *>(static_cast<uintptr_t>(h)); }

// ---------------------------------------------------------------- OpenCL

#if TANDEM_OPENCL
// The functions of OpenCL that the shim calls itself, from the library that
// the runtime has loaded.
struct OpenCL {
  decltype(&::clSetEventCallback) setEventCallback = nullptr;
  decltype(&::clGetEventInfo) getEventInfo = nullptr;
  decltype(&::clGetEventProfilingInfo) getEventProfilingInfo = nullptr;
  decltype(&::clWaitForEvents) waitForEvents = nullptr;
  decltype(&::clRetainEvent) retainEvent = nullptr;
  decltype(&::clReleaseEvent) releaseEvent = nullptr;
  decltype(&::clReleaseContext) releaseContext = nullptr;
  decltype(&::clReleaseDevice) releaseDevice = nullptr;
  decltype(&::clReleaseCommandQueue) releaseQueue = nullptr;
  decltype(&::clEnqueueNDRangeKernel) enqueueKernel = nullptr;
  decltype(&::clSetKernelArg) setKernelArg = nullptr;
  decltype(&::clGetExtensionFunctionAddressForPlatform) getExtension = nullptr;
  decltype(&::clFlush) flush = nullptr;
  decltype(&::clGetDeviceInfo) getDeviceInfo = nullptr;
  decltype(&::clCreateProgramWithSource) createProgramWithSource = nullptr;
  decltype(&::clCreateProgramWithBinary) createProgramWithBinary = nullptr;
  void *createProgramWithIL = nullptr; // of OpenCL 2.1
  decltype(&::clBuildProgram) buildProgram = nullptr;
  decltype(&::clReleaseProgram) releaseProgram = nullptr;
  decltype(&::clGetProgramInfo) getProgramInfo = nullptr;
  decltype(&::clGetProgramBuildInfo) getProgramBuildInfo = nullptr;
  decltype(&::clCreateKernel) createKernel = nullptr;
  decltype(&::clReleaseKernel) releaseKernel = nullptr;
  decltype(&::clGetKernelInfo) getKernelInfo = nullptr;
  decltype(&::clGetKernelArgInfo) getKernelArgInfo = nullptr;
  decltype(&::clGetKernelWorkGroupInfo) getKernelWorkGroupInfo = nullptr;
  bool complete = false;

  OpenCL() {
#ifdef _WIN32
    HMODULE lib = GetModuleHandleA("OpenCL.dll");
    auto find = [&](const char *name) { return lib ? reinterpret_cast<void *>(GetProcAddress(lib, name)) : nullptr; };
#else
    void *lib = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
    auto find = [&](const char *name) { return lib ? dlsym(lib, name) : nullptr; };
#endif
    complete = lib != nullptr;
    auto get = [&](auto &fn, const char *name) {
      fn = reinterpret_cast<std::remove_reference_t<decltype(fn)>>(find(name));
      complete = complete && fn;
    };
    get(setEventCallback, "clSetEventCallback");
    get(getEventInfo, "clGetEventInfo");
    get(getEventProfilingInfo, "clGetEventProfilingInfo");
    get(waitForEvents, "clWaitForEvents");
    get(retainEvent, "clRetainEvent");
    get(releaseEvent, "clReleaseEvent");
    get(releaseContext, "clReleaseContext");
    get(releaseDevice, "clReleaseDevice");
    get(releaseQueue, "clReleaseCommandQueue");
    get(enqueueKernel, "clEnqueueNDRangeKernel");
    get(setKernelArg, "clSetKernelArg");
    get(getExtension, "clGetExtensionFunctionAddressForPlatform");
    get(flush, "clFlush");
    get(getDeviceInfo, "clGetDeviceInfo");
    get(createProgramWithSource, "clCreateProgramWithSource");
    get(createProgramWithBinary, "clCreateProgramWithBinary");
    get(buildProgram, "clBuildProgram");
    get(releaseProgram, "clReleaseProgram");
    get(getProgramInfo, "clGetProgramInfo");
    get(getProgramBuildInfo, "clGetProgramBuildInfo");
    get(createKernel, "clCreateKernel");
    get(releaseKernel, "clReleaseKernel");
    get(getKernelInfo, "clGetKernelInfo");
    get(getKernelArgInfo, "clGetKernelArgInfo");
    get(getKernelWorkGroupInfo, "clGetKernelWorkGroupInfo");
    createProgramWithIL = find("clCreateProgramWithIL");
  }
};

const OpenCL &cl() {
  static const OpenCL functions;
  return functions;
}

// A reference to a native object, as get_native hands it out, given back at the
// end.
template <typename T> struct Held {
  T h;
  cl_int(CL_API_CALL *release)(T);
  Held(T h, cl_int(CL_API_CALL *release)(T)) : h(h), release(release) {}
  Held(const Held &) = delete;
  ~Held() {
    if (h)
      release(h);
  }
  operator T() const { return h; }
};

Held<cl_device_id> native(const sycl::device &d) { return {sycl::get_native<sycl::backend::opencl>(d), cl().releaseDevice}; }
Held<cl_context> native(const sycl::context &c) { return {sycl::get_native<sycl::backend::opencl>(c), cl().releaseContext}; }
Held<cl_kernel> native(const sycl::kernel &k) { return {sycl::get_native<sycl::backend::opencl>(k), cl().releaseKernel}; }

void check(cl_int code, const std::string &call) {
  if (code == CL_SUCCESS)
    return;
  Status status = Invalid;
  switch (code) {
  case CL_MEM_OBJECT_ALLOCATION_FAILURE:
  case CL_OUT_OF_RESOURCES:
  case CL_OUT_OF_HOST_MEMORY:
    status = OutOfMemory;
    break;
  case CL_DEVICE_NOT_AVAILABLE:
    status = DeviceLost;
    break;
  case CL_COMPILER_NOT_AVAILABLE:
  case CL_INVALID_OPERATION:
    status = Unsupported;
    break;
  case CL_BUILD_PROGRAM_FAILURE:
    status = NoBuild;
    break;
  case CL_INVALID_KERNEL_NAME:
    status = NoKernel;
    break;
  }
  fail(status, call + " failed", code);
}
#endif

// ---------------------------------------------------------------- objects

struct Device {
  sycl::device dev;
  sycl::context ctx;
  bool opencl; // the OpenCL back end, and its functions are known
  bool direct; // events are asked about by OpenCL's own functions
  // A runtime on the host's cores counts on the thread that waits as one of its
  // workers: as long as nobody waits, one core less works.
  bool joins;
#if TANDEM_OPENCL
  using SetPointer = cl_int(CL_API_CALL *)(cl_kernel, cl_uint, const void *);
  SetPointer setPointer = nullptr; // nullptr: launches are SYCL's
#endif
  Device(sycl::device d, bool plain)
      : dev(std::move(d)), ctx(dev, [](sycl::exception_list) { /* failures are those of events */ }),
#if TANDEM_OPENCL
        opencl(dev.get_backend() == sycl::backend::opencl && cl().complete)
#else
        opencl(false)
#endif
        ,
        direct(opencl && !plain), joins(direct && dev.is_cpu()) {
#if TANDEM_OPENCL
    if (!direct)
      return;
    const Held<cl_device_id> id = native(dev);
    cl_platform_id platform = nullptr;
    if (cl().getDeviceInfo(id, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr) == CL_SUCCESS)
      setPointer = reinterpret_cast<SetPointer>(cl().getExtension(platform, "clSetKernelArgMemPointerINTEL"));
#endif
  }
};

struct Event;

// A Waiter is the thread that waits for the events of a queue: in place of a
// callback, or to lend its core to a runtime whose waiting threads work. It
// starts with the first event that somebody asks about.
struct Waiter {
  std::mutex mu;
  std::condition_variable changed;
  std::deque<Event *> list;
#if TANDEM_OPENCL
  cl_event join = nullptr; // the latest to be waited for by working; a reference
  void help(cl_event e);
#endif
  bool closing = false;
  std::thread thread;

  void add(Event *e);
  void start();
  void run();
  ~Waiter();
};

struct Queue {
  Device *device;
  sycl::queue q;
#if TANDEM_OPENCL
  cl_command_queue native = nullptr;
#endif
  Waiter waiter; // its thread ends before the queue goes
  // Somebody else may have put commands on the queue that SYCL holds back, such
  // as tasks of the host: then all that comes behind them goes through SYCL.
  std::atomic<bool> mixed{false};
  explicit Queue(Device *d)
      : device(d), q(d->ctx, d->dev, [](sycl::exception_list) { /* failures are those of events */ },
                     {sycl::property::queue::in_order(), sycl::property::queue::enable_profiling()}) {
#if TANDEM_OPENCL
    if (d->direct)
      native = sycl::get_native<sycl::backend::opencl>(q);
#endif
  }
  ~Queue() {
#if TANDEM_OPENCL
    if (native)
      cl().releaseQueue(native);
#endif
  }
};

// An Event may outlive its queue. Then it has finished, and nobody asks to be
// told.
struct Event {
  std::optional<sycl::event> ev; // none: a command of OpenCL, until SYCL needs it
  Queue *queue;
  uint64_t token = 0; // of the caller, once it asked to be told
  std::atomic<bool> told{false}; // status is known
  int32_t status = 0;            // with which it finished
  const bool direct;
  Event *next = nullptr;
#if TANDEM_OPENCL
  std::once_flag once;
  std::atomic<bool> fetched{false}; // native is set
  cl_event native = nullptr; // one reference of our own
  cl_event get() {
    std::call_once(once, [this] {
      if (fetched)
        return;
      auto list = sycl::get_native<sycl::backend::opencl>(*ev);
      for (size_t i = 1; i < list.size(); i++)
        cl().releaseEvent(list[i]);
      if (!list.empty())
        native = list[0];
      fetched = native != nullptr;
    });
    return native;
  }
  // Takes the reference.
  Event(cl_event e, Queue *q) : queue(q), direct(true), fetched(true), native(e) {}
#endif
  Event(sycl::event e, Queue *q) : ev(std::move(e)), queue(q), direct(q->device->direct) {}
  // The event as SYCL knows it, for a wait list.
  sycl::event asSYCL() const {
#if TANDEM_OPENCL
    if (!ev)
      return sycl::make_event<sycl::backend::opencl>({native}, queue->device->ctx);
#endif
    return *ev;
  }
  void wait() {
#if TANDEM_OPENCL
    if (!ev) {
      check(cl().waitForEvents(1, &native), "clWaitForEvents");
      return;
    }
#endif
    ev->wait_and_throw();
  }
  ~Event() {
#if TANDEM_OPENCL
    if (native)
      cl().releaseEvent(native);
#endif
  }
};

// failure is how a Status looks as the status of an event, where the back end's
// codes are negative numbers too.
int32_t failure(int32_t status) { return status == OK ? 0 : -100000 - status; }

// Events that have finished and whose caller has not been told yet. The bell
// rings once for each.
struct Finished {
  std::mutex mu;
  Event *head = nullptr, *tail = nullptr;
  std::atomic<void (*)()> bell{nullptr};

  void add(Event *e, int32_t status) {
    {
      std::lock_guard lock(mu);
      e->status = status;
      e->told = true;
      e->next = nullptr;
      (tail ? tail->next : head) = e;
      tail = e;
    }
    bell.load()();
  }
} finished;

void Waiter::start() {
  if (!thread.joinable())
    thread = std::thread([this] { run(); });
  changed.notify_one();
}

void Waiter::add(Event *e) {
  std::lock_guard lock(mu);
  list.push_back(e);
  start();
}

#if TANDEM_OPENCL
// help waits for an event of which somebody else is told. On a queue that is in
// order the latest stands for those before it.
void Waiter::help(cl_event e) {
  cl().retainEvent(e);
  std::lock_guard lock(mu);
  if (join)
    cl().releaseEvent(join);
  join = e;
  start();
}
#endif

void Waiter::run() {
  std::unique_lock lock(mu);
  for (;;) {
#if TANDEM_OPENCL
    changed.wait(lock, [this] { return closing || !list.empty() || join; });
    if (cl_event e = std::exchange(join, nullptr)) {
      lock.unlock();
      cl().waitForEvents(1, &e);
      cl().releaseEvent(e);
      lock.lock();
      continue;
    }
#else
    changed.wait(lock, [this] { return closing || !list.empty(); });
#endif
    if (list.empty())
      return;
    Event *e = list.front();
    list.pop_front();
    lock.unlock();
    int32_t status = guarded(nullptr, [&] { e->wait(); });
    finished.add(e, failure(status));
    lock.lock();
  }
}

Waiter::~Waiter() {
  {
    std::lock_guard lock(mu);
    closing = true;
    changed.notify_one();
  }
  if (thread.joinable())
    thread.join();
}

using Executable = sycl::kernel_bundle<sycl::bundle_state::executable>;

struct Program {
  Device *device;
  std::string log;
  std::unique_ptr<Executable> bundle; // what is not a program of OpenCL
#if TANDEM_OPENCL
  cl_program native = nullptr;
  ~Program() {
    if (native)
      cl().releaseProgram(native);
  }
#endif
  explicit Program(Device *d) : device(d) {}
};

struct Kernel {
  Device *device;
  sycl::kernel k;
#if TANDEM_OPENCL
  cl_kernel native = nullptr; // of a program of OpenCL; one reference
  ~Kernel() {
    if (native)
      cl().releaseKernel(native);
  }
#endif
  Kernel(Device *d, sycl::kernel k) : device(d), k(std::move(k)) {}
};

// ---------------------------------------------------------------- devices

// Lines of "key<tab>value".
struct Facts {
  std::string text;
  void add(const char *key, const std::string &value) {
    std::string clean = value;
    std::replace_if(clean.begin(), clean.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
    text += key;
    text += '\t' + clean + '\n';
  }
  void add(const char *key, uint64_t value) { add(key, std::to_string(value)); }
  // A property that a back end does not know is left out.
  template <typename F> void maybe(const char *key, F &&value) {
    try {
      add(key, value());
    } catch (const std::exception &) {
    }
  }
};

std::string hex(const unsigned char *b, size_t n) {
  std::string s;
  char two[3];
  for (size_t i = 0; i < n; i++) {
    std::snprintf(two, sizeof two, "%02x", b[i]);
    s += two;
  }
  return s;
}

std::string describe(const sycl::device &d) {
  namespace info = sycl::info::device;
  Facts f;
  auto get = [&](auto param) { return d.get_info<decltype(param)>(); };
  f.maybe("name", [&] { return get(info::name{}); });
  f.maybe("vendor", [&] { return get(info::vendor{}); });
  f.maybe("platform", [&] { return d.get_platform().get_info<sycl::info::platform::name>(); });
  f.maybe("driver", [&] { return get(info::driver_version{}); });
  f.maybe("version", [&] { return get(info::version{}); });
  const auto backend = d.get_backend();
  f.add("backend", backend == sycl::backend::opencl                ? "opencl"
                   : backend == sycl::backend::ext_oneapi_level_zero ? "level-zero"
                   : backend == sycl::backend::ext_oneapi_cuda       ? "cuda"
                   : backend == sycl::backend::ext_oneapi_hip        ? "hip"
                                                                     : "other");
  f.add("kind", d.is_cpu() ? "cpu" : d.is_gpu() ? "gpu" : "accelerator");
  f.maybe("units", [&] { return get(info::max_compute_units{}); });
  f.maybe("clock_mhz", [&] { return get(info::max_clock_frequency{}); });
  f.maybe("memory", [&] { return get(info::global_mem_size{}); });
  f.maybe("max_alloc", [&] { return get(info::max_mem_alloc_size{}); });
  f.maybe("local_memory", [&] { return get(info::local_mem_size{}); });
  f.maybe("base_align_bits", [&] { return get(info::mem_base_addr_align{}); });
  f.maybe("max_parameters", [&] { return get(info::max_parameter_size{}); });
  f.maybe("max_group", [&] { return get(info::max_work_group_size{}); });
  f.maybe("max_items", [&] {
    const auto n = get(info::max_work_item_sizes<3>{});
    return std::to_string(n[2]) + " " + std::to_string(n[1]) + " " + std::to_string(n[0]);
  });
  f.maybe("sub_groups", [&] {
    std::string s;
    for (size_t n : get(info::sub_group_sizes{}))
      s += (s.empty() ? "" : " ") + std::to_string(n);
    return s;
  });
  f.add("fp64", d.has(sycl::aspect::fp64));
  f.add("fp16", d.has(sycl::aspect::fp16));
  f.add("usm_device", d.has(sycl::aspect::usm_device_allocations));
  f.add("usm_host", d.has(sycl::aspect::usm_host_allocations));
  f.add("usm_shared", d.has(sycl::aspect::usm_shared_allocations));
  f.add("usm_system", d.has(sycl::aspect::usm_system_allocations));
  f.add("profiling", d.has(sycl::aspect::queue_profiling));
  f.add("compiler", d.has(sycl::aspect::online_compiler));
#ifdef SYCL_EXT_INTEL_DEVICE_INFO
  if (d.has(sycl::aspect::ext_intel_pci_address))
    f.maybe("pci", [&] { return get(sycl::ext::intel::info::device::pci_address{}); });
  if (d.has(sycl::aspect::ext_intel_device_info_uuid))
    f.maybe("uuid", [&] {
      const auto id = get(sycl::ext::intel::info::device::uuid{});
      return hex(id.data(), id.size());
    });
  if (d.has(sycl::aspect::ext_intel_free_memory))
    f.maybe("memory_free", [&] { return get(sycl::ext::intel::info::device::free_memory{}); });
#endif
#ifdef SYCL_EXT_ONEAPI_KERNEL_COMPILER
  namespace exp = sycl::ext::oneapi::experimental;
  auto builds = [&](exp::source_language l) {
    return [&d, l] { return uint64_t(const_cast<sycl::device &>(d).ext_oneapi_can_build(l)); };
  };
  f.maybe("builds_opencl", builds(exp::source_language::opencl));
  f.maybe("builds_spirv", builds(exp::source_language::spirv));
  f.maybe("builds_sycl", builds(exp::source_language::sycl));
#endif
#if TANDEM_OPENCL
  if (backend == sycl::backend::opencl && cl().complete) {
    f.add("native", 1);
    const auto id = native(d);
    auto text = [&](cl_device_info param) {
      size_t n = 0;
      if (cl().getDeviceInfo(id, param, 0, nullptr, &n) != CL_SUCCESS || n == 0)
        return std::string();
      std::string s(n, 0);
      cl().getDeviceInfo(id, param, n, s.data(), nullptr);
      return s.substr(0, s.find('\0'));
    };
    f.add("extensions", text(CL_DEVICE_EXTENSIONS));
    f.add("il", text(0x105B)); // CL_DEVICE_IL_VERSION
    cl_bool unified = CL_FALSE;
    if (cl().getDeviceInfo(id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, nullptr) == CL_SUCCESS)
      f.add("unified", uint64_t(unified));
  }
#endif
  f.maybe("aspect_emulated", [&] { return uint64_t(d.has(sycl::aspect::emulated)); });
  return f.text;
}

std::vector<sycl::device> list() {
  // Devices in the runtime's order of platforms, which is the same in every
  // run.
  std::vector<sycl::device> all;
  for (const auto &p : sycl::platform::get_platforms())
    for (const auto &d : p.get_devices())
      all.push_back(d);
  return all;
}

// ---------------------------------------------------------------- building

#if TANDEM_OPENCL
std::string nativeLog(Device *d, cl_program p) {
  const auto id = native(d->dev);
  size_t n = 0;
  if (cl().getProgramBuildInfo(p, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &n) != CL_SUCCESS || n == 0)
    return "";
  std::string s(n, 0);
  cl().getProgramBuildInfo(p, id, CL_PROGRAM_BUILD_LOG, n, s.data(), nullptr);
  return s.substr(0, s.find('\0'));
}

void buildNative(Program *p, const Build *b, const std::string &options) {
  Device *d = p->device;
  const auto ctx = native(d->ctx);
  const auto id = native(d->dev);
  const size_t size = b->size;
  const char *text = object<const char>(b->text);
  cl_int code = CL_SUCCESS, status = CL_SUCCESS;
  std::string call;
  switch (b->language) {
  case LangOpenCL:
    call = "clCreateProgramWithSource";
    p->native = cl().createProgramWithSource(ctx, 1, &text, &size, &code);
    break;
  case LangSPIRV: {
    call = "clCreateProgramWithIL";
    using Create = cl_program (*)(cl_context, const void *, size_t, cl_int *);
    if (!cl().createProgramWithIL)
      fail(Unsupported, "the OpenCL library has no clCreateProgramWithIL");
    p->native = reinterpret_cast<Create>(cl().createProgramWithIL)(ctx, text, size, &code);
    break;
  }
  default: {
    call = "clCreateProgramWithBinary";
    auto bytes = reinterpret_cast<const unsigned char *>(text);
    p->native = cl().createProgramWithBinary(ctx, 1, &id.h, &size, &bytes, &status, &code);
  }
  }
  check(code, call + "(" + std::to_string(size) + " bytes)");
  code = cl().buildProgram(p->native, 1, &id.h, options.c_str(), nullptr, nullptr);
  p->log = nativeLog(d, p->native);
  check(code, "clBuildProgram(\"" + options + "\")");
}
#endif

#ifdef SYCL_EXT_ONEAPI_KERNEL_COMPILER
void buildExtension(Program *p, const Build *b, std::vector<std::string> options) {
  namespace exp = sycl::ext::oneapi::experimental;
  Device *d = p->device;
  exp::registered_names names;
  for (int32_t i = 0; i < b->names; i++)
    names.add(object<const char *const>(b->name)[i]);
  auto finish = [&](auto source) {
    p->bundle = std::make_unique<Executable>(exp::build(
        source, std::vector<sycl::device>{d->dev}, exp::properties{exp::build_options{options}, exp::save_log{&p->log}, names}));
  };
  if (b->language == LangSPIRV) {
    auto bytes = object<const std::byte>(b->text);
    finish(exp::create_kernel_bundle_from_source(d->ctx, exp::source_language::spirv, std::vector<std::byte>(bytes, bytes + b->size)));
    return;
  }
  const auto language = b->language == LangSYCL ? exp::source_language::sycl : exp::source_language::opencl;
  finish(exp::create_kernel_bundle_from_source(d->ctx, language, std::string(object<const char>(b->text), b->size)));
}
#endif

void build(Program *p, const Build *b) {
  std::vector<std::string> options;
  std::string joined;
  for (int32_t i = 0; i < b->options; i++) {
    options.emplace_back(object<const char *const>(b->option)[i]);
    joined += (joined.empty() ? "" : " ") + options.back();
  }
  switch (b->language) {
  case LangOpenCL:
  case LangSPIRV:
  case LangBinary:
#if TANDEM_OPENCL
    if (p->device->opencl)
      return buildNative(p, b, joined);
#endif
    if (b->language == LangBinary)
      fail(Unsupported, "binaries are taken on the OpenCL back end only");
    [[fallthrough]];
  case LangSYCL:
#ifdef SYCL_EXT_ONEAPI_KERNEL_COMPILER
    return buildExtension(p, b, std::move(options));
#else
    fail(Unsupported, "this runtime has no compiler for kernels at run time");
#endif
  case LangSYCLBinary:
#ifdef SYCL_EXT_ONEAPI_SYCLBIN
  {
    namespace exp = sycl::ext::oneapi::experimental;
    std::vector<char> bytes(object<const char>(b->text), object<const char>(b->text) + b->size);
    p->bundle = std::make_unique<Executable>(exp::get_kernel_bundle<sycl::bundle_state::executable>(
        p->device->ctx, {p->device->dev}, sycl::span<char>(bytes.data(), bytes.size())));
    return;
  }
#else
    fail(Unsupported, "this runtime does not take back what it compiled");
#endif
  }
  fail(Invalid, "unknown language " + std::to_string(b->language));
}

// ---------------------------------------------------------------- launching

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // offsets of ranges

void setArguments(sycl::handler &h, const Launch *l) {
  const Argument *args = object<const Argument>(l->argument);
  for (uint32_t i = 0; i < l->arguments; i++) {
    const Argument &a = args[i];
    switch (a.kind) {
    case Argument::Pointer:
      h.set_arg(i, object<void>(a.data));
      break;
    case Argument::Local:
      h.set_arg(i, sycl::local_accessor<std::byte, 1>(sycl::range<1>(a.size), h));
      break;
    default:
#ifdef SYCL_EXT_ONEAPI_RAW_KERNEL_ARG
      h.set_arg(i, sycl::ext::oneapi::experimental::raw_kernel_arg(object<const void>(a.data), a.size));
#else
      switch (a.size) {
      case 1:
        h.set_arg(i, *object<const uint8_t>(a.data));
        break;
      case 2:
        h.set_arg(i, *object<const uint16_t>(a.data));
        break;
      case 4:
        h.set_arg(i, *object<const uint32_t>(a.data));
        break;
      case 8:
        h.set_arg(i, *object<const uint64_t>(a.data));
        break;
      default:
        fail(Unsupported, "argument " + std::to_string(i) + ": this runtime takes values of 1, 2, 4 or 8 bytes, not of " + std::to_string(a.size));
      }
#endif
    }
  }
}

sycl::event submit(Queue *q, const Launch *l, const std::vector<sycl::event> &wait) {
  const Kernel *k = object<const Kernel>(l->kernel);
  return q->q.submit([&](sycl::handler &h) {
    if (!wait.empty())
      h.depends_on(wait);
    setArguments(h, l);
    const auto *g = l->global, *n = l->local, *o = l->offset;
    switch (l->dims) {
    case 1:
      return h.parallel_for(sycl::nd_range<1>({g[0]}, {n[0]}, {o[0]}), k->k);
    case 2:
      return h.parallel_for(sycl::nd_range<2>({g[1], g[0]}, {n[1], n[0]}, {o[1], o[0]}), k->k);
    case 3:
      return h.parallel_for(sycl::nd_range<3>({g[2], g[1], g[0]}, {n[2], n[1], n[0]}, {o[2], o[1], o[0]}), k->k);
    }
    fail(Invalid, "a range of " + std::to_string(l->dims) + " dimensions");
  });
}
#pragma GCC diagnostic pop

// The events that a command waits for.
std::vector<sycl::event> events(const uint64_t *wait, uint64_t n) {
  std::vector<sycl::event> list;
  list.reserve(n);
  for (uint64_t i = 0; i < n; i++)
    list.push_back(object<Event>(wait[i])->asSYCL());
  return list;
}

#if TANDEM_OPENCL
// launchNative launches a kernel of OpenCL on the queue's own queue: the same
// command that SYCL would make, without what SYCL keeps of each. nullptr: it
// has to go through SYCL.
cl_event launchNative(Queue *q, const Launch *l, const uint64_t *wait, uint64_t n) {
  const Kernel *k = object<const Kernel>(l->kernel);
  if (!k->native || !q->native || !q->device->setPointer)
    return nullptr;
  constexpr uint64_t few = 16;
  cl_event own[few];
  std::vector<cl_event> many(n > few ? n : 0);
  cl_event *list = n > few ? many.data() : own;
  for (uint64_t i = 0; i < n; i++) {
    Event *e = object<Event>(wait[i]);
    if (e->queue->mixed)
      q->mixed = true;
    if (q->mixed || !(list[i] = e->get()))
      return nullptr;
  }
  if (q->mixed)
    return nullptr;
  const Argument *args = object<const Argument>(l->argument);
  for (uint32_t i = 0; i < l->arguments; i++) {
    const Argument &a = args[i];
    cl_int code = a.kind == Argument::Pointer ? q->device->setPointer(k->native, i, object<const void>(a.data))
                  : cl().setKernelArg(k->native, i, a.size, a.kind == Argument::Local ? nullptr : object<const void>(a.data));
    if (code != CL_SUCCESS)
      check(code, "setting argument " + std::to_string(i) + " of " + std::to_string(a.size) + " bytes");
  }
  size_t offset[3], global[3], local[3];
  bool moved = false;
  for (int i = 0; i < 3; i++) {
    offset[i] = l->offset[i], global[i] = l->global[i], local[i] = l->local[i];
    moved = moved || offset[i] != 0;
  }
  cl_event ev = nullptr;
  const cl_int code = cl().enqueueKernel(q->native, k->native, l->dims, moved ? offset : nullptr, global, local,
                                         static_cast<cl_uint>(n), n > 0 ? list : nullptr, &ev);
  if (code != CL_SUCCESS)
    check(code, "clEnqueueNDRangeKernel");
  return ev;
}
#endif

sycl::event marker(Queue *q, const std::vector<sycl::event> &wait) {
#ifdef SYCL_EXT_ONEAPI_ENQUEUE_BARRIER
  return wait.empty() ? q->q.ext_oneapi_submit_barrier() : q->q.ext_oneapi_submit_barrier(wait);
#else
  return q->q.submit([&](sycl::handler &h) {
    h.depends_on(wait);
    h.host_task([] {});
  });
#endif
}

void flush(Queue *q) {
#if TANDEM_OPENCL
  if (q->native) {
    check(cl().flush(q->native), "clFlush");
    return;
  }
#endif
#ifdef SYCL_KHR_QUEUE_FLUSH
  q->q.khr_flush();
#endif
}

} // namespace

// ---------------------------------------------------------------- the ABI

// tandem_sycl_abi is the version of the ABI.
TANDEM_API int32_t tandem_sycl_abi(void) { return abi; }

// tandem_sycl_version is the runtime's version: major, minor of libsycl in the
// upper and lower 16 bits, as the headers say it.
TANDEM_API int32_t tandem_sycl_version(void) {
#if defined(__LIBSYCL_MAJOR_VERSION)
  return __LIBSYCL_MAJOR_VERSION << 16 | __LIBSYCL_MINOR_VERSION;
#else
  return 0;
#endif
}

// tandem_sycl_start sets the bell, a function that is called on any thread
// once for each event that has finished and that tandem_sycl_event_notify was
// called for. It has to be called first; whoever calls it again gives a bell
// that does the same.
TANDEM_API void tandem_sycl_start(void (*bell)(void)) { finished.bell = bell; }

// Texts are handed out as objects with a length.
TANDEM_API const char *tandem_sycl_text_data(uint64_t text) { return object<std::string>(text)->data(); }
TANDEM_API uint64_t tandem_sycl_text_size(uint64_t text) { return object<std::string>(text)->size(); }
TANDEM_API void tandem_sycl_text_free(uint64_t text) { delete object<std::string>(text); }

// tandem_sycl_list describes every device in lines of "key<tab>value", with an
// empty line after each device. The caller frees the text.
TANDEM_API int32_t tandem_sycl_list(uint64_t *text, Error *err) {
  return guarded(err, [&] {
    auto s = std::make_unique<std::string>();
    for (const auto &d : list())
      *s += describe(d) + "\n";
    *text = handle(s.release());
  });
}

// tandem_sycl_open opens the device that tandem_sycl_list gives at index, with
// a context of its own. With plain other than 0 events are dealt with by SYCL
// alone, as on any back end, also where OpenCL could be asked.
TANDEM_API int32_t tandem_sycl_open(uint64_t index, int32_t plain, uint64_t *device, Error *err) {
  return guarded(err, [&] {
    const auto all = list();
    if (index >= all.size())
      fail(Unavailable, "there is no device " + std::to_string(index) + ", only " + std::to_string(all.size()) + " are there");
    *device = handle(new Device(all[index], plain != 0));
  });
}

TANDEM_API void tandem_sycl_close(uint64_t device, Error *err) {
  guarded(err, [&] { delete object<Device>(device); });
}

// tandem_sycl_alloc allocates USM: kind 0 on the device, 1 on the host, 2
// shared.
TANDEM_API int32_t tandem_sycl_alloc(uint64_t device, uint64_t kind, uint64_t size, uint64_t align, uint64_t *pointer, Error *err) {
  return guarded(err, [&] {
    Device *d = object<Device>(device);
    void *p = nullptr;
    switch (kind) {
    case 0:
      p = sycl::aligned_alloc_device(align, size, d->dev, d->ctx);
      break;
    case 1:
      p = sycl::aligned_alloc_host(align, size, d->ctx);
      break;
    case 2:
      p = sycl::aligned_alloc_shared(align, size, d->dev, d->ctx);
      break;
    default:
      fail(Invalid, "unknown kind of memory " + std::to_string(kind));
    }
    if (!p)
      fail(OutOfMemory, "the runtime gave no memory");
    *pointer = handle(p);
  });
}

TANDEM_API int32_t tandem_sycl_free(uint64_t device, uint64_t pointer, Error *err) {
  return guarded(err, [&] { sycl::free(object<void>(pointer), object<Device>(device)->ctx); });
}

// tandem_sycl_queue makes an in-order queue that keeps times.
TANDEM_API int32_t tandem_sycl_queue(uint64_t device, uint64_t *queue, Error *err) {
  return guarded(err, [&] {
    *queue = handle(new Queue(object<Device>(device)));
  });
}

// tandem_sycl_queue_free frees a queue whose work is done and whose events are
// freed, or will be without being asked about.
TANDEM_API void tandem_sycl_queue_free(uint64_t queue, Error *err) {
  guarded(err, [&] { delete object<Queue>(queue); });
}

// tandem_sycl_flush hands what was enqueued to the device.
TANDEM_API int32_t tandem_sycl_flush(uint64_t queue, Error *err) {
  return guarded(err, [&] { flush(object<Queue>(queue)); });
}

// tandem_sycl_finish waits for all that was enqueued. Commands that failed are
// its failure too.
TANDEM_API int32_t tandem_sycl_finish(uint64_t queue, Error *err) {
  return guarded(err, [&] { object<Queue>(queue)->q.wait_and_throw(); });
}

// tandem_sycl_copy copies size bytes after the n events of wait. Both sides are
// USM of the queue's context, or host memory where the device takes that.
TANDEM_API int32_t tandem_sycl_copy(uint64_t queue, uint64_t dst, uint64_t src, uint64_t size, const uint64_t *wait, uint64_t n, uint64_t *event, Error *err) {
  return guarded(err, [&] {
    Queue *q = object<Queue>(queue);
    auto ev = n == 0 ? q->q.memcpy(object<void>(dst), object<void>(src), size) : q->q.memcpy(object<void>(dst), object<void>(src), size, events(wait, n));
    *event = handle(new Event(std::move(ev), q));
  });
}

// tandem_sycl_marker enqueues nothing but an event.
TANDEM_API int32_t tandem_sycl_marker(uint64_t queue, const uint64_t *wait, uint64_t n, uint64_t *event, Error *err) {
  return guarded(err, [&] {
    Queue *q = object<Queue>(queue);
    *event = handle(new Event(marker(q, events(wait, n)), q));
  });
}

// tandem_sycl_launch launches a kernel. The local size has to divide the global
// size; whether it does is for the caller to see to.
TANDEM_API int32_t tandem_sycl_launch(uint64_t queue, const Launch *launch, const uint64_t *wait, uint64_t n, uint64_t *event, Error *err) {
  return guarded(err, [&] {
    Queue *q = object<Queue>(queue);
#if TANDEM_OPENCL
    if (cl_event e = launchNative(q, launch, wait, n)) {
      *event = handle(new Event(e, q));
      return;
    }
#endif
    *event = handle(new Event(submit(q, launch, events(wait, n)), q));
  });
}

// A function of a user's library, see include/tandem/sycl.hpp.
struct Call {
  uint32_t version; // of this struct: 1
  uint32_t dims;
  uint32_t arguments;
  uint32_t reserved;
  uint64_t offset[3], global[3], local[3];
  const Argument *argument;
  char *text; // where the function says what went wrong
  uint64_t textSize;
};

// tandem_sycl_call has a function of a user's library submit what it likes to
// the queue, after the events of wait; the event is that everything is done. A
// result other than 0 is a failure: of 1 to 8 a Status.
TANDEM_API int32_t tandem_sycl_call(uint64_t queue, uint64_t function, const Launch *launch, const uint64_t *wait, uint64_t n, uint64_t *event, Error *err) {
  return guarded(err, [&] {
    Queue *q = object<Queue>(queue);
    q->mixed = true;
    if (n > 0)
      marker(q, events(wait, n));
    char text[512] = "";
    Call call{1, launch->dims, launch->arguments, 0, {}, {}, {}, object<const Argument>(launch->argument), text, sizeof text};
    std::memcpy(call.offset, launch->offset, sizeof call.offset);
    std::memcpy(call.global, launch->global, sizeof call.global);
    std::memcpy(call.local, launch->local, sizeof call.local);
    auto f = reinterpret_cast<int32_t (*)(sycl::queue *, const Call *)>(static_cast<uintptr_t>(function));
    const int32_t code = f(&q->q, &call);
    if (code != 0) {
      q->q.wait(); // what it had submitted before uses the caller's buffers
      fail(code >= Failed && code <= NoKernel ? Status(code) : Failed, text[0] ? text : "the function returned " + std::to_string(code), code);
    }
    *event = handle(new Event(marker(q, {}), q));
  });
}

// tandem_sycl_event_status: 1 not finished, 0 finished, negative failed: the
// back end's code, or -100000 less a Status.
TANDEM_API int32_t tandem_sycl_event_status(uint64_t event) {
  Event *e = object<Event>(event);
  if (e->told)
    return e->status;
  int32_t result = 0;
  const int32_t status = guarded(nullptr, [&] {
#if TANDEM_OPENCL
    // Fetching the native event costs more than asking SYCL once.
    if (e->direct && e->fetched) {
      cl_int now = CL_QUEUED;
      check(cl().getEventInfo(e->native, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof now, &now, nullptr), "clGetEventInfo");
      result = now > CL_COMPLETE ? 1 : now;
      return;
    }
#endif
    result = e->ev->get_info<sycl::info::event::command_execution_status>() != sycl::info::event_command_status::complete;
  });
  return status == OK ? result : failure(status);
}

// tandem_sycl_event_wait blocks until the event is done.
TANDEM_API int32_t tandem_sycl_event_wait(uint64_t event, Error *err) {
  return guarded(err, [&] { object<Event>(event)->wait(); });
}

#if TANDEM_OPENCL
namespace {
void CL_CALLBACK told(cl_event, cl_int status, void *user) {
  finished.add(static_cast<Event *>(user), std::min(status, 0));
}
} // namespace
#endif

// tandem_sycl_event_notify has the bell rung once when the event is done, which
// may be before this returns; tandem_sycl_completed then gives the token, which
// is not 0. Once per event, which is not freed before.
TANDEM_API int32_t tandem_sycl_event_notify(uint64_t event, uint64_t token, Error *err) {
  return guarded(err, [&] {
    Event *e = object<Event>(event);
    e->token = token;
#if TANDEM_OPENCL
    if (e->direct && e->get()) {
      Queue *q = e->queue;
      // Once told, the caller may free the event.
      const Held<cl_event> held{e->native, cl().releaseEvent};
      cl().retainEvent(held);
      check(cl().setEventCallback(held, CL_COMPLETE, told, e), "clSetEventCallback");
      if (q->device->joins)
        q->waiter.help(held);
      return;
    }
#endif
    e->queue->waiter.add(e);
  });
}

// tandem_sycl_completed takes one event that has finished and returns its
// token, 0 when there is none.
TANDEM_API uint64_t tandem_sycl_completed(void) {
  std::lock_guard lock(finished.mu);
  Event *e = finished.head;
  if (!e)
    return 0;
  finished.head = e->next;
  if (!finished.head)
    finished.tail = nullptr;
  return e->token;
}

// tandem_sycl_event_times gives when the command was queued, submitted, begun
// and ended, in nanoseconds of the device's clock.
TANDEM_API int32_t tandem_sycl_event_times(uint64_t event, uint64_t *times, Error *err) {
  return guarded(err, [&] {
    Event *e = object<Event>(event);
#if TANDEM_OPENCL
    if (e->direct && e->get()) {
      for (int i = 0; i < 4; i++)
        check(cl().getEventProfilingInfo(e->native, CL_PROFILING_COMMAND_QUEUED + i, sizeof(cl_ulong), &times[i], nullptr), "clGetEventProfilingInfo");
      return;
    }
#endif
    times[0] = times[1] = e->ev->get_profiling_info<sycl::info::event_profiling::command_submit>();
    times[2] = e->ev->get_profiling_info<sycl::info::event_profiling::command_start>();
    times[3] = e->ev->get_profiling_info<sycl::info::event_profiling::command_end>();
  });
}

TANDEM_API void tandem_sycl_event_free(uint64_t event) {
  guarded(nullptr, [&] { delete object<Event>(event); });
}

// tandem_sycl_events_free frees n events at once.
TANDEM_API void tandem_sycl_events_free(const uint64_t *list, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    tandem_sycl_event_free(list[i]);
}

// tandem_sycl_build compiles a program. It gives a program, for its log, also
// when that fails with NoBuild.
TANDEM_API int32_t tandem_sycl_build(uint64_t device, const Build *b, uint64_t *program, Error *err) {
  *program = 0;
  return guarded(err, [&] {
    auto p = std::make_unique<Program>(object<Device>(device));
    Program *raw = p.release();
    *program = handle(raw);
    try {
      build(raw, b);
    } catch (const sycl::exception &e) {
      // The extensions put the compiler's words into the exception.
      if (raw->log.empty())
        raw->log = e.what();
      throw;
    }
  });
}

TANDEM_API void tandem_sycl_program_free(uint64_t program) {
  guarded(nullptr, [&] { delete object<Program>(program); });
}

// tandem_sycl_program_log is what the compiler said.
TANDEM_API int32_t tandem_sycl_program_log(uint64_t program, uint64_t *text, Error *err) {
  return guarded(err, [&] { *text = handle(new std::string(object<Program>(program)->log)); });
}

// tandem_sycl_program_names are the names of the kernels, one a line; empty
// where the runtime does not tell.
TANDEM_API int32_t tandem_sycl_program_names(uint64_t program, uint64_t *text, Error *err) {
  return guarded(err, [&] {
    auto s = std::make_unique<std::string>();
#if TANDEM_OPENCL
    if (cl_program p = object<Program>(program)->native) {
      size_t n = 0;
      check(cl().getProgramInfo(p, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &n), "clGetProgramInfo");
      s->resize(n);
      check(cl().getProgramInfo(p, CL_PROGRAM_KERNEL_NAMES, n, s->data(), nullptr), "clGetProgramInfo");
      s->resize(std::min(n, s->find('\0')));
      std::replace(s->begin(), s->end(), ';', '\n');
    }
#endif
    *text = handle(s.release());
  });
}

// tandem_sycl_program_binary is what a later build in LangBinary or, for SYCL
// C++, LangSYCLBinary takes in place of the source. Unsupported where the
// runtime does not give it.
TANDEM_API int32_t tandem_sycl_program_binary(uint64_t program, uint64_t *text, Error *err) {
  return guarded(err, [&] {
    Program *p = object<Program>(program);
    auto s = std::make_unique<std::string>();
#if TANDEM_OPENCL
    if (p->native) {
      size_t n = 0;
      check(cl().getProgramInfo(p->native, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, nullptr), "clGetProgramInfo");
      s->resize(n);
      char *data = s->data();
      check(cl().getProgramInfo(p->native, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr), "clGetProgramInfo");
    }
#endif
    if (p->bundle) {
#ifdef SYCL_EXT_ONEAPI_SYCLBIN
      const auto bytes = p->bundle->ext_oneapi_get_content();
      s->assign(bytes.data(), bytes.size());
#else
      fail(Unsupported, "this runtime does not give back what it compiled");
#endif
    }
    *text = handle(s.release());
  });
}

// tandem_sycl_kernel finds a kernel of a program by its name.
TANDEM_API int32_t tandem_sycl_kernel(uint64_t program, const char *name, uint64_t *kernel, Error *err) {
  return guarded(err, [&] {
    Program *p = object<Program>(program);
#if TANDEM_OPENCL
    if (p->native) {
      cl_int code = CL_SUCCESS;
      cl_kernel k = cl().createKernel(p->native, name, &code);
      check(code, std::string("clCreateKernel(") + name + ")");
      // make_kernel takes a reference of its own.
      std::unique_ptr<std::remove_pointer_t<cl_kernel>, decltype(cl().releaseKernel)> hold(k, cl().releaseKernel);
      auto made = std::make_unique<Kernel>(p->device, sycl::make_kernel<sycl::backend::opencl>(k, p->device->ctx));
      made->native = hold.release();
      *kernel = handle(made.release());
      return;
    }
#endif
#ifdef SYCL_EXT_ONEAPI_KERNEL_COMPILER
    if (!p->bundle->ext_oneapi_has_kernel(name))
      fail(NoKernel, std::string("there is no kernel ") + name);
    *kernel = handle(new Kernel(p->device, p->bundle->ext_oneapi_get_kernel(name)));
#else
    fail(Unsupported, "this runtime finds no kernels by name");
#endif
  });
}

TANDEM_API void tandem_sycl_kernel_free(uint64_t kernel) {
  guarded(nullptr, [&] { delete object<Kernel>(kernel); });
}

// tandem_sycl_kernel_info describes a kernel in lines of "key<tab>value", among
// them one "parameter<tab>SPACE|TYPE|NAME" for each parameter where the back
// end tells; SPACE is global, local, value or unknown.
TANDEM_API int32_t tandem_sycl_kernel_info(uint64_t kernel, uint64_t *text, Error *err) {
  return guarded(err, [&] {
    const Kernel *k = object<Kernel>(kernel);
    const sycl::device &d = k->device->dev;
    Facts f;
    namespace ki = sycl::info::kernel_device_specific;
    f.maybe("arguments", [&] { return k->k.get_info<sycl::info::kernel::num_args>(); });
    f.maybe("max_group", [&] { return k->k.get_info<ki::work_group_size>(d); });
    f.maybe("multiple", [&] { return k->k.get_info<ki::preferred_work_group_size_multiple>(d); });
    f.maybe("private_memory", [&] { return k->k.get_info<ki::private_mem_size>(d); });
    f.maybe("fixed_group", [&] {
      const auto n = k->k.get_info<ki::compile_work_group_size>(d);
      return std::to_string(n[2]) + " " + std::to_string(n[1]) + " " + std::to_string(n[0]);
    });
#if TANDEM_OPENCL
    if (k->device->opencl) {
      const auto held = native(k->k);
      const auto id = native(d);
      cl_kernel own = held;
      cl_ulong local = 0;
      if (cl().getKernelWorkGroupInfo(own, id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof local, &local, nullptr) == CL_SUCCESS)
        f.add("local_memory", local);
      cl_uint n = 0;
      cl().getKernelInfo(own, CL_KERNEL_NUM_ARGS, sizeof n, &n, nullptr);
      for (cl_uint i = 0; i < n; i++) {
        cl_kernel_arg_address_qualifier space = 0;
        char type[256] = "", name[256] = "";
        if (cl().getKernelArgInfo(own, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, nullptr) != CL_SUCCESS)
          break;
        cl().getKernelArgInfo(own, i, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type, nullptr);
        cl().getKernelArgInfo(own, i, CL_KERNEL_ARG_NAME, sizeof name - 1, name, nullptr);
        const char *where = space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT ? "global"
                            : space == CL_KERNEL_ARG_ADDRESS_LOCAL                                       ? "local"
                            : space == CL_KERNEL_ARG_ADDRESS_PRIVATE                                     ? "value"
                                                                                                         : "unknown";
        f.add("parameter", std::string(where) + "|" + type + "|" + name);
      }
    }
#endif
    *text = handle(new std::string(f.text));
  });
}
