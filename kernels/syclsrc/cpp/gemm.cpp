// c = alpha·a·b + beta·c for row-major float matrices. A work-item computes a
// block of ROWS x COLS elements of c, as the OpenCL C variant does, and adds the
// products of an element in the same order.
#include <sycl/sycl.hpp>

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

constexpr int ROWS = 4, COLS = 16;

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<2>))
void linalg_gemm(const float *a, const float *b, float *c, float alpha, float beta, int m, int n, int k) {
  const auto it = syclext::this_work_item::get_nd_item<2>();
  const int i = it.get_global_id(0) * ROWS, j = it.get_global_id(1) * COLS;
  const int rows = sycl::min(ROWS, m - i), cols = sycl::min(COLS, n - j);
  if (rows <= 0 || cols <= 0)
    return;
  float sum[ROWS][COLS] = {};
  if (rows == ROWS && cols == COLS) {
    for (int p = 0; p < k; p++) {
      const float *row = b + size_t(p) * n + j;
      for (int y = 0; y < ROWS; y++) {
        const float v = a[size_t(i + y) * k + p];
        for (int x = 0; x < COLS; x++)
          sum[y][x] += v * row[x];
      }
    }
  } else {
    for (int p = 0; p < k; p++) {
      const float *row = b + size_t(p) * n + j;
      for (int y = 0; y < rows; y++) {
        const float v = a[size_t(i + y) * k + p];
        for (int x = 0; x < cols; x++)
          sum[y][x] += v * row[x];
      }
    }
  }
  for (int y = 0; y < rows; y++)
    for (int x = 0; x < cols; x++) {
      float *at = c + size_t(i + y) * n + j + x;
      // Where beta is 0 the old contents do not matter, and may be NaN.
      *at = beta == 0 ? alpha * sum[y][x] : alpha * sum[y][x] + beta * *at;
    }
}
