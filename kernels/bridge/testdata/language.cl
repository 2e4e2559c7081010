// Every kernel reads words from in and writes what it makes of them to its own
// 64 bytes of out, so that any two implementations can be compared bit by bit.
// Nothing here is left undefined by OpenCL C, and no float operation that may be
// rounded in more than one way is used.
#define N 16 // words of a work-item, in and out
#define OUT(i) out[get_global_id(0) * N + (i)]
#define IN(i) in[(get_global_id(0) * 7 + (i)) % 4096]
#define F(i) ((float)((int)(IN(i) % 2001) - 1000) * 0.125f)

typedef float4 color; // the name of a vector
typedef struct { int id; float3 at; uchar4 rgba; double weight; } probe;
struct node { struct { short a, b; } pair[3]; union { uint bits; float value; } u; };
enum mode { SLOW, FAST = 5, FASTER };

__constant float4 corners[2] = {(float4)(1, 2, 3, 4), (float4)(5.0f)};
__constant int primes[] = {2, 3, 5, 7, 11, 13};
constant probe origin = {7, {1.0f, 2.0f, 3.0f}, {1, 2, 3, 4}, 0.5};

__kernel void literals(__global const uint *in, __global uint *out) {
  float4 a = (float4)(F(0), F(1), F(2), F(3));
  float4 b = (float4)(a.xy, F(4), 1);
  float8 c = (float8)(a, (float2)(F(5)), b.zw);
  int3 d = (int3)(IN(0), (int2)(IN(1), IN(2)));
  color e = (color)(0.5f);
  uchar4 f = (uchar4)((uchar)IN(0), 2, (uchar2)(3, 4));
  float2 g = {F(6), F(7)};
  int2 h[2] = {{1, 2}, {(int)IN(3), 4}};
  vstore4(as_uint4(a + b * e), 0, &OUT(0));
  vstore8(as_uint8(c), 0, &OUT(4));
  OUT(12) = d.x ^ d.y ^ d.z ^ as_uint(f);
  OUT(13) = as_uint(g.x) ^ as_uint(g.y);
  OUT(14) = h[1].x + h[0].y;
  OUT(15) = as_uint(corners[IN(5) & 1].z) + primes[IN(6) % 6] + origin.id + as_uint(origin.at.y) + origin.rgba.w;
}

__kernel void lanes(__global const uint *in, __global uint *out) {
  uint4 a = vload4(0, &IN(0) - (&IN(0) - in) % 4), b = a.wzyx, c = a;
  c.xz = b.yy;
  c.s13 += (uint2)(IN(5), 3);
  c.lo.x = 9;
  uint8 d = (uint8)(a, b);
  d.odd = c;
  d.hi.lo.y = IN(7);
  d.s7 ^= 1;
  uint16 e = (uint16)(d, d.s76543210);
  e.sF = 15;
  e.even.s0 = 77;
  e.sA += e.sB;
  uint3 t = a.xyz;
  t.yz = t.zy;
  uint4 *p = &c;
  p->w = t.x;
  p->xy = p->yx;
  c.z++;
  d.lo++;
  vstore4(c, 0, &OUT(0));
  vstore8(d, 0, &OUT(4));
  vstore3(t, 0, &OUT(12));
  OUT(15) = e.s0 + 3 * e.s5 + 5 * e.sA + 7 * e.sf + e.hi.s3 + d.even.odd.x;
}

