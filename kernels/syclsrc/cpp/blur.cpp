// 5x5 Gaussian of a picture with interleaved channels: weights 1 4 6 4 1 in
// both directions, (sum + 128) / 256; beyond the edge the outermost pixel
// repeats. A work-item computes 8 neighbouring bytes of a row.
#include <sycl/sycl.hpp>

namespace syclext = sycl::ext::oneapi;
namespace syclexp = sycl::ext::oneapi::experimental;

constexpr int BYTES = 8;

inline unsigned weigh(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e) { return a + e + 4 * (b + d) + 6 * c; }

extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<2>))
void image_blur(const unsigned char *src, unsigned char *dst, int width, int height, int channels) {
  const auto it = syclext::this_work_item::get_nd_item<2>();
  const int y = it.get_global_id(0), n = width * channels;
  const int from = BYTES * int(it.get_global_id(1)), to = sycl::min(from + BYTES, n);
  if (y >= height)
    return;
  const unsigned char *row[5];
  for (int d = 0; d < 5; d++)
    row[d] = src + size_t(sycl::clamp(y + d - 2, 0, height - 1)) * n;
  for (int i = from; i < to; i++) {
    const int x = i / channels, c = i - x * channels;
    unsigned column[5];
    for (int d = 0; d < 5; d++) {
      const int at = sycl::clamp(x + d - 2, 0, width - 1) * channels + c;
      column[d] = weigh(row[0][at], row[1][at], row[2][at], row[3][at], row[4][at]);
    }
    dst[size_t(y) * n + i] = (weigh(column[0], column[1], column[2], column[3], column[4]) + 128) >> 8;
  }
}
