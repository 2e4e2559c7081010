// Work-groups: local memory in every form, barriers, atomics, copies by a group.
__kernel void reverse(__global const uint *in, __global uint *out, __local uint *tile, __local uint2 *pairs) {
  size_t l = get_local_id(0), n = get_local_size(0), g = get_group_id(0) * 1000;
  __local uint sum, tail[4];
  __local struct { int a; float4 b; } box;
  tile[l] = in[get_global_id(0)];
  pairs[l] = (uint2)(tile[l], l);
  if (l == 0) { sum = 0; box.a = 3; box.b = (float4)(1, 2, 3, 4); for (int i = 0; i < 4; i++) tail[i] = i; }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&sum, tile[l] & 0xff);
  atomic_max(&tail[1], (uint)l);
  atom_inc(&tail[2]);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  out[get_global_id(0)] = pairs[n - 1 - l].x + (uint)n * 3 + sum + tail[1] + tail[2] * 5 + box.a + (uint)box.b.w + (uint)g;
}

__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void copies(__global const uint *in, __global uint *out) {
  __local uint a[16], b[8];
  event_t e = async_work_group_copy(a, in + get_group_id(0) * 16, 16, 0);
  e = async_work_group_strided_copy(b, in + get_group_id(0) * 16, 8, 2, e);
  wait_group_events(1, &e);
  uint v = a[15 - get_local_id(0)] + b[get_local_id(0) / 2];
  barrier(CLK_LOCAL_MEM_FENCE);
  a[get_local_id(0)] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  e = async_work_group_copy(out + get_group_id(0) * 16, a, 16, 0);
  wait_group_events(1, &e);
}

__kernel void atomics(__global const uint *in, __global uint *out) {
  volatile __global int *s = (volatile __global int *)out;
  uint x = in[get_global_id(0)];
  atomic_add(s + 0, (int)(x & 255));
  atomic_sub(s + 1, (int)(x & 255));
  atomic_inc(s + 2);
  atomic_dec(s + 3);
  atomic_max(s + 4, (int)x);
  atomic_min(s + 5, (int)x);
  atomic_max(&out[6], x);
  atomic_and(&out[7], ~(x & 0x10));
  atomic_or(&out[8], x & 0xff00);
  atomic_xor(&out[9], x);
  atomic_cmpxchg(&out[10], 0u, 5u);
  atomic_xchg(&out[11], 77u);
  int old;
  do old = s[12]; while (atomic_cmpxchg(s + 12, old, old + 3) != old);
  atom_add((__global int *)s + 13, 2);
  atomic_xchg((volatile __global float *)out + 14, 2.5f);
  mem_fence(CLK_GLOBAL_MEM_FENCE);
}

// Ids of a launch in three dimensions, with an offset.
__kernel void ids(__global uint *out) {
  size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1), z = get_global_id(2) - get_global_offset(2);
  size_t at = (z * get_global_size(1) + y) * get_global_size(0) + x;
  uint h = get_work_dim();
  for (uint d = 0; d < 3; d++)
    h = h * 31 + (uint)(get_global_id(d) + 3 * get_local_id(d) + 5 * get_group_id(d) + 7 * get_num_groups(d) + 11 * get_local_size(d) + 13 * get_global_size(d) + 17 * get_global_offset(d));
  out[at] += h;
}
