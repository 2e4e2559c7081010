/*
 * Square matrices in tiles, in single and double precision: what is measured,
 * and the numbers that go in. A tile is stored row after row on its own.
 */
#ifndef TILED_H
#define TILED_H

#include <math.h>

#include <cblas.h>

#include "../peer.h"

void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

/* A problem is a matrix of n rows in tiles of tile rows; wide: double. */
struct problem {
	int n, tile, wide;
};

static inline size_t element(const struct problem *p)
{
	return p->wide ? sizeof(double) : sizeof(float);
}

static inline int tiles(const struct problem *p)
{
	return p->n / p->tile;
}

/* tile_at is tile (i, j) of a matrix. */
static inline void *tile_at(const struct problem *p, void *m, int i, int j)
{
	return (char *)m + ((size_t)i * tiles(p) + j) * p->tile * p->tile * element(p);
}

static inline double get_at(const struct problem *p, void *m, int row, int column)
{
	void *t = tile_at(p, m, row / p->tile, column / p->tile);
	size_t at = (size_t)(row % p->tile) * p->tile + column % p->tile;

	return p->wide ? ((double *)t)[at] : ((float *)t)[at];
}

static inline void *matrix_new(const struct problem *p)
{
	void *m = aligned_alloc(4096, ((size_t)p->n * p->n * element(p) + 4095) / 4096 * 4096);

	if (m == NULL)
		peer_die("no memory for a matrix of %d rows", p->n);
	return m;
}

/* matrix_fill sets every element, tile by tile. */
static inline void matrix_fill(const struct problem *p, void *m, double (*f)(const struct problem *, int row, int column))
{
	for (int t = 0; t < tiles(p) * tiles(p); t++) {
		int row = t / tiles(p) * p->tile, column = t % tiles(p) * p->tile;
		void *to = tile_at(p, m, t / tiles(p), t % tiles(p));

		for (int i = 0; i < p->tile; i++)
			for (int j = 0; j < p->tile; j++) {
				double v = f(p, row + i, column + j);

				if (p->wide)
					((double *)to)[i * p->tile + j] = v;
				else
					((float *)to)[i * p->tile + j] = (float)v;
			}
	}
}

/* definite are the elements of a matrix that has a Cholesky factor: 1/(1+|i-j|)
 * with n on the diagonal. */
static inline double definite(const struct problem *p, int i, int j)
{
	return i == j ? p->n : 1.0 / (1 + abs(i - j));
}

static inline double two(const struct problem *p, int i, int j)
{
	(void)p, (void)i, (void)j;
	return 2;
}

static inline double half(const struct problem *p, int i, int j)
{
	(void)p, (void)i, (void)j;
	return 0.5;
}

static inline double zero(const struct problem *p, int i, int j)
{
	(void)p, (void)i, (void)j;
	return 0;
}

/* check_definite takes row n-1 of the factor times itself, which has to give the
 * last number of the diagonal. */
static inline void check_definite(const struct problem *p, void *m)
{
	double sum = 0;

	for (int j = 0; j < p->n; j++)
		sum += get_at(p, m, p->n - 1, j) * get_at(p, m, p->n - 1, j);
	if (!(fabs(sum - p->n) < 1e-3 * p->n))
		peer_die("wrong factor: row %d has the square %g", p->n - 1, sum);
}

/* The sizes and tiles that are measured, by how much work they are. */
static const int sizes_full[] = {960, 1920, 3840, 5760, 0}, sizes_quick[] = {960, 0};
static const int tiles_full[] = {64, 128, 192, 320, 480, 0}, tiles_quick[] = {64, 192, 0};

/* wanted leaves out what takes long and says little: the largest matrix is done
 * in single precision and in tiles of 192 and more, doubles in two sizes. */
static inline int wanted(const struct problem *p)
{
	if (p->n % p->tile != 0)
		return 0;
	if (p->wide && p->n != 1920 && p->n != 3840 && !peer_quick)
		return 0;
	return p->n < 5760 || p->tile >= 192;
}

static inline const char *kind(const struct problem *p)
{
	return p->wide ? ".f64" : "";
}

/* Every figure of one size has a best one over tiles. */
static inline void report_tile(const char *what, const struct problem *p, double gflops)
{
	peer_report(gflops, "GFLOP/s", "higher", "%s.%d.%d%s.gflops", what, p->n, p->tile, kind(p));
}

static inline void report_best(const char *what, const struct problem *p, double gflops)
{
	peer_report(gflops, "GFLOP/s", "higher", "%s.%d.best%s.gflops", what, p->n, kind(p));
}

#endif
