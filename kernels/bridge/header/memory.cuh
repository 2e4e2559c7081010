// Loads and stores of vectors, barriers, fences, copies by a group, atomics.
namespace tandem_cl {
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define CLK_IMAGE_MEM_FENCE 4
typedef uint cl_mem_fence_flags;
typedef int event_t;

template<int N, class T> TANDEM_FN vec<T, N> tandem_vload(size_t at, const T *p) {
  vec<T, N> r;
  p += at * N;
  TANDEM_LANES r.s[i] = p[i];
  return r;
}
template<int N, class T, class U> TANDEM_FN void tandem_vstore(vec<T, N> v, size_t at, U *p) {
  static_assert(sizeof(T) == sizeof(U), "a vector is stored into an array of another type");
  p += at * N;
  TANDEM_LANES p[i] = v.s[i];
}
// N lanes of half, STEP apart: three with "a" take the room of four.
template<int N, int STEP> TANDEM_FN auto tandem_load_half(size_t at, const half *p) {
  p += at * STEP;
  if constexpr (N == 1) {
    return (float)p[0];
  } else {
    vec<float, N> r;
    TANDEM_LANES r.s[i] = (float)p[i];
    return r;
  }
}
template<int N, int STEP, int M, class V> TANDEM_FN void tandem_store_half(V v, size_t at, half *p) {
  p += at * STEP;
  if constexpr (N == 1) {
    p[0] = tandem_convert1<half, false, M>(v);
  } else {
    TANDEM_LANES p[i] = tandem_convert1<half, false, M>(v.s[i]);
  }
}
template<int N> TANDEM_FN auto tandem_vload_half(size_t at, const half *p) { return tandem_load_half<N, N>(at, p); }
template<int N> TANDEM_FN auto tandem_vloada_half(size_t at, const half *p) { return tandem_load_half<N, N == 3 ? 4 : N>(at, p); }
template<int N, int M, class V> TANDEM_FN void tandem_vstore_half(V v, size_t at, half *p) { tandem_store_half<N, N, M>(v, at, p); }
template<int N, int M, class V> TANDEM_FN void tandem_vstorea_half(V v, size_t at, half *p) { tandem_store_half<N, N == 3 ? 4 : N, M>(v, at, p); }

TANDEM_FN void barrier(uint) { __syncthreads(); }
TANDEM_FN void work_group_barrier(uint, int = 0) { __syncthreads(); }
TANDEM_FN void mem_fence(uint flags) {
  if (flags & CLK_GLOBAL_MEM_FENCE) __threadfence(); else __threadfence_block();
}
TANDEM_FN void read_mem_fence(uint flags) { mem_fence(flags); }
TANDEM_FN void write_mem_fence(uint flags) { mem_fence(flags); }
template<class T> TANDEM_FN void prefetch(const T *, size_t) {}

template<class T> TANDEM_FN event_t tandem_copy(const tandem_range &r, T *to, size_t toStep, const T *from, size_t fromStep, size_t n) {
  size_t items = get_local_size(r, 0) * get_local_size(r, 1) * get_local_size(r, 2);
  for (size_t i = get_local_linear_id(r); i < n; i += items) to[i * toStep] = from[i * fromStep];
  return 1;
}
template<class T> TANDEM_FN event_t async_work_group_copy(const tandem_range &r, T *to, const T *from, size_t n, event_t) { return tandem_copy(r, to, 1, from, 1, n); }
// The stride is that of global memory, which one of the two lies in.
template<class T> TANDEM_FN event_t async_work_group_strided_copy(const tandem_range &r, T *to, const T *from, size_t n, size_t step, event_t) {
  bool gather = __isShared(to);
  return tandem_copy(r, to, gather ? 1 : step, from, gather ? step : 1, n);
}
TANDEM_FN void wait_group_events(int, event_t *) { __syncthreads(); }

// Atomics of OpenCL 1.x: atomic_ and atom_ names, without an order.
template<class T> struct tandem_plain { typedef T type; };
template<class T> struct tandem_plain<volatile T> { typedef T type; };
// CUDA's functions are for int, unsigned and unsigned long long, and for the
// least and the most also for long long.
template<class T> TANDEM_FN auto tandem_wide(T *p) {
  if constexpr (sizeof(T) == 8 && tandem_number<T>::integer) return (ulong *)p; else return p;
}
template<class T> TANDEM_FN T tandem_swap(T *p, T v) {
  if constexpr (tandem_same<T, double>::yes) return __longlong_as_double((long long)::atomicExch((ulong *)p, (ulong)__double_as_longlong(v)));
  else if constexpr (sizeof(T) == 8) return (T)::atomicExch((ulong *)p, (ulong)v);
  else return ::atomicExch(p, v);
}
template<class T> TANDEM_FN T tandem_compare(T *p, T expected, T v) {
  if constexpr (tandem_same<T, float>::yes) return __int_as_float(::atomicCAS((int *)p, __float_as_int(expected), __float_as_int(v)));
  else if constexpr (tandem_same<T, double>::yes) return __longlong_as_double((long long)::atomicCAS((ulong *)p, (ulong)__double_as_longlong(expected), (ulong)__double_as_longlong(v)));
  else if constexpr (sizeof(T) == 8) return (T)::atomicCAS((ulong *)p, (ulong)expected, (ulong)v);
  else return ::atomicCAS(p, expected, v);
}
template<class T> TANDEM_FN T tandem_add(T *p, T v) {
  if constexpr (sizeof(T) == 8 && tandem_number<T>::integer) return (T)::atomicAdd((ulong *)p, (ulong)v); else return ::atomicAdd(p, v);
}
template<class T> TANDEM_FN T tandem_and(T *p, T v) { if constexpr (sizeof(T) == 8) return (T)::atomicAnd((ulong *)p, (ulong)v); else return ::atomicAnd(p, v); }
template<class T> TANDEM_FN T tandem_or(T *p, T v) { if constexpr (sizeof(T) == 8) return (T)::atomicOr((ulong *)p, (ulong)v); else return ::atomicOr(p, v); }
template<class T> TANDEM_FN T tandem_xor(T *p, T v) { if constexpr (sizeof(T) == 8) return (T)::atomicXor((ulong *)p, (ulong)v); else return ::atomicXor(p, v); }
// Floats have no instruction for the least and the most: they are exchanged.
template<class T> TANDEM_FN T tandem_atomic_min(T *p, T v) {
  if constexpr (tandem_number<T>::integer) { return ::atomicMin(p, v); }
  else { T was = *(volatile T *)p; while (v < was) { T seen = tandem_compare(p, was, v); if (seen == was) break; was = seen; } return was; }
}
template<class T> TANDEM_FN T tandem_atomic_max(T *p, T v) {
  if constexpr (tandem_number<T>::integer) { return ::atomicMax(p, v); }
  else { T was = *(volatile T *)p; while (v > was) { T seen = tandem_compare(p, was, v); if (seen == was) break; was = seen; } return was; }
}
#define TANDEM_ATOMIC(NAME, EXPR) \
  template<class T, class U> TANDEM_FN typename tandem_plain<T>::type atomic_##NAME(T *q, U u) { typedef typename tandem_plain<T>::type P; P *p = (P *)q; P v = (P)u; return EXPR; } \
  template<class T, class U> TANDEM_FN typename tandem_plain<T>::type atom_##NAME(T *q, U u) { return atomic_##NAME(q, u); }
TANDEM_ATOMIC(add, tandem_add(p, v))
TANDEM_ATOMIC(sub, tandem_add(p, (P)-v))
TANDEM_ATOMIC(xchg, tandem_swap(p, v))
TANDEM_ATOMIC(min, tandem_atomic_min(p, v))
TANDEM_ATOMIC(max, tandem_atomic_max(p, v))
TANDEM_ATOMIC(and, tandem_and(p, v))
TANDEM_ATOMIC(or, tandem_or(p, v))
TANDEM_ATOMIC(xor, tandem_xor(p, v))
template<class T> TANDEM_FN typename tandem_plain<T>::type atomic_inc(T *p) { return atomic_add(p, 1); }
template<class T> TANDEM_FN typename tandem_plain<T>::type atomic_dec(T *p) { return atomic_sub(p, 1); }
template<class T> TANDEM_FN typename tandem_plain<T>::type atom_inc(T *p) { return atomic_add(p, 1); }
template<class T> TANDEM_FN typename tandem_plain<T>::type atom_dec(T *p) { return atomic_sub(p, 1); }
template<class T, class U, class V> TANDEM_FN typename tandem_plain<T>::type atomic_cmpxchg(T *q, U e, V v) { typedef typename tandem_plain<T>::type P; return tandem_compare((P *)q, (P)e, (P)v); }
template<class T, class U, class V> TANDEM_FN typename tandem_plain<T>::type atom_cmpxchg(T *q, U e, V v) { return atomic_cmpxchg(q, e, v); }

// Atomics of OpenCL 2.0. Every order but relaxed is carried out as seq_cst, at
// the scope of the device.
typedef int atomic_int;
typedef uint atomic_uint;
typedef long long atomic_long;
typedef ulong atomic_ulong;
typedef float atomic_float;
typedef double atomic_double;
typedef int atomic_flag;
typedef ulong atomic_size_t;
typedef ulong atomic_uintptr_t;
typedef long long atomic_intptr_t;
typedef long long atomic_ptrdiff_t;
enum memory_order { memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst };
enum memory_scope { memory_scope_work_item, memory_scope_work_group, memory_scope_device, memory_scope_all_svm_devices, memory_scope_all_devices = memory_scope_all_svm_devices, memory_scope_sub_group };
#define ATOMIC_VAR_INIT(x) (x)
#define ATOMIC_FLAG_INIT 0
TANDEM_FN void tandem_order(memory_order o) { if (o != memory_order_relaxed) __threadfence(); }
TANDEM_FN void atomic_work_item_fence(uint, memory_order o, memory_scope = memory_scope_device) { tandem_order(o); }
#define TANDEM_FETCH(NAME, OLD) \
  template<class T, class U> TANDEM_FN typename tandem_plain<T>::type atomic_##NAME##_explicit(T *p, U v, memory_order o, memory_scope = memory_scope_device) { \
    tandem_order(o); auto was = atomic_##OLD(p, v); tandem_order(o); return was; } \
  template<class T, class U> TANDEM_FN typename tandem_plain<T>::type atomic_##NAME(T *p, U v) { return atomic_##NAME##_explicit(p, v, memory_order_seq_cst); }
TANDEM_FETCH(fetch_add, add)
TANDEM_FETCH(fetch_sub, sub)
TANDEM_FETCH(fetch_or, or)
TANDEM_FETCH(fetch_xor, xor)
TANDEM_FETCH(fetch_and, and)
TANDEM_FETCH(fetch_min, min)
TANDEM_FETCH(fetch_max, max)
TANDEM_FETCH(exchange, xchg)
template<class T, class U> TANDEM_FN void atomic_init(T *p, U v) { *p = v; }
template<class T> TANDEM_FN typename tandem_plain<T>::type atomic_load_explicit(T *p, memory_order o, memory_scope = memory_scope_device) {
  tandem_order(o);
  typename tandem_plain<T>::type v = *(volatile typename tandem_plain<T>::type *)p;
  tandem_order(o);
  return v;
}
template<class T> TANDEM_FN typename tandem_plain<T>::type atomic_load(T *p) { return atomic_load_explicit(p, memory_order_seq_cst); }
template<class T, class U> TANDEM_FN void atomic_store_explicit(T *p, U v, memory_order o, memory_scope = memory_scope_device) {
  tandem_order(o);
  *(volatile typename tandem_plain<T>::type *)p = (typename tandem_plain<T>::type)v;
  tandem_order(o);
}
template<class T, class U> TANDEM_FN void atomic_store(T *p, U v) { atomic_store_explicit(p, v, memory_order_seq_cst); }
template<class T, class E, class U> TANDEM_FN bool atomic_compare_exchange_strong_explicit(T *p, E *expected, U v, memory_order o, memory_order = memory_order_relaxed, memory_scope = memory_scope_device) {
  tandem_order(o);
  auto was = atomic_cmpxchg(p, *expected, v);
  tandem_order(o);
  bool done = was == *expected;
  if (!done) *expected = was;
  return done;
}
template<class T, class E, class U> TANDEM_FN bool atomic_compare_exchange_weak_explicit(T *p, E *e, U v, memory_order o, memory_order f = memory_order_relaxed, memory_scope s = memory_scope_device) { return atomic_compare_exchange_strong_explicit(p, e, v, o, f, s); }
template<class T, class E, class U> TANDEM_FN bool atomic_compare_exchange_strong(T *p, E *e, U v) { return atomic_compare_exchange_strong_explicit(p, e, v, memory_order_seq_cst); }
template<class T, class E, class U> TANDEM_FN bool atomic_compare_exchange_weak(T *p, E *e, U v) { return atomic_compare_exchange_strong_explicit(p, e, v, memory_order_seq_cst); }
TANDEM_FN bool atomic_flag_test_and_set_explicit(volatile int *p, memory_order o, memory_scope = memory_scope_device) {
  tandem_order(o);
  bool was = ::atomicExch((int *)p, 1) != 0;
  tandem_order(o);
  return was;
}
TANDEM_FN bool atomic_flag_test_and_set(volatile int *p) { return atomic_flag_test_and_set_explicit(p, memory_order_seq_cst); }
TANDEM_FN void atomic_flag_clear_explicit(volatile int *p, memory_order o, memory_scope = memory_scope_device) { atomic_store_explicit(p, 0, o); }
TANDEM_FN void atomic_flag_clear(volatile int *p) { atomic_store(p, 0); }
}
