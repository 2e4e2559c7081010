// half, conversions with rounding and saturation, and reinterpretation.
namespace tandem_cl {
// Rounding modes: 0 the type's own (towards zero to an integer, to the nearest
// to a float), 1 rte, 2 rtz, 3 rtp, 4 rtn.
template<int M> TANDEM_FN ushort tandem_half_bits(float f) {
  ushort h;
  if constexpr (M == 2) asm("cvt.rz.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  else if constexpr (M == 3) asm("cvt.rp.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  else if constexpr (M == 4) asm("cvt.rm.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  else asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
template<int M> TANDEM_FN ushort tandem_half_bits(double f) {
  ushort h;
  if constexpr (M == 2) asm("cvt.rz.f16.f64 %0, %1;" : "=h"(h) : "d"(f));
  else if constexpr (M == 3) asm("cvt.rp.f16.f64 %0, %1;" : "=h"(h) : "d"(f));
  else if constexpr (M == 4) asm("cvt.rm.f16.f64 %0, %1;" : "=h"(h) : "d"(f));
  else asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(f));
  return h;
}
TANDEM_FN float tandem_half_value(ushort h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}

// half computes in float and rounds each result, which is exact for + - * / and
// square roots: float has more than twice its digits.
struct half {
  ushort bits;
  half() = default;
  template<class U, class = typename tandem_if<tandem_number<U>::yes && !tandem_same<U, half>::yes>::type>
  __device__ __forceinline__ half(U a) {
    if constexpr (tandem_same<U, double>::yes || sizeof(U) == 8) bits = tandem_half_bits<1>((double)a);
    else bits = tandem_half_bits<1>((float)a);
  }
  __device__ __forceinline__ operator float() const { return tandem_half_value(bits); }
};
template<class T> TANDEM_FN half tandem_half(T a) { return half((float)a); }
#define TANDEM_HALF(OP) \
  TANDEM_FN half operator OP(half a, half b) { return half((float)a OP (float)b); } \
  template<class U, TANDEM_IS_NUMBER(U)> TANDEM_FN typename tandem_either<tandem_number<U>::integer, half, U>::type operator OP(half a, U b) { \
    typedef typename tandem_either<tandem_number<U>::integer, float, U>::type F; return (F)(float)a OP (F)b; } \
  template<class U, TANDEM_IS_NUMBER(U)> TANDEM_FN typename tandem_either<tandem_number<U>::integer, half, U>::type operator OP(U a, half b) { \
    typedef typename tandem_either<tandem_number<U>::integer, float, U>::type F; return (F)a OP (F)(float)b; } \
  template<class U, TANDEM_IS_NUMBER(U)> TANDEM_FN half &operator OP##=(half &a, U b) { return a = half(a OP b); }
TANDEM_HALF(+)
TANDEM_HALF(-)
TANDEM_HALF(*)
TANDEM_HALF(/)
TANDEM_FN half operator-(half a) { a.bits ^= 0x8000; return a; }
TANDEM_FN half operator+(half a) { return a; }

// as_type: the same bits.
template<class To, class From> TANDEM_FN To tandem_as(From a) {
  static_assert(sizeof(To) == sizeof(From), "as_type between types of different sizes");
  union box { From from; To to; __device__ box() {} } u;
  u.from = a;
  return u.to;
}
template<class To> TANDEM_FN To tandem_as(bool a) { return tandem_as<To>((int)a); }

// Limits of the integer types.
template<class T> TANDEM_FN T tandem_most() {
  typedef typename tandem_sized<sizeof(T)>::bits U;
  return tandem_number<T>::isSigned ? (T)((U)~(U)0 >> 1) : (T)~(U)0;
}
template<class T> TANDEM_FN T tandem_least() { return tandem_number<T>::isSigned ? (T)(-tandem_most<T>() - 1) : (T)0; }

template<int M> TANDEM_FN float tandem_round(float a) { return M == 1 ? ::rintf(a) : M == 3 ? ::ceilf(a) : M == 4 ? ::floorf(a) : ::truncf(a); }
template<int M> TANDEM_FN double tandem_round(double a) { return M == 1 ? ::rint(a) : M == 3 ? ::ceil(a) : M == 4 ? ::floor(a) : ::trunc(a); }

// One number. S: out of range is the nearest value, NaN is 0.
template<class To, bool S, int M, class From> TANDEM_FN To tandem_convert1(From a) {
  if constexpr (tandem_same<To, From>::yes) {
    return a;
  } else if constexpr (tandem_same<From, half>::yes) {
    return tandem_convert1<To, S, M>((float)a);
  } else if constexpr (tandem_same<To, bool>::yes) {
    return a != 0;
  } else if constexpr (tandem_number<To>::integer && tandem_number<From>::integer) {
    if constexpr (S) {
      if constexpr (tandem_number<From>::isSigned) {
        long long v = (long long)a;
        if (v < 0) {
          if (!tandem_number<To>::isSigned) return 0;
          return v < (long long)tandem_least<To>() ? tandem_least<To>() : (To)v;
        }
      }
      return (ulong)a > (ulong)tandem_most<To>() ? tandem_most<To>() : (To)a;
    } else {
      return (To)a;
    }
  } else if constexpr (tandem_number<To>::integer) {
    From r = tandem_round<M>(a);
    if constexpr (S) {
      // The limit above the largest value is a power of two, which From holds.
      From above = (From)((ulong)1 << (sizeof(To) * 8 - 1 - (tandem_number<To>::isSigned ? 1 : 0))) * 2;
      if (!(r == r)) return 0;
      if (r >= above) return tandem_most<To>();
      if (r < (tandem_number<To>::isSigned ? -above : (From)0)) return tandem_least<To>();
    }
    return (To)r;
  } else if constexpr (tandem_same<To, half>::yes) {
    half h;
    if constexpr (tandem_same<From, float>::yes) h.bits = tandem_half_bits<M>(a);
    else h.bits = tandem_half_bits<M>((double)a);
    return h;
  } else if constexpr (tandem_number<From>::integer) {
    if constexpr (tandem_same<To, float>::yes && tandem_number<From>::isSigned)
      return M == 2 ? __ll2float_rz(a) : M == 3 ? __ll2float_ru(a) : M == 4 ? __ll2float_rd(a) : (float)a;
    else if constexpr (tandem_same<To, float>::yes)
      return M == 2 ? __ull2float_rz(a) : M == 3 ? __ull2float_ru(a) : M == 4 ? __ull2float_rd(a) : (float)a;
    else if constexpr (tandem_number<From>::isSigned)
      return M == 2 ? __ll2double_rz(a) : M == 3 ? __ll2double_ru(a) : M == 4 ? __ll2double_rd(a) : (double)a;
    else
      return M == 2 ? __ull2double_rz(a) : M == 3 ? __ull2double_ru(a) : M == 4 ? __ull2double_rd(a) : (double)a;
  } else if constexpr (sizeof(To) < sizeof(From)) {
    return M == 2 ? __double2float_rz(a) : M == 3 ? __double2float_ru(a) : M == 4 ? __double2float_rd(a) : (To)a;
  } else {
    return (To)a;
  }
}
template<class To, int N, bool S, int M, class From> TANDEM_FN auto tandem_convert(From a) {
  if constexpr (N == 1) {
    static_assert(tandem_number<From>::yes, "a vector is converted to a number");
    return tandem_convert1<To, S, M>(a);
  } else {
    static_assert((int)tandem_lane<From>::count == N, "a vector is converted to one with another number of lanes");
    vec<To, N> r;
    TANDEM_LANES r.s[i] = tandem_convert1<To, S, M>(a.s[i]);
    return r;
  }
}
}
