// Math and geometric functions. CUDA's own meet OpenCL's bounds; what CUDA
// lacks is made of them.
namespace tandem_cl {
#define TANDEM_MATH1(NAME) \
  TANDEM_FN float NAME(float a) { return ::NAME##f(a); } TANDEM_FN double NAME(double a) { return ::NAME(a); } TANDEM_FN half NAME(half a) { return half(::NAME##f((float)a)); } \
  TANDEM_MAP1(NAME)
#define TANDEM_MATH2(NAME) \
  TANDEM_FN float NAME(float a, float b) { return ::NAME##f(a, b); } TANDEM_FN double NAME(double a, double b) { return ::NAME(a, b); } \
  TANDEM_FN half NAME(half a, half b) { return half(::NAME##f((float)a, (float)b)); } \
  TANDEM_MAP2(NAME)
TANDEM_MATH1(acos) TANDEM_MATH1(acosh) TANDEM_MATH1(asin) TANDEM_MATH1(asinh) TANDEM_MATH1(atan) TANDEM_MATH1(atanh)
TANDEM_MATH1(cbrt) TANDEM_MATH1(ceil) TANDEM_MATH1(cos) TANDEM_MATH1(cosh) TANDEM_MATH1(cospi) TANDEM_MATH1(erf) TANDEM_MATH1(erfc)
TANDEM_MATH1(exp) TANDEM_MATH1(exp2) TANDEM_MATH1(exp10) TANDEM_MATH1(expm1) TANDEM_MATH1(fabs) TANDEM_MATH1(floor)
TANDEM_MATH1(lgamma) TANDEM_MATH1(log) TANDEM_MATH1(log2) TANDEM_MATH1(log10) TANDEM_MATH1(log1p) TANDEM_MATH1(logb)
TANDEM_MATH1(rint) TANDEM_MATH1(round) TANDEM_MATH1(rsqrt) TANDEM_MATH1(sin) TANDEM_MATH1(sinh) TANDEM_MATH1(sinpi) TANDEM_MATH1(sqrt)
TANDEM_MATH1(tan) TANDEM_MATH1(tanh) TANDEM_MATH1(tgamma) TANDEM_MATH1(trunc)
TANDEM_MATH2(atan2) TANDEM_MATH2(copysign) TANDEM_MATH2(fdim) TANDEM_MATH2(fmax) TANDEM_MATH2(fmin) TANDEM_MATH2(fmod)
TANDEM_MATH2(hypot) TANDEM_MATH2(nextafter) TANDEM_MATH2(pow) TANDEM_MATH2(remainder)

TANDEM_FN float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
TANDEM_FN double fma(double a, double b, double c) { return ::fma(a, b, c); }
TANDEM_FN half fma(half a, half b, half c) { return half(::fma((double)(float)a, (double)(float)b, (double)(float)c)); }
TANDEM_MAP3(fma)
TANDEM_FN float mad(float a, float b, float c) { return a * b + c; }
TANDEM_FN double mad(double a, double b, double c) { return a * b + c; }
TANDEM_FN half mad(half a, half b, half c) { return a * b + c; }
TANDEM_MAP3(mad)

#define TANDEM_MORE(T, P) \
  TANDEM_FN T acospi(T a) { return ::acos##P(a) * (T)0.31830988618379067154; } \
  TANDEM_FN T asinpi(T a) { return ::asin##P(a) * (T)0.31830988618379067154; } \
  TANDEM_FN T atanpi(T a) { return ::atan##P(a) * (T)0.31830988618379067154; } \
  TANDEM_FN T atan2pi(T a, T b) { return ::atan2##P(a, b) * (T)0.31830988618379067154; } \
  TANDEM_FN T tanpi(T a) { return ::sinpi##P(a) / ::cospi##P(a); } \
  TANDEM_FN T maxmag(T a, T b) { T x = ::fabs##P(a), y = ::fabs##P(b); return x > y ? a : y > x ? b : ::fmax##P(a, b); } \
  TANDEM_FN T minmag(T a, T b) { T x = ::fabs##P(a), y = ::fabs##P(b); return x < y ? a : y < x ? b : ::fmin##P(a, b); } \
  TANDEM_FN T powr(T a, T b) { return a < 0 ? nan_of(a) : (a == 0 && b == 0) || (a == 1 && !tandem_finite(b)) || (!tandem_finite(a) && b == 0) || b != b ? nan_of(a) : ::pow##P(a, b); } \
  TANDEM_FN T ldexp(T a, int k) { return ::ldexp##P(a, k); } \
  TANDEM_FN T pown(T a, int k) { return tandem_pown(a, k); } \
  TANDEM_FN int ilogb(T a) { return ::ilogb##P(a); } \
  TANDEM_FN T fract(T a, T *whole) { T f = ::floor##P(a); *whole = f; return a != a ? a : !tandem_finite(a) ? ::copysign##P((T)0, a) : ::fmin##P(a - f, tandem_below1(a)); } \
  TANDEM_FN T frexp(T a, int *e) { return ::frexp##P(a, e); } \
  TANDEM_FN T modf(T a, T *whole) { return ::modf##P(a, whole); } \
  TANDEM_FN T remquo(T a, T b, int *q) { return ::remquo##P(a, b, q); } \
  TANDEM_FN T sincos(T a, T *c) { T s; ::sincos##P(a, &s, c); return s; } \
  TANDEM_FN T lgamma_r(T a, int *sign) { *sign = a < 0 && ::floor##P(a) != a && ::fmod##P(::floor##P(a), (T)2) != 0 ? -1 : a == 0 && tandem_negative(a) ? -1 : a <= 0 && ::floor##P(a) == a && a != 0 ? 0 : 1; return ::lgamma##P(a); }

TANDEM_FN float nan_of(float) { return __uint_as_float(0x7fc00000u); }
TANDEM_FN double nan_of(double) { return __longlong_as_double(0x7ff8000000000000ll); }
TANDEM_FN float tandem_below1(float) { return 0x1.fffffep-1f; }
TANDEM_FN double tandem_below1(double) { return 0x1.fffffffffffffp-1; }
// A power with a whole exponent: a float one goes through double, whose
// exponents and digits have room for it.
TANDEM_FN float tandem_pown(float a, int k) { return (float)::pow((double)a, (double)k); }
TANDEM_FN double tandem_pown(double a, int k) { return ::pow(a, (double)k); }
TANDEM_MORE(float, f)
TANDEM_MORE(double, )
TANDEM_FN float rootn(float a, int n) {
  if (n == 0 || (a < 0 && n % 2 == 0)) return nan_of(a);
  double r = ::pow((double)::fabsf(a), 1.0 / n);
  if (n % 2 == 0) return (float)r;
  return ::copysignf((float)r, a);
}
TANDEM_FN double rootn(double a, int n) {
  if (n == 0 || (a < 0 && n % 2 == 0)) return nan_of(a);
  double m = ::fabs(a), r = ::pow(m, 1.0 / n);
  if (m != 0 && tandem_finite(m) && n != 1) { // one step of Newton's method: the exponent is rounded
    double p = ::pow(r, (double)(n > 0 ? n - 1 : -n - 1));
    double error = n > 0 ? (m / p - r) / n : (1 / (m * p) - r) / -n;
    if (tandem_finite(error)) r += error;
  }
  return n % 2 == 0 ? r : ::copysign(r, a);
}
TANDEM_MAP1(acospi) TANDEM_MAP1(asinpi) TANDEM_MAP1(atanpi) TANDEM_MAP2(atan2pi) TANDEM_MAP1(tanpi) TANDEM_MAP2(maxmag) TANDEM_MAP2(minmag)
TANDEM_MAP2(powr) TANDEM_MAP1(ilogb)
#define TANDEM_MAP_INT(NAME) \
  template<class T, int N> TANDEM_FN vec<T, N> NAME(vec<T, N> a, vec<int, N> k) { TANDEM_LANES a.s[i] = NAME(a.s[i], k.s[i]); return a; } \
  template<class T, int N> TANDEM_FN vec<T, N> NAME(vec<T, N> a, int k) { TANDEM_LANES a.s[i] = NAME(a.s[i], k); return a; }
TANDEM_MAP_INT(ldexp) TANDEM_MAP_INT(pown) TANDEM_MAP_INT(rootn)
// Results that go through a pointer.
#define TANDEM_MAP_OUT(NAME) \
  template<class T, class U, int N> TANDEM_FN vec<T, N> NAME(vec<T, N> a, vec<U, N> *out) { vec<U, N> o; TANDEM_LANES a.s[i] = NAME(a.s[i], &o.s[i]); *out = o; return a; }
TANDEM_MAP_OUT(fract) TANDEM_MAP_OUT(frexp) TANDEM_MAP_OUT(modf) TANDEM_MAP_OUT(sincos) TANDEM_MAP_OUT(lgamma_r)
template<class T, int N> TANDEM_FN vec<T, N> remquo(vec<T, N> a, vec<T, N> b, vec<int, N> *q) { vec<int, N> o; TANDEM_LANES a.s[i] = remquo(a.s[i], b.s[i], &o.s[i]); *q = o; return a; }
TANDEM_FN float nan(uint code) { return __uint_as_float(0x7fc00000u | (code & 0x3fffffu)); }
TANDEM_FN float nan(int code) { return nan((uint)code); }
TANDEM_FN double nan(ulong code) { return __longlong_as_double((long long)(0x7ff8000000000000ull | (code & 0x7ffffffffffffull))); }
TANDEM_MAP1(nan)

// half_: as exact as the functions they are named after; native_: the
// device's own.
#define TANDEM_LESS1(NAME, NATIVE) \
  TANDEM_FN float half_##NAME(float a) { return ::NAME##f(a); } TANDEM_MAP1(half_##NAME) \
  TANDEM_FN float native_##NAME(float a) { return NATIVE; } TANDEM_MAP1(native_##NAME)
TANDEM_LESS1(cos, ::__cosf(a)) TANDEM_LESS1(sin, ::__sinf(a)) TANDEM_LESS1(tan, ::__tanf(a)) TANDEM_LESS1(exp, ::__expf(a))
TANDEM_LESS1(exp2, ::exp2f(a)) TANDEM_LESS1(exp10, ::__exp10f(a)) TANDEM_LESS1(log, ::__logf(a)) TANDEM_LESS1(log2, ::__log2f(a))
TANDEM_LESS1(log10, ::__log10f(a)) TANDEM_LESS1(rsqrt, ::rsqrtf(a)) TANDEM_LESS1(sqrt, ::sqrtf(a))
TANDEM_FN float half_divide(float a, float b) { return a / b; }
TANDEM_FN float native_divide(float a, float b) { return ::__fdividef(a, b); }
TANDEM_FN float half_recip(float a) { return 1.0f / a; }
TANDEM_FN float native_recip(float a) { return ::__fdividef(1.0f, a); }
TANDEM_FN float half_powr(float a, float b) { return ::powf(a, b); }
TANDEM_FN float native_powr(float a, float b) { return ::__powf(a, b); }
TANDEM_MAP2(half_divide) TANDEM_MAP2(native_divide) TANDEM_MAP1(half_recip) TANDEM_MAP1(native_recip) TANDEM_MAP2(half_powr) TANDEM_MAP2(native_powr)

// Geometric functions.
#define TANDEM_GEOMETRY1(T, P) \
  TANDEM_FN T dot(T a, T b) { return a * b; } \
  TANDEM_FN T length(T a) { return ::fabs##P(a); } \
  TANDEM_FN T distance(T a, T b) { return ::fabs##P(a - b); } \
  TANDEM_FN T normalize(T a) { return sign(a) == 0 ? a : (T)sign(a); } \
  TANDEM_FN T tandem_root(T a) { return ::sqrt##P(a); } \
  TANDEM_FN T tandem_magnitude(T a) { return ::fabs##P(a); }
TANDEM_GEOMETRY1(float, f)
TANDEM_GEOMETRY1(double, )
template<class T, int N> TANDEM_FN T dot(vec<T, N> a, vec<T, N> b) {
  T sum = a.s[0] * b.s[0];
  _Pragma("unroll") for (int i = 1; i < N; i++) sum = sum + a.s[i] * b.s[i];
  return sum;
}
// The squares may be too large or too small where the length is not.
template<class T, int N> TANDEM_FN T length(vec<T, N> a) {
  T sum = dot(a, a), least = sizeof(T) == 8 ? (T)0x1p-900 : (T)0x1p-100f;
  if (sum >= least && sum <= 1 / least) return tandem_root(sum);
  T most = 0;
  TANDEM_LANES { T m = tandem_magnitude(a.s[i]); most = most < m || m != m ? m : most; }
  if (most == 0 || !tandem_finite(most)) return most;
  return most * tandem_root(dot(a / most, a / most));
}
template<class T, int N> TANDEM_FN T distance(vec<T, N> a, vec<T, N> b) { return length(a - b); }
template<class T, int N> TANDEM_FN vec<T, N> normalize(vec<T, N> a) { T l = length(a); return l == 0 ? a : a / l; }
template<class T, int N> TANDEM_FN T fast_length(vec<T, N> a) { return tandem_root(dot(a, a)); }
template<class T, int N> TANDEM_FN T fast_distance(vec<T, N> a, vec<T, N> b) { return fast_length(a - b); }
template<class T, int N> TANDEM_FN vec<T, N> fast_normalize(vec<T, N> a) { T d = dot(a, a); return d == 0 ? a : a * (1 / tandem_root(d)); }
TANDEM_FN float fast_length(float a) { return ::fabsf(a); }
TANDEM_FN float fast_distance(float a, float b) { return ::fabsf(a - b); }
TANDEM_FN float fast_normalize(float a) { return normalize(a); }
template<class T> TANDEM_FN vec<T, 3> cross(vec<T, 3> a, vec<T, 3> b) {
  return vec<T, 3>(a.s[1] * b.s[2] - a.s[2] * b.s[1], a.s[2] * b.s[0] - a.s[0] * b.s[2], a.s[0] * b.s[1] - a.s[1] * b.s[0]);
}
template<class T> TANDEM_FN vec<T, 4> cross(vec<T, 4> a, vec<T, 4> b) {
  return vec<T, 4>(a.s[1] * b.s[2] - a.s[2] * b.s[1], a.s[2] * b.s[0] - a.s[0] * b.s[2], a.s[0] * b.s[1] - a.s[1] * b.s[0], (T)0);
}
}

// The constants of the language.
#undef NULL
#define NULL 0
#undef NAN
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#undef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define HUGE_VALF __builtin_bit_cast(float, 0x7f800000)
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000ll)
#define MAXFLOAT 0x1.fffffep127f
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP -37
#define FLT_MIN_EXP -125
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP 308
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP -307
#define DBL_MIN_EXP -1021
#define DBL_RADIX 2
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1.0p-1022
#define DBL_EPSILON 0x1.0p-52
#define HALF_MAX ((half)65504.0f)
#define HALF_MIN ((half)0x1.0p-14f)
#define HALF_EPSILON ((half)0x1.0p-10f)
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#undef CHAR_BIT
#undef CHAR_MAX
#undef CHAR_MIN
#undef SCHAR_MAX
#undef SCHAR_MIN
#undef UCHAR_MAX
#undef SHRT_MAX
#undef SHRT_MIN
#undef USHRT_MAX
#undef INT_MAX
#undef INT_MIN
#undef UINT_MAX
#undef LONG_MAX
#undef LONG_MIN
#undef ULONG_MAX
#define CHAR_BIT 8
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffll
#define LONG_MIN (-0x7fffffffffffffffll - 1)
#define ULONG_MAX 0xffffffffffffffffull
#define M_E 2.7182818284590452354
#define M_E_F 2.7182818284590452354f
#define M_LOG2E 1.4426950408889634074
#define M_LOG2E_F 1.4426950408889634074f
#define M_LOG10E 0.43429448190325182765
#define M_LOG10E_F 0.43429448190325182765f
#define M_LN2 0.69314718055994530942
#define M_LN2_F 0.69314718055994530942f
#define M_LN10 2.30258509299404568402
#define M_LN10_F 2.30258509299404568402f
#define M_PI 3.14159265358979323846
#define M_PI_F 3.14159265358979323846f
#define M_PI_2 1.57079632679489661923
#define M_PI_2_F 1.57079632679489661923f
#define M_PI_4 0.78539816339744830962
#define M_PI_4_F 0.78539816339744830962f
#define M_1_PI 0.31830988618379067154
#define M_1_PI_F 0.31830988618379067154f
#define M_2_PI 0.63661977236758134308
#define M_2_PI_F 0.63661977236758134308f
#define M_2_SQRTPI 1.12837916709551257390
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2 1.41421356237309504880
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2 0.70710678118654752440
#define M_SQRT1_2_F 0.70710678118654752440f
