/* Tiled matrix product in StarPU with OpenBLAS. */
#include "../cholesky/starpu_tiles.h"

static void gemm(void *b[], void *arg)
{
	int n = tile_side(b[0]);

	(void)arg;
	if (tile_is_wide(b[0]))
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, tile_data(b[0]), n, tile_data(b[1]), n, 1, tile_data(b[2]), n);
	else
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, tile_data(b[0]), n, tile_data(b[1]), n, 1, tile_data(b[2]), n);
}

static struct starpu_codelet gemm_codelet = {.cpu_funcs = {gemm}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}};

static double multiply(const struct problem *p)
{
	int t = tiles(p);
	void *a = matrix_new(p), *b = matrix_new(p), *c = matrix_new(p);
	starpu_data_handle_t *ha, *hb, *hc;
	double best = 1e9;

	matrix_fill(p, a, two);
	matrix_fill(p, b, half);
	for (int r = 0; r < (p->n <= 1920 && !peer_quick ? 2 : 1); r++) {
		double start, took;

		matrix_fill(p, c, zero);
		ha = handles_new(p, a);
		hb = handles_new(p, b);
		hc = handles_new(p, c);
		start = peer_now();
		for (int k = 0; k < t; k++)
			for (int i = 0; i < t; i++)
				for (int j = 0; j < t; j++)
					submit_tiles(&gemm_codelet, 0, ha[i * t + k], hb[k * t + j], hc[i * t + j]);
		starpu_task_wait_for_all();
		took = peer_now() - start;
		if (took < best)
			best = took;
		handles_free(p, ha);
		handles_free(p, hb);
		handles_free(p, hc);
	}
	if (get_at(p, c, p->n - 1, p->n / 2) != p->n)
		peer_die("wrong product");
	free(a);
	free(b);
	free(c);
	return 2 * pow(p->n, 3) / best * 1e-9;
}

int main(int argc, char **argv)
{
	peer_init(argc, argv);
	openblas_set_num_threads(1);
	all_schedulers("gemm", 2, multiply);
	return 0;
}
