/* Tiled Cholesky factorisation (right-looking, lower) in StarPU with OpenBLAS. */
#include "starpu_tiles.h"

static void potrf(void *b[], void *arg)
{
	int n = tile_side(b[0]), info = 0;

	(void)arg;
	/* Row by row and lower is column by column and upper. */
	if (tile_is_wide(b[0]))
		dpotrf_("U", &n, tile_data(b[0]), &n, &info);
	else
		spotrf_("U", &n, tile_data(b[0]), &n, &info);
	if (info != 0)
		peer_die("potrf gave %d", info);
}

static void trsm(void *b[], void *arg)
{
	int n = tile_side(b[0]);

	(void)arg;
	if (tile_is_wide(b[0]))
		cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1, tile_data(b[0]), n, tile_data(b[1]), n);
	else
		cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, n, n, 1, tile_data(b[0]), n, tile_data(b[1]), n);
}

static void syrk(void *b[], void *arg)
{
	int n = tile_side(b[0]);

	(void)arg;
	if (tile_is_wide(b[0]))
		cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, n, -1, tile_data(b[0]), n, 1, tile_data(b[1]), n);
	else
		cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, n, n, -1, tile_data(b[0]), n, 1, tile_data(b[1]), n);
}

static void gemm(void *b[], void *arg)
{
	int n = tile_side(b[0]);

	(void)arg;
	if (tile_is_wide(b[0]))
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, -1, tile_data(b[0]), n, tile_data(b[1]), n, 1, tile_data(b[2]), n);
	else
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, n, -1, tile_data(b[0]), n, tile_data(b[1]), n, 1, tile_data(b[2]), n);
}

static struct starpu_codelet
	potrf_codelet = {.cpu_funcs = {potrf}, .nbuffers = 1, .modes = {STARPU_RW}},
	trsm_codelet = {.cpu_funcs = {trsm}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}},
	syrk_codelet = {.cpu_funcs = {syrk}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}},
	gemm_codelet = {.cpu_funcs = {gemm}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}};

static double factor(const struct problem *p)
{
	int t = tiles(p);
	void *m = matrix_new(p);
	double best = 1e9;

	for (int r = 0; r < (p->n <= 1920 && !peer_quick ? 3 : 1); r++) {
		starpu_data_handle_t *h;
		double start, took;

		matrix_fill(p, m, definite);
		h = handles_new(p, m);
		start = peer_now();
		for (int k = 0; k < t; k++) {
			submit_tiles(&potrf_codelet, 3 * (t - k), h[k * t + k], NULL, NULL);
			for (int i = k + 1; i < t; i++)
				submit_tiles(&trsm_codelet, 3 * (t - k) - 1 - (i > k + 1), h[k * t + k], h[i * t + k], NULL);
			for (int i = k + 1; i < t; i++) {
				submit_tiles(&syrk_codelet, 3 * (t - i), h[i * t + k], h[i * t + i], NULL);
				for (int j = k + 1; j < i; j++)
					submit_tiles(&gemm_codelet, 3 * (t - j) - 2, h[i * t + k], h[j * t + k], h[i * t + j]);
			}
		}
		starpu_task_wait_for_all();
		took = peer_now() - start;
		if (took < best)
			best = took;
		handles_free(p, h);
		check_definite(p, m);
	}
	free(m);
	return pow(p->n, 3) / 3 / best * 1e-9;
}

int main(int argc, char **argv)
{
	peer_init(argc, argv);
	openblas_set_num_threads(1);
	all_schedulers("cholesky", 3, factor);
	return 0;
}
