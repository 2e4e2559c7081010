/* Loops over vectors and matrices of one element type T: include it with T,
 * SUM (the type of a sum), SUFFIX, LEAST and MOST (where T has them) defined. */
#define NAME_(a, b) a##b
#define NAME__(a, b) NAME_(a, b)
#define NAME(a) NAME__(a, T)

static void NAME(vectors_)(int n)
{
	ARRAY(T, x, n);
	ARRAY(T, y, n);
	ARRAY(T, z, n);
	const T a = 3;
	volatile SUM kept;

	MEASURE("vector.add" SUFFIX, n, {
		_Pragma("omp parallel for schedule(static)")
		for (int i = 0; i < n; i++)
			z[i] = x[i] + y[i];
	});
	MEASURE("vector.scale" SUFFIX, n, {
		_Pragma("omp parallel for schedule(static)")
		for (int i = 0; i < n; i++)
			z[i] = a * x[i];
	});
	MEASURE("vector.sum" SUFFIX, n, {
		SUM s = 0;
		_Pragma("omp parallel for simd schedule(static) reduction(+ : s)")
		for (int i = 0; i < n; i++)
			s += x[i];
		kept = s;
	});
	MEASURE("vector.dot" SUFFIX, n, {
		SUM s = 0;
		_Pragma("omp parallel for simd schedule(static) reduction(+ : s)")
		for (int i = 0; i < n; i++)
			s += (SUM)x[i] * y[i];
		kept = s;
	});
	MEASURE("vector.min" SUFFIX, n, {
		T s = x[0];
		_Pragma("omp parallel for simd schedule(static) reduction(min : s)")
		for (int i = 0; i < n; i++)
			s = x[i] < s ? x[i] : s;
		kept = s;
	});
	MEASURE("vector.max" SUFFIX, n, {
		T s = x[0];
		_Pragma("omp parallel for simd schedule(static) reduction(max : s)")
		for (int i = 0; i < n; i++)
			s = x[i] > s ? x[i] : s;
		kept = s;
	});
	/* Last: y grows. */
	MEASURE("vector.saxpy" SUFFIX, n, {
		_Pragma("omp parallel for schedule(static)")
		for (int i = 0; i < n; i++)
			y[i] = a * x[i] + y[i];
	});
	(void)kept;
	free(x);
	free(y);
	free(z);
}

#ifdef REAL
static void NAME(matrices_)(int gemm, int side)
{
	{
		int n = gemm;
		ARRAY(T, a, n * n);
		ARRAY(T, b, n * n);
		ARRAY(T, c, n * n);

		MEASURE("linalg.gemm" SUFFIX, n, {
			_Pragma("omp parallel for schedule(static)")
			for (int i = 0; i < n; i++) {
				for (int j = 0; j < n; j++)
					c[i * n + j] = 0;
				for (int k = 0; k < n; k++)
					for (int j = 0; j < n; j++)
						c[i * n + j] += a[i * n + k] * b[k * n + j];
			}
		});
		free(a);
		free(b);
		free(c);
	}
	{
		int n = side;
		ARRAY(T, a, n * n);
		ARRAY(T, b, n * n);
		ARRAY(T, x, n);
		ARRAY(T, y, n);

		MEASURE("linalg.gemv" SUFFIX, n, {
			_Pragma("omp parallel for schedule(static)")
			for (int i = 0; i < n; i++) {
				T s = 0;
				_Pragma("omp simd reduction(+ : s)")
				for (int j = 0; j < n; j++)
					s += a[i * n + j] * x[j];
				y[i] = s;
			}
		});
		MEASURE("linalg.transpose" SUFFIX, n, {
			_Pragma("omp parallel for schedule(static)")
			for (int i = 0; i < n; i++)
				for (int j = 0; j < n; j++)
					b[i * n + j] = a[j * n + i];
		});
		MEASURE("stencil.jacobi2d" SUFFIX, n, {
			_Pragma("omp parallel for schedule(static)")
			for (int i = 0; i < n; i++) {
				b[i * n] = a[i * n];
				b[i * n + n - 1] = a[i * n + n - 1];
				if (i == 0 || i == n - 1) {
					for (int j = 1; j < n - 1; j++)
						b[i * n + j] = a[i * n + j];
					continue;
				}
				for (int j = 1; j < n - 1; j++)
					b[i * n + j] = (a[i * n + j] + a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]) * (T)0.2;
			}
		});
		free(a);
		free(b);
		free(x);
		free(y);
	}
}

static void NAME(fractal_)(int n)
{
	ARRAY(uint16_t, dst, n * n);
	const T step = (T)3 / n, left = (T)-0.75 - step * (n - 1) / 2, top = step * (n - 1) / 2;

	MEASURE("fractal.mandelbrot" SUFFIX, n, {
		_Pragma("omp parallel for schedule(dynamic, 4)")
		for (int y = 0; y < n; y++)
			for (int x = 0; x < n; x++) {
				T cr = left + step * x;
				T ci = top - step * y;
				T zr = 0;
				T zi = 0;
				int k = 0;

				while (k < 256 && zr * zr + zi * zi <= 4) {
					T t = zr * zr - zi * zi + cr;

					zi = 2 * zr * zi + ci;
					zr = t;
					k++;
				}
				dst[y * n + x] = (uint16_t)k;
			}
	});
	free(dst);
}
#endif

#undef NAME
#undef NAME_
#undef NAME__
