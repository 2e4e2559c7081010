// What a shared library needs so that tandem can call its functions with a
// queue of its own (lang: sycl-library).
//
// Such a function submits whatever it likes to the queue: kernels, copies,
// calls of a SYCL library. It need not wait: the queue is in order, and tandem
// waits for what was submitted. The simple way is
//
//     #include <tandem/sycl.hpp>
//
//     static void scale(sycl::queue &q, float *x, float a, tandem::range r) {
//       q.parallel_for(r.global[0], [=](sycl::id<1> i) { x[i] *= a; });
//     }
//     TANDEM_SYCL_FUNCTION(scale)
//
// which exports the function `scale` with the arguments of the step: a buffer is
// a pointer of unified shared memory, a value is one of the same size. A
// tandem::range as the last parameter gets the range of the step; it is no
// argument. What the function throws fails the step, with its text.
//
// Build the library with the compiler that built the shim, or one that agrees
// with it on std:: types:
//
//     R=$TANDEM_SYCL_ROOT
//     g++ -std=c++17 -O2 -shared -fPIC -I$R/include -Idevices/sycl/include f.cpp -o libf.so \
//         -L$R/lib -l:libsycl.so.9 -Wl,--allow-shlib-undefined
//
// It finds libsycl because that is loaded already when the library is. Device
// code in lambdas needs a SYCL compiler (icpx, clang++ -fsycl); any other can
// submit copies, fills, host tasks and kernels that are compiled at run time.

#ifndef TANDEM_SYCL_HPP
#define TANDEM_SYCL_HPP

#include <sycl/sycl.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace tandem {

// The range of the step. Dimension 0 varies fastest, unlike in SYCL. A local
// size of 0 was left open.
struct range {
  std::uint32_t dims;
  std::uint64_t offset[3], global[3], local[3];
};

// One argument as it comes over the boundary.
struct argument {
  std::uint32_t kind; // 0 pointer, 1 value, 2 local memory
  std::uint32_t reserved;
  std::uint64_t size; // of a value, in bytes
  std::uint64_t data; // the pointer, or where the value is
};

// A call, as tandem makes it. Version 1.
struct call {
  std::uint32_t version;
  std::uint32_t dims;
  std::uint32_t arguments;
  std::uint32_t reserved;
  std::uint64_t offset[3], global[3], local[3];
  const argument *argument_list;
  char *text; // where to say what went wrong
  std::uint64_t text_size;
};

// What a function returns over the boundary: 0, or one of these.
enum : std::int32_t { failed = 1, invalid = 6 };

namespace detail {

[[noreturn]] inline void refuse(std::size_t i, const std::string &why) {
  throw std::invalid_argument("argument " + std::to_string(i) + ": " + why);
}

template <typename T> T take(const call &c, std::size_t i) {
  using U = std::remove_cv_t<std::remove_reference_t<T>>;
  const argument &a = c.argument_list[i];
  if constexpr (std::is_pointer_v<U>) {
    if (a.kind != 0)
      refuse(i, "it takes a buffer");
    return reinterpret_cast<U>(static_cast<std::uintptr_t>(a.data));
  } else {
    static_assert(std::is_trivially_copyable_v<U>, "arguments are pointers and plain values");
    if (a.kind != 1)
      refuse(i, "it takes a value of " + std::to_string(sizeof(U)) + " bytes");
    if (a.size != sizeof(U))
      refuse(i, "it takes " + std::to_string(sizeof(U)) + " bytes, " + std::to_string(a.size) + " were given");
    U v;
    std::memcpy(&v, reinterpret_cast<const void *>(static_cast<std::uintptr_t>(a.data)), sizeof v);
    return v;
  }
}

inline range range_of(const call &c) {
  range r{c.dims, {}, {}, {}};
  std::memcpy(r.offset, c.offset, sizeof r.offset);
  std::memcpy(r.global, c.global, sizeof r.global);
  std::memcpy(r.local, c.local, sizeof r.local);
  return r;
}

inline void count(const call &c, std::size_t n) {
  if (c.version != 1)
    throw std::invalid_argument("this library speaks version 1 of tandem's calls, not " + std::to_string(c.version));
  if (c.arguments != n)
    throw std::invalid_argument("the function takes " + std::to_string(n) + " arguments, " + std::to_string(c.arguments) + " were given");
}

template <typename... Args> struct last { using type = void; };
template <typename T> struct last<T> { using type = std::remove_cv_t<std::remove_reference_t<T>>; };
template <typename T, typename... Rest> struct last<T, Rest...> : last<Rest...> {};

template <typename... Args, std::size_t... I>
void apply(void (*f)(sycl::queue &, Args...), sycl::queue &q, const call &c, std::index_sequence<I...>) {
  auto one = [&](auto index, auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if constexpr (std::is_same_v<T, range>)
      return range_of(c);
    else
      return take<T>(c, index);
  };
  f(q, one(I, static_cast<std::remove_cv_t<std::remove_reference_t<Args>> *>(nullptr))...);
}

template <typename... Args> std::int32_t invoke(void (*f)(sycl::queue &, Args...), sycl::queue *q, const call *c) noexcept {
  auto said = [&](const char *what) { std::snprintf(c->text, c->text_size, "%s", what); };
  try {
    constexpr bool ranged = std::is_same_v<typename last<Args...>::type, range>;
    count(*c, sizeof...(Args) - (ranged ? 1 : 0));
    apply(f, *q, *c, std::index_sequence_for<Args...>{});
    return 0;
  } catch (const std::invalid_argument &e) {
    said(e.what());
    return invalid;
  } catch (const std::exception &e) {
    said(e.what());
  } catch (...) {
    said("an exception of an unknown type");
  }
  return failed;
}

} // namespace detail
} // namespace tandem

#ifdef _WIN32
#define TANDEM_SYCL_EXPORT __declspec(dllexport)
#else
#define TANDEM_SYCL_EXPORT __attribute__((visibility("default")))
#endif

// TANDEM_SYCL_FUNCTION exports a function of this file under its own name.
#define TANDEM_SYCL_FUNCTION(name)                                                                                     \
  namespace tandem_exported {                                                                                          \
  extern "C" TANDEM_SYCL_EXPORT std::int32_t name(sycl::queue *q, const tandem::call *c) {                             \
    return tandem::detail::invoke(&::name, q, c);                                                                      \
  }                                                                                                                    \
  }

#endif
