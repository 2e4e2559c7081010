/* The kernels of the conformance kit; kernels_go.go has the same in Go. */

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

__kernel void fill(__global uchar *dst, uchar v) {
  dst[get_global_id(0)] = v;
}

__kernel void copy(__global const uchar *src, __global uchar *dst) {
  dst[get_global_id(0)] = src[get_global_id(0)];
}

/* mad does not commute with itself: the order of launches shows. */
__kernel void mad_u32(__global uint *x, uint a, uint b) {
  size_t i = get_global_id(0);
  x[i] = x[i] * a + b;
}

__kernel void mad_f32(__global float *x, float a, float b) {
  size_t i = get_global_id(0);
  x[i] = x[i] * a + b;
}

/* count adds one to the cell of each work-item of a w x h x ... box, or to
   cell n for a work-item outside of the n cells. */
__kernel void count(__global uint *cells, uint w, uint h, uint n) {
  size_t i = get_global_id(0) + w * (get_global_id(1) + h * get_global_id(2));
  atomic_inc(cells + (i < n ? i : n));
}

/* ids writes six numbers per work-item: its id and the global size. */
__kernel void ids(__global int *out, uint w, uint h) {
  size_t i = get_global_id(0) + w * (get_global_id(1) + h * get_global_id(2));
  for (uint d = 0; d < 3; d++) {
    out[6 * i + d] = get_global_id(d);
    out[6 * i + 3 + d] = get_global_size(d);
  }
}

/* groups writes, per work-item: group id, number of groups, local id and
   global offset of dimension 0. There is no such thing in Go. */
__kernel void groups(__global int *out) {
  size_t i = get_global_id(0);
  out[4 * i] = get_group_id(0);
  out[4 * i + 1] = get_num_groups(0);
  out[4 * i + 2] = get_local_id(0);
  out[4 * i + 3] = get_global_offset(0);
}

/* scalars widens one value of each integer type to 64 bits. */
__kernel void scalars(__global long *out, char i8, uchar u8, short i16, ushort u16,
                      int i32, uint u32, long i64, ulong u64, float f32) {
  out[0] = i8;
  out[1] = u8;
  out[2] = i16;
  out[3] = u16;
  out[4] = i32;
  out[5] = u32;
  out[6] = i64;
  out[7] = (long)u64;
  out[8] = as_uint(f32);
}

#ifdef cl_khr_fp64
__kernel void scalar_f64(__global double *out, double v) { out[0] = v; }
#endif

#ifdef cl_khr_fp16
__kernel void scalar_f16(__global ushort *out, half v) { out[0] = as_ushort(v); }
#endif

__kernel void vectors(__global float *out, float4 a, int2 b, uchar16 c, float3 d) {
  vstore4(a, 0, out);
  out[4] = b.x;
  out[5] = b.y;
  vstore16(convert_float16(c), 0, out + 6);
  vstore3(d, 0, out + 22);
}

struct thing {
  int id;         /* at byte 0 */
  float3 origin;  /* at byte 16: a 3-vector is aligned like a 4-vector */
  char tag;       /* at byte 32 */
};                /* 48 bytes */

__kernel void structs(__global float *out, struct thing s) {
  out[0] = s.id;
  out[1] = s.origin.x;
  out[2] = s.origin.y;
  out[3] = s.origin.z;
  out[4] = s.tag;
}

/* nulls says which of two arrays are null: 1 for a, 2 for b, 3 for both. */
__kernel void nulls(__global uchar *a, __global uchar *b, __global uint *out) {
  out[0] = (a == 0 ? 1 : 0) + (b == 0 ? 2 : 0);
}

/* scratch sends each id through local memory. */
__kernel void scratch(__global uint *out, __local uint *tmp) {
  tmp[get_local_id(0)] = get_global_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tmp[get_local_id(0)] + 1;
}

/* spin takes n rounds of a generator, which no compiler can leave out. */
__kernel void spin(__global uint *out, uint n) {
  uint x = get_global_id(0) + 1;
  for (uint i = 0; i < n; i++) x = x * 1664525u + 1013904223u;
  out[get_global_id(0)] = x;
}
