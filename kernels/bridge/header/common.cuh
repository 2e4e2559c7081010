// Integer, common, relational and geometric functions.
namespace tandem_cl {
// A function of numbers, by lanes. A number beside vectors stands for one with
// equal lanes.
#define TANDEM_MAP1(NAME) \
  template<class T, int N> TANDEM_FN auto NAME(vec<T, N> a) { vec<decltype(NAME(a.s[0])), N> r; TANDEM_LANES r.s[i] = NAME(a.s[i]); return r; }
#define TANDEM_MAP2(NAME) \
  template<class T, class U, int N> TANDEM_FN auto NAME(vec<T, N> a, vec<U, N> b) { vec<decltype(NAME(a.s[0], b.s[0])), N> r; TANDEM_LANES r.s[i] = NAME(a.s[i], b.s[i]); return r; } \
  template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN auto NAME(vec<T, N> a, U b) { return NAME(a, vec<T, N>(b)); } \
  template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN auto NAME(U a, vec<T, N> b) { return NAME(vec<T, N>(a), b); }
#define TANDEM_MAP3(NAME) \
  template<class T, int N> TANDEM_FN auto NAME(vec<T, N> a, vec<T, N> b, vec<T, N> c) { vec<decltype(NAME(a.s[0], b.s[0], c.s[0])), N> r; TANDEM_LANES r.s[i] = NAME(a.s[i], b.s[i], c.s[i]); return r; } \
  template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN auto NAME(vec<T, N> a, vec<T, N> b, U c) { return NAME(a, b, vec<T, N>(c)); } \
  template<class T, int N, class U, class V, TANDEM_IS_NUMBER(U), class = typename tandem_if<tandem_number<V>::yes>::type> TANDEM_FN auto NAME(vec<T, N> a, U b, V c) { return NAME(a, vec<T, N>(b), vec<T, N>(c)); } \
  template<class T, int N, class U, class V, TANDEM_IS_NUMBER(U), class = typename tandem_if<tandem_number<V>::yes>::type> TANDEM_FN auto NAME(U a, V b, vec<T, N> c) { return NAME(vec<T, N>(a), vec<T, N>(b), c); }
#define TANDEM_INTEGER(T) class = typename tandem_if<tandem_number<T>::integer>::type
template<class T> using tandem_bits = typename tandem_sized<sizeof(T)>::bits;

// The least and the most, of integers and, as x < y decides, of floats.
template<class A, class B, TANDEM_IS_NUMBER(A), class = typename tandem_if<tandem_number<B>::yes>::type>
TANDEM_FN tandem_wider<A, B> max(A a, B b) { typedef tandem_wider<A, B> T; return (T)a < (T)b ? (T)b : (T)a; }
template<class A, class B, TANDEM_IS_NUMBER(A), class = typename tandem_if<tandem_number<B>::yes>::type>
TANDEM_FN tandem_wider<A, B> min(A a, B b) { typedef tandem_wider<A, B> T; return (T)b < (T)a ? (T)b : (T)a; }
template<class A, class B, class C, TANDEM_IS_NUMBER(A), class = typename tandem_if<tandem_number<B>::yes && tandem_number<C>::yes>::type>
TANDEM_FN auto clamp(A x, B low, C high) { return min(max(x, low), high); }
TANDEM_MAP2(max)
TANDEM_MAP2(min)
TANDEM_MAP3(clamp)

template<class T, TANDEM_INTEGER(T)> TANDEM_FN tandem_bits<T> abs(T a) { return a < 0 ? (tandem_bits<T>)(0 - (tandem_bits<T>)a) : (tandem_bits<T>)a; }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN tandem_bits<T> abs_diff(T a, T b) { return a > b ? (tandem_bits<T>)a - (tandem_bits<T>)b : (tandem_bits<T>)b - (tandem_bits<T>)a; }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T add_sat(T a, T b) {
  T sum = (T)((tandem_bits<T>)a + (tandem_bits<T>)b);
  if (!tandem_number<T>::isSigned) return sum < a ? tandem_most<T>() : sum;
  return (T)((a ^ sum) & (b ^ sum)) < 0 ? (a < 0 ? tandem_least<T>() : tandem_most<T>()) : sum;
}
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T sub_sat(T a, T b) {
  T d = (T)((tandem_bits<T>)a - (tandem_bits<T>)b);
  if (!tandem_number<T>::isSigned) return a < b ? (T)0 : d;
  return (T)((a ^ b) & (a ^ d)) < 0 ? (a < 0 ? tandem_least<T>() : tandem_most<T>()) : d;
}
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T hadd(T a, T b) { return (T)((a >> 1) + (b >> 1) + (a & b & 1)); }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T rhadd(T a, T b) { return (T)((a >> 1) + (b >> 1) + ((a | b) & 1)); }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T popcount(T a) { return (T)(sizeof(T) == 8 ? __popcll((ulong)a) : __popc((uint)(tandem_bits<T>)a)); }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T clz(T a) { return (T)(sizeof(T) == 8 ? __clzll((long long)a) : __clz((int)(uint)(tandem_bits<T>)a) - (int)(32 - sizeof(T) * 8)); }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T ctz(T a) { return a == 0 ? (T)(sizeof(T) * 8) : (T)(__ffsll((long long)(ulong)(tandem_bits<T>)a) - 1); }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T mul_hi(T a, T b) {
  if constexpr (sizeof(T) < 4) return (T)(((int)a * (int)b) >> (sizeof(T) * 8));
  else if constexpr (sizeof(T) == 4 && tandem_number<T>::isSigned) return __mulhi(a, b);
  else if constexpr (sizeof(T) == 4) return __umulhi(a, b);
  else if constexpr (tandem_number<T>::isSigned) return __mul64hi(a, b);
  else return __umul64hi(a, b);
}
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T mad_hi(T a, T b, T c) { return (T)((tandem_bits<T>)mul_hi(a, b) + (tandem_bits<T>)c); }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T mad_sat(T a, T b, T c) {
  if constexpr (sizeof(T) < 8) {
    long long v = (long long)a * (long long)b + (long long)c;
    if constexpr (sizeof(T) == 4 && !tandem_number<T>::isSigned) { // the sum fits in 64 bits without a sign
      ulong u = (ulong)a * (ulong)b + (ulong)c;
      return u > (ulong)tandem_most<T>() ? tandem_most<T>() : (T)u;
    }
    return v > (long long)tandem_most<T>() ? tandem_most<T>() : v < (long long)tandem_least<T>() ? tandem_least<T>() : (T)v;
  } else {
    T low = (T)((ulong)a * (ulong)b), high = mul_hi(a, b);
    if constexpr (!tandem_number<T>::isSigned) {
      return high != 0 ? tandem_most<T>() : add_sat(low, c);
    } else {
      // The product in 128 bits, and then the sum: the carry goes into the upper half.
      ulong sum = (ulong)low + (ulong)c;
      T top = (T)((ulong)high + (ulong)(c >> 63) + (sum < (ulong)low ? 1 : 0));
      if (top == ((T)sum >> 63)) return (T)sum;
      return top < 0 ? tandem_least<T>() : tandem_most<T>();
    }
  }
}
template<class T, class U, TANDEM_INTEGER(T)> TANDEM_FN T rotate(T a, U n) {
  const uint width = sizeof(T) * 8;
  tandem_bits<T> v = (tandem_bits<T>)a;
  uint k = (uint)n & (width - 1);
  return k == 0 ? a : (T)(tandem_bits<T>)((v << k) | (v >> (width - k)));
}
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T mul24(T a, T b) { return (T)((tandem_bits<T>)a * (tandem_bits<T>)b); }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN T mad24(T a, T b, T c) { return (T)((tandem_bits<T>)a * (tandem_bits<T>)b + (tandem_bits<T>)c); }
template<class T, class U, TANDEM_INTEGER(T)> TANDEM_FN auto upsample(T high, U low) {
  typedef typename tandem_sized<sizeof(T) * 2>::bits B;
  typedef typename tandem_either<tandem_number<T>::isSigned, typename tandem_sized<sizeof(T) * 2>::mask, B>::type R;
  return (R)(((B)(tandem_bits<T>)high << (sizeof(T) * 8)) | (B)(tandem_bits<U>)low);
}
TANDEM_MAP1(abs)
TANDEM_MAP2(abs_diff)
TANDEM_MAP2(add_sat)
TANDEM_MAP2(sub_sat)
TANDEM_MAP2(hadd)
TANDEM_MAP2(rhadd)
TANDEM_MAP1(popcount)
TANDEM_MAP1(clz)
TANDEM_MAP1(ctz)
TANDEM_MAP2(mul_hi)
TANDEM_MAP3(mad_hi)
TANDEM_MAP3(mad_sat)
TANDEM_MAP2(rotate)
TANDEM_MAP2(mul24)
TANDEM_MAP3(mad24)
TANDEM_MAP2(upsample)

// Relational: int of numbers, masks of vectors.
TANDEM_FN bool tandem_isnan(float a) { return a != a; }
TANDEM_FN bool tandem_isnan(double a) { return a != a; }
TANDEM_FN bool tandem_finite(float a) { return (__float_as_uint(a) & 0x7f800000u) != 0x7f800000u; }
TANDEM_FN bool tandem_finite(double a) { return ((ulong)__double_as_longlong(a) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull; }
TANDEM_FN bool tandem_normal(float a) { uint e = __float_as_uint(a) >> 23 & 0xff; return e != 0 && e != 0xff; }
TANDEM_FN bool tandem_normal(double a) { uint e = (uint)((ulong)__double_as_longlong(a) >> 52) & 0x7ff; return e != 0 && e != 0x7ff; }
TANDEM_FN bool tandem_negative(float a) { return __float_as_int(a) < 0; }
TANDEM_FN bool tandem_negative(double a) { return __double_as_longlong(a) < 0; }
#define TANDEM_TEST1(NAME, EXPR) \
  TANDEM_FN int NAME(float a) { return EXPR; } TANDEM_FN int NAME(double a) { return EXPR; } TANDEM_FN int NAME(half a) { return NAME((float)a); } \
  template<class T, int N> TANDEM_FN vec<tandem_mask<T>, N> NAME(vec<T, N> a) { vec<tandem_mask<T>, N> r; TANDEM_LANES r.s[i] = NAME(a.s[i]) ? -1 : 0; return r; }
TANDEM_TEST1(isnan, tandem_isnan(a))
TANDEM_TEST1(isfinite, tandem_finite(a))
TANDEM_TEST1(isinf, !tandem_finite(a) && !tandem_isnan(a))
TANDEM_TEST1(isnormal, tandem_normal(a))
TANDEM_TEST1(signbit, tandem_negative(a))
#define TANDEM_TEST2(NAME, EXPR) \
  TANDEM_FN int NAME(float a, float b) { return EXPR; } TANDEM_FN int NAME(double a, double b) { return EXPR; } TANDEM_FN int NAME(half x, half y) { float a = x, b = y; return EXPR; } \
  template<class T, int N> TANDEM_FN vec<tandem_mask<T>, N> NAME(vec<T, N> a, vec<T, N> b) { vec<tandem_mask<T>, N> r; TANDEM_LANES r.s[i] = NAME(a.s[i], b.s[i]) ? -1 : 0; return r; }
TANDEM_TEST2(isequal, a == b)
TANDEM_TEST2(isnotequal, a != b)
TANDEM_TEST2(isgreater, a > b)
TANDEM_TEST2(isgreaterequal, a >= b)
TANDEM_TEST2(isless, a < b)
TANDEM_TEST2(islessequal, a <= b)
TANDEM_TEST2(islessgreater, a < b || a > b)
TANDEM_TEST2(isordered, a == a && b == b)
TANDEM_TEST2(isunordered, a != a || b != b)
// The highest bit counts: of a comparison of numbers, which is 0 or 1, any is 0.
template<class T, TANDEM_INTEGER(T)> TANDEM_FN int any(T a) { return a < 0; }
template<class T, TANDEM_INTEGER(T)> TANDEM_FN int all(T a) { return a < 0; }
template<class T, int N> TANDEM_FN int any(vec<T, N> a) { int r = 0; TANDEM_LANES r |= a.s[i] < 0; return r; }
template<class T, int N> TANDEM_FN int all(vec<T, N> a) { int r = 1; TANDEM_LANES r &= a.s[i] < 0; return r; }
template<class A, class B, class C, TANDEM_IS_NUMBER(C)> TANDEM_FN auto select(A a, B b, C c) { return c ? b : a; }
template<class T, class C, int N> TANDEM_FN vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<C, N> c) {
  vec<T, N> r;
  TANDEM_LANES r.s[i] = (tandem_mask<C>)c.s[i] < 0 ? b.s[i] : a.s[i];
  return r;
}
template<class T, TANDEM_IS_NUMBER(T)> TANDEM_FN T bitselect(T a, T b, T c) {
  typedef tandem_bits<T> B;
  B x = tandem_as<B>(a), y = tandem_as<B>(b), z = tandem_as<B>(c);
  return tandem_as<T>((B)((x & ~z) | (y & z)));
}
TANDEM_MAP3(bitselect)
template<class T> TANDEM_FN int vec_step(const T &) { return tandem_lane<T>::count == 3 ? 4 : tandem_lane<T>::count; }

// Shuffles.
template<class T, int N, class M, int K> TANDEM_FN vec<T, K> shuffle(vec<T, N> a, vec<M, K> mask) {
  vec<T, K> r;
  for (int i = 0; i < K; i++) r.s[i] = a.s[mask.s[i] & (N - 1)];
  return r;
}
template<class T, int N, class M, int K> TANDEM_FN vec<T, K> shuffle2(vec<T, N> a, vec<T, N> b, vec<M, K> mask) {
  vec<T, K> r;
  for (int i = 0; i < K; i++) { uint k = (uint)mask.s[i] & (2 * N - 1); r.s[i] = k < N ? a.s[k] : b.s[k - N]; }
  return r;
}

// Common functions of floats.
#define TANDEM_FLOATS(RESULT_ARGS) RESULT_ARGS(float) RESULT_ARGS(double)
#define TANDEM_COMMON(T) \
  TANDEM_FN T degrees(T a) { return (T)57.295779513082320876798 * a; } \
  TANDEM_FN T radians(T a) { return (T)0.017453292519943295769 * a; } \
  TANDEM_FN T mix(T a, T b, T k) { return a + (b - a) * k; } \
  TANDEM_FN T step(T edge, T a) { return a < edge ? (T)0 : (T)1; } \
  TANDEM_FN T sign(T a) { return a != a ? (T)0 : a > 0 ? (T)1 : a < 0 ? (T)-1 : a; } \
  TANDEM_FN T smoothstep(T low, T high, T a) { T t = clamp((a - low) / (high - low), (T)0, (T)1); return t * t * (3 - 2 * t); }
TANDEM_FLOATS(TANDEM_COMMON)
TANDEM_MAP1(degrees)
TANDEM_MAP1(radians)
TANDEM_MAP3(mix)
TANDEM_MAP2(step)
TANDEM_MAP1(sign)
TANDEM_MAP3(smoothstep)
}