__kernel void operators(__global const uint *in, __global uint *out) {
  int4 a = (int4)(IN(0), IN(1), IN(2), IN(3)), b = (int4)(IN(4), IN(5), IN(6), IN(7)) | 1;
  uint4 u = as_uint4(a), v = as_uint4(b);
  int4 r = (a & 0xffff) * (b & 0xff) + (a >> 3) - (b ^ 7) % 1000;
  r += ~a | -(b >> 8);
  r = a < b ? r : r / (b | 1);
  r -= (a == b) + (a != b) + !a + (a && b) + (a || 0);
  u = (u << (v & 31u)) ^ (u >> 5) ^ (v << 33u) ^ u / v;
  u *= 3;
  u = 7 - u;
  char4 c = convert_char4(a), k = c * (char)3 + (char4)(1, 2, 3, 4);
  uchar4 w = (uchar4)(200) + as_uchar4(c);
  short2 s = (short2)((short)IN(8), (short)IN(9)) << (short2)(3, 17);
  vstore4(as_uint4(r), 0, &OUT(0));
  vstore4(u, 0, &OUT(4));
  OUT(8) = as_uint(k);
  OUT(9) = as_uint(w);
  OUT(10) = as_uint(s);
  OUT(11) = ++r.x + r.y--;
  float4 f = (float4)(F(0), F(1), F(2), F(3)), g = (float4)(F(4), F(5), F(6), F(7));
  f = f * 2 + 1.5f - g;
  f = f >= g ? f : g;
  int4 m = f < 10.0f;
  OUT(12) = as_uint(f.x) ^ as_uint(f.y);
  OUT(13) = m.x + 2 * m.y + 4 * m.z + 8 * m.w;
  OUT(14) = any(m) + 2 * all(m) + 4 * any(a.x) + 16 * any(a.x < 0) + 8 * (f.z > 3 ? 1 : 0);
  long2 l = (long2)(IN(0), IN(1)) * (long2)(IN(2), -5) >> 7;
  OUT(15) = (uint)l.x ^ (uint)(l.y >> 32);
}

__kernel void shifts(__global const uint *in, __global uint *out) {
  int a = IN(0), n = IN(1);
  uint u = IN(2);
  long l = ((long)IN(3) << 32) | IN(4);
  ulong w = (ulong)l * 0x9E3779B97F4A7C15UL;
  uchar c = (uchar)IN(5);
  OUT(0) = a << n;
  OUT(1) = a >> n;
  OUT(2) = u >> (n + 32);
  OUT(3) = u << 35;
  OUT(4) = (uint)(l << n);
  OUT(5) = (uint)(l >> (n & 63) >> 5);
  OUT(6) = (uint)(w >> 40L);
  u <<= n;
  OUT(7) = u;
  u = IN(2);
  u >>= n;
  OUT(8) = u;
  c <<= 3;
  OUT(9) = c;
  c >>= (n & 7);
  OUT(10) = c;
  OUT(11) = (1u << (n & 31)) | (uint)sizeof(l << n) << 8;
  OUT(12) = (uint)(0x123456789ABCDEFL >> 4) + 10UL;
  OUT(13) = (uint)-1L >> 28;
  OUT(14) = rotate(a, n) ^ rotate(c, (uchar)n);
  OUT(15) = as_uint(rotate((short2)((short)a, 5), (short2)((short)n, 3)));
}

__kernel void conversions(__global const uint *in, __global uint *out) {
  float f = F(0) * 3.3f;
  double d = (double)f * 1e7;
  int i = IN(1);
  OUT(0) = convert_int_sat_rte(f) ^ convert_int_rtp(f) * 3 ^ convert_int_rtn(f) * 5 ^ convert_int_rtz(f) * 7 ^ convert_int(f) * 11;
  OUT(1) = convert_uchar_sat(f) | convert_char_sat(i) << 8 | convert_uchar_sat(i) << 16;
  OUT(2) = convert_short_sat(d) ^ (uint)convert_long_sat(d) ^ convert_uint_sat(d);
  OUT(3) = convert_int_sat(1e20f) ^ convert_int_sat(-1e20f) ^ convert_int_sat(NAN) ^ convert_uint_sat(-1.0f);
  OUT(4) = as_uint(convert_float_rtz(i)) ^ as_uint(convert_float_rtp(i)) ^ as_uint(convert_float_rtn(IN(2))) ^ as_uint(convert_float(IN(2)));
  OUT(5) = as_uint(convert_float_rtz(d)) ^ as_uint(convert_float_rtp(d)) ^ as_uint((float)d);
  uchar4 c = convert_uchar4_sat(convert_int4_rte((float4)(f, f * 3, -f, 300)));
  OUT(6) = as_uint(c);
  OUT(7) = as_uint(convert_ushort2(c.xz)) ^ as_uint(convert_char4_sat((short4)((short)i, 127, -129, 128)));
  OUT(8) = (uint)(convert_ulong_sat(d) >> 3) ^ (uint)convert_ulong_sat(1e30) ^ (uint)convert_long_sat(-1e30f);
  OUT(9) = as_uint(as_float4(as_int4((uint4)(IN(3), IN(4), IN(5), IN(6)))).w);
  OUT(10) = as_uint(as_short2(IN(7)).yx);
  OUT(11) = (uint)as_ulong(d) ^ (uint)(as_long((uint2)(IN(8), IN(9))) >> 20);
  OUT(12) = (uint)(int)f + (uint)(uchar)i + (uint)(short)i + (uint)(bool)i + (uint)(f != 0) + (int)-2.9;
  OUT(13) = as_uint(convert_float3((int3)(i, 2, 3)).x) ^ as_uint((float)(long)i * 2);
  OUT(14) = as_uint(as_char4(as_uchar4(IN(10))).wzyx);
  OUT(15) = (uint)as_ulong(convert_double(i)) ^ (uint)(as_ulong(convert_double(IN(11))) >> 32);
}

