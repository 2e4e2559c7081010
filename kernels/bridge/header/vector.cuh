// Vectors: arrays of lanes with OpenCL C's layout, and its operators.
namespace tandem_cl {
template<bool B, class T = void> struct tandem_if {};
template<class T> struct tandem_if<true, T> { typedef T type; };
template<bool B, class T, class F> struct tandem_either { typedef T type; };
template<class T, class F> struct tandem_either<false, T, F> { typedef F type; };
// Constants are enumerators: NVRTC makes a variable of every static member.
template<class A, class B> struct tandem_same { enum { yes = 0 }; };
template<class A> struct tandem_same<A, A> { enum { yes = 1 }; };
template<class T> using tandem_type = T;

struct half;
// What is known of a number's type: whether it is one, an integer, signed, its
// rank for the usual conversions.
template<class T> struct tandem_number { enum { yes = __is_enum(T), integer = __is_enum(T), isSigned = 1, rank = 4 }; };
#define TANDEM_NUMBER(T, INT, SIGNED, RANK) \
  template<> struct tandem_number<T> { enum { yes = 1, integer = INT, isSigned = SIGNED, rank = RANK }; };
TANDEM_NUMBER(bool, true, false, 0)
TANDEM_NUMBER(char, true, true, 1)
TANDEM_NUMBER(signed char, true, true, 1)
TANDEM_NUMBER(unsigned char, true, false, 1)
TANDEM_NUMBER(short, true, true, 2)
TANDEM_NUMBER(unsigned short, true, false, 2)
TANDEM_NUMBER(int, true, true, 4)
TANDEM_NUMBER(unsigned int, true, false, 5)
TANDEM_NUMBER(long, true, true, sizeof(long) == 8 ? 6 : 4)
TANDEM_NUMBER(unsigned long, true, false, sizeof(long) == 8 ? 7 : 5)
TANDEM_NUMBER(long long, true, true, 8)
TANDEM_NUMBER(unsigned long long, true, false, 9)
TANDEM_NUMBER(half, false, true, 10)
TANDEM_NUMBER(float, false, true, 11)
TANDEM_NUMBER(double, false, true, 12)
template<class T> struct tandem_number<const T> : tandem_number<T> {};
template<class T> struct tandem_number<volatile T> : tandem_number<T> {};

// The type of a sum of two numbers.
template<class A, class B> using tandem_wider = typename tandem_either<(tandem_number<A>::rank < 4 && tandem_number<B>::rank < 4 && !tandem_same<A, B>::yes), int,
  typename tandem_either<((int)tandem_number<A>::rank >= (int)tandem_number<B>::rank), A, B>::type>::type;

// Integers by their size.
template<int S> struct tandem_sized;
template<> struct tandem_sized<1> { typedef signed char mask; typedef unsigned char bits; };
template<> struct tandem_sized<2> { typedef short mask; typedef unsigned short bits; };
template<> struct tandem_sized<4> { typedef int mask; typedef unsigned int bits; };
template<> struct tandem_sized<8> { typedef long long mask; typedef unsigned long long bits; };
template<class T> using tandem_mask = typename tandem_sized<sizeof(T)>::mask;

template<class T, int N> struct vec;
template<class V, int... I> struct tandem_store;
template<class V> struct tandem_lane { typedef V type; enum { count = 1 }; };
template<class T, int N> struct tandem_lane<vec<T, N>> { typedef T type; enum { count = N }; };

// Fills lanes from numbers and vectors.
template<class T, class U> __device__ __forceinline__ constexpr void tandem_fill(T *to, int &i, int room, const U &a) {
  if constexpr (tandem_number<U>::yes) {
    if (i < room) to[i] = (T)a;
    i++;
  } else {
    for (int k = 0; k < tandem_lane<U>::count; k++, i++)
      if (i < room) to[i] = a.s[k];
  }
}

template<class T, int N> struct alignas(sizeof(T) * (N == 3 ? 4 : N)) vec {
  T s[N == 3 ? 4 : N];

  vec() = default;
  template<class U, class = typename tandem_if<tandem_number<U>::yes>::type>
  __device__ __forceinline__ constexpr vec(U a) : s{} {
    for (int i = 0; i < N; i++) s[i] = (T)a;
  }
  template<class A, class B, class... R>
  __device__ __forceinline__ constexpr vec(const A &a, const B &b, const R &...rest) : s{} {
    int i = 0;
    tandem_fill(s, i, N, a);
    tandem_fill(s, i, N, b);
    (tandem_fill(s, i, N, rest), ...);
  }
  __device__ __forceinline__ T &operator[](size_t i) { return s[i]; }
  __device__ __forceinline__ const T &operator[](size_t i) const { return s[i]; }
  template<int... I> __device__ __forceinline__ vec<T, sizeof...(I)> tandem_lanes() const { return vec<T, sizeof...(I)>(s[I]...); }
  template<int... I> __device__ __forceinline__ tandem_store<vec, I...> tandem_to() { return tandem_store<vec, I...>{*this}; }
};

typedef uint tandem_uint;
#define TANDEM_VECTORS(T, NAME) \
  typedef vec<T, 2> NAME##2; typedef vec<T, 3> NAME##3; typedef vec<T, 4> NAME##4; typedef vec<T, 8> NAME##8; typedef vec<T, 16> NAME##16;
TANDEM_VECTORS(signed char, char)
TANDEM_VECTORS(uchar, uchar)
TANDEM_VECTORS(short, short)
TANDEM_VECTORS(ushort, ushort)
TANDEM_VECTORS(int, int)
TANDEM_VECTORS(uint, uint)
TANDEM_VECTORS(long long, long)
TANDEM_VECTORS(ulong, ulong)
TANDEM_VECTORS(half, half)
TANDEM_VECTORS(float, float)
TANDEM_VECTORS(double, double)

// (float4)(a, b.xy, c): one number fills all lanes, otherwise the counts have
// to agree.
template<class A> __device__ constexpr int tandem_count() { return (int)tandem_lane<A>::count; }
template<class V, class A> __device__ __forceinline__ constexpr V tandem_lit(const A &a) {
  static_assert(tandem_number<A>::yes || tandem_count<A>() == tandem_count<V>(), "a vector literal has another number of elements than its type has lanes");
  return V(a);
}
template<class V, class A, class B, class... R> __device__ __forceinline__ constexpr V tandem_lit(const A &a, const B &b, const R &...rest) {
  static_assert(((tandem_count<A>() + tandem_count<B>()) + ... + tandem_count<R>()) == tandem_count<V>(), "a vector literal has another number of elements than its type has lanes");
  return V(a, b, rest...);
}

#define TANDEM_LANES _Pragma("unroll") for (int i = 0; i < N; i++)
#define TANDEM_IS_NUMBER(U) class = typename tandem_if<tandem_number<U>::yes>::type

#define TANDEM_BINARY(OP) \
  template<class T, int N> TANDEM_FN vec<T, N> operator OP(vec<T, N> a, vec<T, N> b) { vec<T, N> r; TANDEM_LANES r.s[i] = (T)(a.s[i] OP b.s[i]); return r; } \
  template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN vec<T, N> operator OP(vec<T, N> a, U b) { return a OP vec<T, N>(b); } \
  template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN vec<T, N> operator OP(U a, vec<T, N> b) { return vec<T, N>(a) OP b; } \
  template<class T, int N, class U> TANDEM_FN vec<T, N> &operator OP##=(vec<T, N> &a, const U &b) { return a = a OP b; }
TANDEM_BINARY(+)
TANDEM_BINARY(-)
TANDEM_BINARY(*)
TANDEM_BINARY(/)
TANDEM_BINARY(%)
TANDEM_BINARY(&)
TANDEM_BINARY(|)
TANDEM_BINARY(^)

#define TANDEM_COMPARE(OP) \
  template<class T, int N> TANDEM_FN vec<tandem_mask<T>, N> operator OP(vec<T, N> a, vec<T, N> b) { vec<tandem_mask<T>, N> r; TANDEM_LANES r.s[i] = (a.s[i] OP b.s[i]) ? -1 : 0; return r; } \
  template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN vec<tandem_mask<T>, N> operator OP(vec<T, N> a, U b) { return a OP vec<T, N>(b); } \
  template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN vec<tandem_mask<T>, N> operator OP(U a, vec<T, N> b) { return vec<T, N>(a) OP b; }
TANDEM_COMPARE(<)
TANDEM_COMPARE(>)
TANDEM_COMPARE(<=)
TANDEM_COMPARE(>=)
TANDEM_COMPARE(==)
TANDEM_COMPARE(!=)
TANDEM_COMPARE(&&)
TANDEM_COMPARE(||)

template<class T, int N> TANDEM_FN vec<T, N> operator-(vec<T, N> a) { TANDEM_LANES a.s[i] = (T)-a.s[i]; return a; }
template<class T, int N> TANDEM_FN vec<T, N> operator+(vec<T, N> a) { return a; }
template<class T, int N> TANDEM_FN vec<T, N> operator~(vec<T, N> a) { TANDEM_LANES a.s[i] = (T)~a.s[i]; return a; }
template<class T, int N> TANDEM_FN vec<tandem_mask<T>, N> operator!(vec<T, N> a) { vec<tandem_mask<T>, N> r; TANDEM_LANES r.s[i] = a.s[i] ? 0 : -1; return r; }
template<class T, int N> TANDEM_FN vec<T, N> &operator++(vec<T, N> &a) { return a = a + 1; }
template<class T, int N> TANDEM_FN vec<T, N> &operator--(vec<T, N> &a) { return a = a - 1; }
template<class T, int N> TANDEM_FN vec<T, N> operator++(vec<T, N> &a, int) { vec<T, N> was = a; a = a + 1; return was; }
template<class T, int N> TANDEM_FN vec<T, N> operator--(vec<T, N> &a, int) { vec<T, N> was = a; a = a - 1; return was; }

// Shifts: only the low bits of the number of places count.
template<class T, class U> TANDEM_FN T tandem_shl(T a, U n) { return (T)((typename tandem_sized<sizeof(T)>::bits)a << ((uint)n & (sizeof(T) * 8 - 1))); }
template<class T, class U> TANDEM_FN T tandem_shr(T a, U n) { return (T)(a >> ((uint)n & (sizeof(T) * 8 - 1))); }
template<class T, int N, class U> TANDEM_FN vec<T, N> operator<<(vec<T, N> a, vec<U, N> n) { TANDEM_LANES a.s[i] = tandem_shl(a.s[i], n.s[i]); return a; }
template<class T, int N, class U> TANDEM_FN vec<T, N> operator>>(vec<T, N> a, vec<U, N> n) { TANDEM_LANES a.s[i] = tandem_shr(a.s[i], n.s[i]); return a; }
template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN vec<T, N> operator<<(vec<T, N> a, U n) { TANDEM_LANES a.s[i] = tandem_shl(a.s[i], n); return a; }
template<class T, int N, class U, TANDEM_IS_NUMBER(U)> TANDEM_FN vec<T, N> operator>>(vec<T, N> a, U n) { TANDEM_LANES a.s[i] = tandem_shr(a.s[i], n); return a; }
template<class T, int N, class U> TANDEM_FN vec<T, N> &operator<<=(vec<T, N> &a, const U &n) { return a = a << n; }
template<class T, int N, class U> TANDEM_FN vec<T, N> &operator>>=(vec<T, N> &a, const U &n) { return a = a >> n; }
template<class A, class B> TANDEM_FN auto tandem_shift_left(A a, B n) {
  if constexpr (tandem_number<A>::yes) return tandem_shl(+a, n); else return a << n;
}
template<class A, class B> TANDEM_FN auto tandem_shift_right(A a, B n) {
  if constexpr (tandem_number<A>::yes) return tandem_shr(+a, n); else return a >> n;
}
template<class A, class B> TANDEM_FN A &tandem_shift_left_to(A &a, B n) { return a = (A)tandem_shift_left(a, n); }
template<class A, class B> TANDEM_FN A &tandem_shift_right_to(A &a, B n) { return a = (A)tandem_shift_right(a, n); }

// c ? a : b by lanes: the highest bit of a lane of c decides.
template<class M, int N, class A, class B> TANDEM_FN auto tandem_choose(vec<M, N> c, A a, B b) {
  typedef typename tandem_either<tandem_number<A>::yes, B, A>::type V;
  static_assert(tandem_count<V>() == N, "the choice is by lanes, and the vectors have not as many as the condition");
  V x(a), y(b), r;
  TANDEM_LANES r.s[i] = c.s[i] < 0 ? x.s[i] : y.s[i];
  return r;
}

// v.xz = …
template<class T, int N, int... I> struct tandem_store<vec<T, N>, I...> {
  vec<T, N> &v;
  typedef vec<T, sizeof...(I)> value;
  __device__ __forceinline__ value get() const { return value(v.s[I]...); }
  __device__ __forceinline__ value operator=(value a) {
    int k = 0;
    ((v.s[I] = a.s[k++]), ...);
    return a;
  }
  template<class U> __device__ __forceinline__ value operator+=(const U &a) { return *this = get() + a; }
  template<class U> __device__ __forceinline__ value operator-=(const U &a) { return *this = get() - a; }
  template<class U> __device__ __forceinline__ value operator*=(const U &a) { return *this = get() * a; }
  template<class U> __device__ __forceinline__ value operator/=(const U &a) { return *this = get() / a; }
  template<class U> __device__ __forceinline__ value operator%=(const U &a) { return *this = get() % a; }
  template<class U> __device__ __forceinline__ value operator&=(const U &a) { return *this = get() & a; }
  template<class U> __device__ __forceinline__ value operator|=(const U &a) { return *this = get() | a; }
  template<class U> __device__ __forceinline__ value operator^=(const U &a) { return *this = get() ^ a; }
  template<class U> __device__ __forceinline__ value operator<<=(const U &a) { return *this = get() << a; }
  template<class U> __device__ __forceinline__ value operator>>=(const U &a) { return *this = get() >> a; }
  __device__ __forceinline__ value operator++() { return *this = get() + 1; }
  __device__ __forceinline__ value operator--() { return *this = get() - 1; }
  __device__ __forceinline__ value operator++(int) { value was = get(); *this = was + 1; return was; }
  __device__ __forceinline__ value operator--(int) { value was = get(); *this = was - 1; return was; }
};
template<class T, int N, int... I, class U> TANDEM_FN auto tandem_shift_left_to(tandem_store<vec<T, N>, I...> a, U n) { return a <<= n; }
template<class T, int N, int... I, class U> TANDEM_FN auto tandem_shift_right_to(tandem_store<vec<T, N>, I...> a, U n) { return a >>= n; }
}
