/* forms that sources come in: macros, helpers, tiles, structs, pointers */
#define MAKE(T, OP) \
  __kernel void add_##T(__global const T *a, __global T *b) { \
    size_t i = get_global_id(0); b[i] = a[i] OP b[i]; }
MAKE(int, +)
MAKE(double, *)
typedef unsigned char byte;
enum { R = 2, W = R * 2 + 1 };
__constant float coef[W] = {1, 2, 3, 2, 1};
__constant int RAD = 2;
inline int at(int x, int y, int w) { return y * w + x; }
float tap(__global const float *src, int i) { return src[i]; }

kernel void blur(global const float *restrict src, global float *restrict dst, int w, int h)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h)
        return;
    float s = 0;
    for (int d = -R; d <= R; d++) {
        int yy = clamp(y + d, 0, h - 1);
        s += coef[d + R] * tap(src, at(x, yy, w));
    }
    dst[at(x, y, w)] = s;
}
__kernel void matmul(const int M, const int N, const int K, const __global float* A, const __global float* B, __global float* C) {
    const int row = get_global_id(1); const int col = get_global_id(0);
    float acc = 0.0f;
    for (int k=0; k<K; k++) acc += A[row*K + k] * B[k*N + col];
    C[row*N + col] = acc;
}
#define TS 16
__kernel void tiled(const int M, const int N, const int K, const __global float* A, const __global float* B, __global float* C) {
    const int lrow = get_local_id(1), lcol = get_local_id(0);
    const int row = TS*get_group_id(1) + lrow, col = TS*get_group_id(0) + lcol;
    __local float As[TS][TS], Bs[TS][TS];
    float acc = 0.0f;
    const int tiles = K/TS;
    for (int t = 0; t < tiles; t++) {
        As[lrow][lcol] = A[row*K + TS*t + lcol];
        Bs[lrow][lcol] = B[(TS*t + lrow)*N + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TS; k++) acc += As[lrow][k]*Bs[k][lcol];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    C[row*N + col] = acc;
}
__kernel void hist(__global const uchar *p, __global uint *h, uint n) { uint i = get_global_id(0); if (i < n) atomic_inc(&h[p[i]]); }
__kernel void hist2(__global const uchar *p, __global uint *h, uint n, __local uint *l) { uint i = get_global_id(0); if (i < n) atomic_inc(&l[p[i]]); barrier(CLK_LOCAL_MEM_FENCE); if (get_local_id(0)==0) h[0] = l[0]; }
__kernel void shift(__global float *x) { size_t i = get_global_id(0); x[i] = x[i + 1]; }
__kernel void img(__read_only image2d_t im, sampler_t s, __global float *o) { o[0] = 1; }
__kernel void sz(size_t n, bool b, float *p, __global float **q, half h) {}
__kernel void goer(__global float *x) { a: x[0] = 1; goto a; }
__kernel void ptrs(__global float *x, __global const float *y, int w) {
   __global float *row = x + get_global_id(0) * w; __global const float *r2 = y + get_global_id(0) * w;
   for (int i = 0; i < w; ++i) row[i] = r2[i]; }
__kernel void v4(__global const float4 *x, __global float *y) { int i = get_global_id(0); float4 v = x[i]; vstore4(v * 2.0f, i, y); }
typedef struct __attribute__((packed)) { char c; int n; float3 v; struct { short a[3]; } in; } rec;
struct node { float x[4]; int k; };
__kernel void st(__global rec *r, struct node nd, __global struct node *ns, uint4 u, const unsigned long q) { r[get_global_id(0)].n = 1; }
__kernel void rev(__global float *x, __global const float *y, int n) { int i = get_global_id(0); x[i] = y[n - 1 - i]; }
__kernel void gather(__global float *x, __global const float *y, __global const int *idx) { int i = get_global_id(0); x[i] = y[idx[i]]; }
__kernel void scatter(__global float *x, __global const int *idx) { int i = get_global_id(0); x[idx[i]] = 1.0f; }
__kernel void arr(__global float x[], __global float (*m)[4], __constant int t[3]) { m[get_global_id(0)][2] = x[0]; }