float twice(float x);
float twice(float x) { return x + x; }
static inline uint place(void) { return (uint)get_local_id(0) + 100 * (uint)get_group_id(0); }
int4 sorted(const int4 v) { return v.x > v.y ? v.yxzw : v; }
void swap(uint *a, __private uint *b) { uint t = *a; *a = *b; *b = t; }
float total(__local const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
float at(__global const float *x, size_t i) { return x[i]; }

__kernel void functions(__global const uint *in, __global uint *out) {
  uint a = IN(0), b = IN(1);
  swap(&a, &b);
  int4 v = sorted((int4)((int)a >> 1, (int)b >> 1, 3, 4));
  OUT(0) = a;
  OUT(1) = b;
  OUT(2) = place();
  OUT(3) = as_uint(twice(F(2)));
  OUT(4) = v.x;
  OUT(5) = v.y;
  OUT(6) = as_uint(at((__global const float *)in, get_global_id(0)));
  int class = 3, new = 4, template = 5; // words of C++
  OUT(7) = class + new * template;
  probe p = {.id = (int)IN(3), .at = (float3)(F(4), F(5), F(6)), .rgba = (uchar4)(9), .weight = 0.25};
  probe q = p;
  q.at.y = 2;
  OUT(8) = q.id + as_uint(q.at.y) + as_uint(p.at.z) + q.rgba.z + (uint)(q.weight * 8) + sizeof(probe);
  struct node n;
  n.pair[1].b = (short)IN(4);
  n.u.value = F(7);
  OUT(9) = n.pair[1].b ^ n.u.bits ^ (uint)sizeof(struct node);
  enum mode m = IN(5) & 1 ? FASTER : SLOW;
  switch (m) { case SLOW: OUT(10) = 1; break; case FASTER: OUT(10) = FAST; break; default: OUT(10) = 99; }
  uint k = 0;
  do { k += 3; if (k == 12) continue; } while (k < (IN(6) & 63));
  for (uint i = 0; i < 4; i++) for (uint j = i; j--;) k ^= j << i;
  OUT(11) = k;
  OUT(12) = (IN(7) & 1 ? a : b) + (IN(8) > 5 ? 1u : 0u, 2u);
  OUT(13) = sizeof(float3) + 10 * sizeof(char) + 100 * sizeof(long) + 1000 * sizeof(double16) + sizeof(size_t) * 100000;
  OUT(14) = get_work_dim() + (uint)get_global_size(0) + (uint)get_num_groups(0) * 7 + (uint)get_local_size(0) * 13 + (uint)get_global_offset(0) + (uint)get_global_size(1) + (uint)get_global_id(2);
  OUT(15) = 'a' + '\n' + (char)200 + (-7 / 2) + (-7 % 3);
}

__kernel void integers(__global const uint *in, __global uint *out) {
  int a = IN(0), b = IN(1), c = IN(2);
  uint u = IN(3), v = IN(4), w = IN(5);
  char e = (char)IN(6), f = (char)IN(7);
  ushort g = (ushort)IN(8), h = (ushort)IN(9);
  long l = ((long)IN(10) << 32) | IN(11), m = ((long)IN(12) << 32) | IN(13);
  OUT(0) = abs(a) ^ abs_diff(a, b) * 3 ^ abs(e) * 7;
  OUT(1) = add_sat(a, b) ^ sub_sat(a, b) * 3 ^ add_sat(u, v) * 5 ^ sub_sat(u, v) * 7;
  OUT(2) = (uint)add_sat(e, f) ^ (uint)sub_sat(e, f) << 8 ^ (uint)add_sat(g, h) << 16 ^ (uint)add_sat(l, m);
  OUT(3) = hadd(a, b) ^ rhadd(a, b) * 3 ^ hadd(u, v) * 5 ^ (uint)rhadd(e, f) * 7;
  OUT(4) = clz(u) + 100 * clz(g) + 10000 * clz(e) + 1000000 * (uint)clz(l);
  OUT(5) = popcount(u) + 100 * popcount(g) + 10000 * popcount(e) + 1000000 * (uint)popcount(l);
  OUT(6) = mul_hi(a, b) ^ mul_hi(u, v) * 3 ^ (uint)mul_hi(l, m) ^ mul_hi(g, h) ^ (uint)mul_hi(e, f) * 11;
  OUT(7) = mad_hi(a, b, c) ^ mad_sat(a, b, c) * 3 ^ mad_sat(u, v, w) * 5 ^ (uint)mad_sat(e, f, (char)3) ^ (uint)mad_sat(l, m, l);
  OUT(8) = mul24(a >> 8, b >> 8) ^ mad24(u >> 8, v >> 8, w);
  OUT(9) = (uint)upsample(e, (uchar)f) ^ upsample(g, h) ^ (uint)(upsample(a, u) >> 13) ^ as_uint(upsample((char2)(e, f), (uchar2)(1, 2)));
  OUT(10) = max(a, b) ^ min(u, v) ^ clamp(c, -1000, 1000) ^ (uint)max(e, f) ^ min(g, h);
  int4 p = (int4)(a, b, c, 5), q = (int4)(7, a, b, c);
  int4 r = max(p, q) ^ min(p, 100) ^ clamp(p, -50, 50) ^ as_int4(abs_diff(p, q)).wzyx;
  OUT(11) = r.x ^ r.y * 3 ^ r.z * 5 ^ r.w * 7;
  OUT(12) = bitselect(u, v, w) ^ select(u, v, w) ^ as_uint(select((float)1, 2.0f, a));
  int4 s = select(p, q, p > q) ^ bitselect(p, q, r);
  OUT(13) = s.x ^ s.y ^ s.z ^ s.w;
  uint4 t = shuffle((uint4)(u, v, w, 1), (uint4)(3, 2, 5, 0)) ^ shuffle2((uint4)(a, b, c, 2), (uint4)(9, 8, 7, 6), (uint4)(7, 1, 4, 0));
  OUT(14) = t.x ^ t.y * 3 ^ t.z * 5 ^ t.w * 7;
  OUT(15) = vec_step(p) + vec_step(u) * 10 + (uint)clz((long)0) * 100 + clz((uint)0) * 10000;
}

__kernel void relations(__global const uint *in, __global uint *out) {
  float a = as_float(IN(0)), b = F(1), z = 0.0f, n = NAN, i = INFINITY;
  float4 v = (float4)(a, n, i, -z);
  OUT(0) = isnan(a) + 2 * isinf(a) + 4 * isfinite(a) + 8 * isnormal(a) + 16 * (signbit(a) != 0) + 32 * isnan(n) + 64 * isinf(-i);
  OUT(1) = isequal(b, F(2)) + 2 * isnotequal(n, n) + 4 * isgreater(b, F(2)) + 8 * isless(b, F(3)) + 16 * isunordered(n, b) + 32 * isordered(b, b) + 64 * islessgreater(b, F(4)) + 128 * isgreaterequal(n, b) + 256 * islessequal(b, b);
  int4 m = isnan(v) + 2 * isinf(v) + 4 * signbit(v) + 8 * (v == v);
  OUT(2) = m.x ^ m.y * 3 ^ m.z * 5 ^ m.w * 7;
  OUT(3) = as_uint(fmax(b, n)) ^ as_uint(fmin(n, b)) ^ as_uint(max(b, F(5))) ^ as_uint(min(b, F(6))) * 3;
  OUT(4) = as_uint(clamp(b, -10.0f, 10.0f)) ^ as_uint(step(F(7), b)) ^ as_uint(sign(b)) ^ as_uint(sign(-z));
  OUT(5) = as_uint(floor(b)) ^ as_uint(ceil(b)) * 3 ^ as_uint(trunc(b)) * 5 ^ as_uint(rint(b)) * 7 ^ as_uint(round(b)) * 11;
  float w;
  OUT(6) = as_uint(fract(b, &w)) ^ as_uint(w) * 3;
  int e;
  OUT(7) = as_uint(frexp(b, &e)) ^ e * 3 ^ as_uint(ldexp(b, 5)) * 5 ^ (b == 0 ? 0 : ilogb(b)) * 7;
  float k;
  OUT(8) = as_uint(modf(b, &k)) ^ as_uint(k) * 3 ^ as_uint(copysign(b, F(8))) ^ as_uint(fabs(b)) ^ as_uint(fdim(b, F(9)));
  OUT(9) = as_uint(fmod(b, 3.0f)) ^ as_uint(remainder(b, 7.0f)) * 3 ^ as_uint(nextafter(b, 1e9f)) * 5;
  OUT(10) = as_uint(fma(b, F(10), F(11))) ^ as_uint(maxmag(b, F(12))) * 3 ^ as_uint(minmag(b, F(13))) * 5;
  float4 r = floor(v.zwxy * 0 + b) + fmax((float4)(b, 1, 2, 3), 1.5f) + mix((float4)(0), (float4)(8), 0.5f);
  OUT(11) = as_uint(r.y) ^ isnan(r.w);
  double d = b, x = F(14);
  OUT(12) = (uint)as_ulong(floor(d) + fmax(d, x) * 2) ^ isnan((double)a) ^ isgreater(d, x) << 4;
  long2 lm = (double2)(d, x) < (double2)(x, d);
  OUT(13) = (uint)lm.x + (uint)(lm.y >> 40) * 3;
  OUT(14) = FLT_MAX > 1e38f && DBL_EPSILON < 1e-15 && INT_MIN < 0 && CHAR_BIT == 8 && LONG_MAX > 0 && UINT_MAX > 5 && M_PI_F > 3.14f && M_PI > 3.14159;
  OUT(15) = as_uint(b == 0 ? 1.0f : 0.5f) + (a < b) + (a < b ? 3 : 4) * -(b > 1);
}

__kernel void halfs(__global const uint *in, __global uint *out) {
  ushort bits[8];
  for (int i = 0; i < 8; i++) bits[i] = (ushort)(IN(i) & 0x7bff); // finite
  __global half *to = (__global half *)&OUT(8);
  half *h = (half *)bits;
  float a = vload_half(0, h), b = vload_half(1, h);
  float4 v = vload_half4(0, h);
  float3 t = vloada_half3(1, h);
  OUT(0) = as_uint(a);
  OUT(1) = as_uint(b);
  OUT(2) = as_uint(v.z) ^ as_uint(v.w);
  OUT(3) = as_uint(t.x) ^ as_uint(t.z);
  for (int i = 8; i < 16; i++) OUT(i) = 0;
  vstore_half(a * 1.37f, 0, to);
  vstore_half_rtz(b * 0.77f, 1, to);
  vstore_half_rtp(F(9) * 1e-3f, 2, to);
  vstore_half_rtn(F(10) * 1e3f, 3, to);
  vstore_half4_rte(v * 0.5f, 1, to);
  vstorea_half2(v.xy, 4, to);
  vstore_half((double)b, 10, to);
  OUT(4) = OUT(5) = OUT(6) = OUT(7) = 0;
}

__kernel void memory(__global const uint *in, __global uint *out) {
  uint3 a = vload3(1, in + get_global_id(0));
  uchar16 b = vload16(0, (__global const uchar *)in + get_global_id(0) * 16);
  uint scratch[20];
  for (int i = 0; i < 20; i++) scratch[i] = i;
  vstore3(a, 1, scratch);
  vstore2(a.zx, 4, scratch);
  vstore4((uint4)(1, 2, 3, 4) * IN(3), 3, scratch);
  vstore8(vload8(1, scratch) + 1, 0, &OUT(0));
  vstore4(vload4(3, scratch), 2, &OUT(0));
  uint *p = scratch + 3, (*q)[2] = (uint(*)[2])scratch;
  OUT(12) = *p++ + *p + q[2][1] + (uint)(p - scratch);
  OUT(13) = b.s0 + b.sf * 256 + b.s7 * 65536;
  OUT(14) = ((__global const ushort *)in)[get_global_id(0)];
  OUT(15) = as_uint(b.s4567);
}
