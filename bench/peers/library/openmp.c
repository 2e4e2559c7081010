/* Every built-in kernel as a plain loop in C with OpenMP, in two sizes. */
#include "measure.h"

#define T float
#define SUM float
#define SUFFIX ""
#define REAL
#include "vector.h"
#undef T
#undef SUM
#undef SUFFIX

#define T double
#define SUM double
#define SUFFIX ".f64"
#include "vector.h"
#undef T
#undef SUM
#undef SUFFIX
#undef REAL

#define T int
#define SUM int64_t
#define SUFFIX ".i32"
#include "vector.h"
#undef T
#undef SUM
#undef SUFFIX

static inline int clamp(int v, int most)
{
	return v < 0 ? 0 : v > most ? most : v;
}

static void images(int n)
{
	ARRAY(uint8_t, color, 3 * n * n);
	ARRAY(uint8_t, src, n * n);
	ARRAY(uint8_t, dst, n * n);
	uint32_t bins[256];

	MEASURE("image.gray", n, {
		_Pragma("omp parallel for schedule(static)")
		for (int i = 0; i < n * n; i++)
			dst[i] = (uint8_t)((77 * color[3 * i] + 150 * color[3 * i + 1] + 29 * color[3 * i + 2] + 128) >> 8);
	});
	MEASURE("image.threshold", n, {
		_Pragma("omp parallel for schedule(static)")
		for (int i = 0; i < n * n; i++)
			dst[i] = src[i] >= 128 ? 255 : 0;
	});
	MEASURE("image.blur", n, {
		_Pragma("omp parallel for schedule(static)")
		for (int y = 0; y < n; y++) {
			const uint8_t *r[5];
			uint16_t column[n + 4];

			for (int k = 0; k < 5; k++)
				r[k] = src + clamp(y + k - 2, n - 1) * n;
			for (int x = 0; x < n; x++)
				column[x + 2] = (uint16_t)(r[0][x] + r[4][x] + 4 * (r[1][x] + r[3][x]) + 6 * r[2][x]);
			column[0] = column[1] = column[2];
			column[n + 2] = column[n + 3] = column[n + 1];
			for (int x = 0; x < n; x++)
				dst[y * n + x] = (uint8_t)((column[x] + column[x + 4] + 4 * (column[x + 1] + column[x + 3]) + 6 * column[x + 2] + 128) >> 8);
		}
	});
	MEASURE("image.sobel", n, {
		_Pragma("omp parallel for schedule(static)")
		for (int y = 0; y < n; y++) {
			const uint8_t *a = src + clamp(y - 1, n - 1) * n;
			const uint8_t *b = src + y * n;
			const uint8_t *c = src + clamp(y + 1, n - 1) * n;

			for (int x = 0; x < n; x++) {
				int l = clamp(x - 1, n - 1);
				int r = clamp(x + 1, n - 1);
				int gx = a[r] + 2 * b[r] + c[r] - a[l] - 2 * b[l] - c[l];
				int gy = c[l] + 2 * c[x] + c[r] - a[l] - 2 * a[x] - a[r];
				float s = (float)(gx * gx + gy * gy);

				dst[y * n + x] = s >= 255 * 255 ? 255 : (uint8_t)sqrtf(s + 0.25f);
			}
		}
	});
	MEASURE("image.histogram", n, {
		memset(bins, 0, sizeof bins);
		_Pragma("omp parallel for schedule(static) reduction(+ : bins)")
		for (int i = 0; i < n * n; i++)
			bins[src[i]]++;
	});
	MEASURE("image.resize", n, {
		int m = n * 3 / 4;
		int64_t step = ((int64_t)n << 32) / m;

		_Pragma("omp parallel for schedule(static)")
		for (int y = 0; y < m; y++) {
			int64_t py = ((2 * y + 1) * step >> 1) - (1LL << 31);
			int y0 = (int)(py >> 32);
			int wy = (int)(py >> 21) & 2047;
			const uint8_t *a = src + y0 * n;
			const uint8_t *b = src + clamp(y0 + 1, n - 1) * n;

			for (int x = 0; x < m; x++) {
				int64_t px = ((2 * x + 1) * step >> 1) - (1LL << 31);
				int x0 = (int)(px >> 32);
				int x1 = clamp(x0 + 1, n - 1);
				int wx = (int)(px >> 21) & 2047;
				int t = a[x0] * (2048 - wx) + a[x1] * wx;
				int u = b[x0] * (2048 - wx) + b[x1] * wx;

				dst[y * m + x] = (uint8_t)((t * (2048 - wy) + u * wy + (1 << 21)) >> 22);
			}
		}
	});
	free(color);
	free(src);
	free(dst);
}

static float normal(float d)
{
	return 0.5f * erfcf(-d * 0.70710678f);
}

static void options(int n)
{
	ARRAY(float, spot, n);
	ARRAY(float, strike, n);
	ARRAY(float, years, n);
	ARRAY(float, call, n);
	ARRAY(float, put, n);
	const float rate = 0.02f, volatility = 0.3f;

	MEASURE("finance.blackscholes", n, {
		_Pragma("omp parallel for schedule(static)")
		for (int i = 0; i < n; i++) {
			float spread = volatility * sqrtf(years[i]);
			float d1 = (logf(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / spread;
			float d2 = d1 - spread;
			float paid = strike[i] * expf(-rate * years[i]);

			call[i] = spot[i] * normal(d1) - paid * normal(d2);
			put[i] = paid * normal(-d2) - spot[i] * normal(-d1);
		}
	});
	free(spot);
	free(strike);
	free(years);
	free(call);
	free(put);
}

static void bodies(int n)
{
	ARRAY(float, pos, 4 * n);
	ARRAY(float, vel, 4 * n);
	ARRAY(float, pos_out, 4 * n);
	ARRAY(float, vel_out, 4 * n);
	const float dt = 0.01f, soft = 0.01f * 0.01f;

	MEASURE("nbody.step", n, {
		_Pragma("omp parallel for schedule(static)")
		for (int i = 0; i < n; i++) {
			const float *p = pos + 4 * i;
			float a[3] = {0, 0, 0};

			for (int j = 0; j < n; j++) {
				const float *q = pos + 4 * j;
				float dx = q[0] - p[0];
				float dy = q[1] - p[1];
				float dz = q[2] - p[2];
				float d = dx * dx + dy * dy + dz * dz + soft;
				float f = q[3] / (d * sqrtf(d));

				a[0] += f * dx;
				a[1] += f * dy;
				a[2] += f * dz;
			}
			for (int k = 0; k < 3; k++) {
				vel_out[4 * i + k] = vel[4 * i + k] + a[k] * dt;
				pos_out[4 * i + k] = p[k] + vel_out[4 * i + k] * dt;
			}
			vel_out[4 * i + 3] = vel[4 * i + 3];
			pos_out[4 * i + 3] = p[3];
		}
	});
	free(pos);
	free(vel);
	free(pos_out);
	free(vel_out);
}

int main(int argc, char **argv)
{
	peer_init(argc, argv);
	omp_set_num_threads(peer_workers);
	for (int large = 0; large < 2; large++) {
		int n = large ? 16000000 : 1000000, side = large ? 4096 : 1024;

		if (peer_quick && large)
			break;
		vectors_float(n);
		vectors_double(n);
		vectors_int(n);
		matrices_float(large ? 1024 : 256, side);
		matrices_double(large ? 1024 : 256, side);
		fractal_float(large ? 1024 : 256);
		fractal_double(large ? 1024 : 256);
		images(side);
		options(large ? 1000000 : 100000);
		bodies(large ? 4096 : 1024);
	}
	return 0;
}
