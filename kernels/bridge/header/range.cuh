// The types of OpenCL C, and the work-item functions, which answer from the
// range that every kernel gets as its last parameter.
namespace tandem_cl {
#define TANDEM_FN static __device__ __forceinline__
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1107
#define tandem_grid_constant __grid_constant__
#else
#define tandem_grid_constant
#endif

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;
typedef unsigned long long size_t;
typedef long long ptrdiff_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;

struct tandem_range {
  ulong first[3], size[3], whole[3], offset[3], group[3], groups[3];
  uint skew[3], dims;
};

// Place of the work-item in the launch, and of its block.
TANDEM_FN uint tandem_thread(uint d) { return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z; }
TANDEM_FN uint tandem_block(uint d) { return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z; }
TANDEM_FN uint tandem_width(uint d) { return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z; }
TANDEM_FN ulong tandem_index(uint d) { return (ulong)tandem_block(d) * tandem_width(d) + tandem_thread(d); }

// A thread behind the end of the range.
TANDEM_FN bool tandem_outside(const tandem_range &r) {
  return tandem_index(0) >= r.size[0] || tandem_index(1) >= r.size[1] || tandem_index(2) >= r.size[2];
}

TANDEM_FN uint get_work_dim(const tandem_range &r) { return r.dims; }
TANDEM_FN size_t get_global_id(const tandem_range &r, uint d) { return d < 3 ? r.first[d] + tandem_index(d) : 0; }
TANDEM_FN size_t get_global_size(const tandem_range &r, uint d) { return d < 3 ? r.whole[d] : 1; }
TANDEM_FN size_t get_global_offset(const tandem_range &r, uint d) { return d < 3 ? r.offset[d] : 0; }
TANDEM_FN size_t get_local_id(const tandem_range &, uint d) { return d < 3 ? tandem_thread(d) : 0; }
TANDEM_FN size_t get_enqueued_local_size(const tandem_range &, uint d) { return d < 3 ? tandem_width(d) : 1; }
TANDEM_FN size_t get_local_size(const tandem_range &r, uint d) {
  if (d >= 3) return 1;
  ulong rest = r.size[d] - (ulong)tandem_block(d) * tandem_width(d);
  return rest < tandem_width(d) ? rest : tandem_width(d);
}
TANDEM_FN size_t get_num_groups(const tandem_range &r, uint d) { return d < 3 ? r.groups[d] : 1; }
TANDEM_FN size_t get_group_id(const tandem_range &r, uint d) {
  if (d >= 3) return 0;
  if (r.skew[d] == 0) return r.group[d] + tandem_block(d);
  return r.group[d] + (r.skew[d] + tandem_index(d)) / tandem_width(d);
}
TANDEM_FN size_t get_global_linear_id(const tandem_range &r) {
  return ((get_global_id(r, 2) - r.offset[2]) * r.whole[1] + get_global_id(r, 1) - r.offset[1]) * r.whole[0] + get_global_id(r, 0) - r.offset[0];
}
TANDEM_FN size_t get_local_linear_id(const tandem_range &r) {
  return (threadIdx.z * get_local_size(r, 1) + threadIdx.y) * get_local_size(r, 0) + threadIdx.x;
}

// Local memory that is an argument: a place in the launch's dynamic memory.
struct tandem_pointer {
  unsigned char *p;
  template<class T> __device__ __forceinline__ operator T *() const { return (T *)p; }
};
extern __shared__ __align__(128) unsigned char tandem_dynamic[];
TANDEM_FN tandem_pointer tandem_local(uint at) { return tandem_pointer{tandem_dynamic + at}; }
}
