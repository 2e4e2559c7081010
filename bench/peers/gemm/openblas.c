/* sgemm and dgemm of OpenBLAS on whole matrices, with its own threads. */
#include "../cholesky/tiled.h"

static double multiply(const struct problem *p)
{
	void *a = matrix_new(p), *b = matrix_new(p), *c = matrix_new(p);
	double best = 1e9;

	matrix_fill(p, a, two);
	matrix_fill(p, b, half);
	matrix_fill(p, c, zero);
	for (int r = 0; r < (peer_quick || p->n > 3840 ? 1 : 2); r++) {
		double start = peer_now(), took;

		if (p->wide)
			cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->n, p->n, p->n, 1, a, p->n, b, p->n, 0, c, p->n);
		else
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p->n, p->n, p->n, 1, a, p->n, b, p->n, 0, c, p->n);
		took = peer_now() - start;
		if (took < best)
			best = took;
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
	const int *size;

	peer_init(argc, argv);
	openblas_set_num_threads(peer_workers);
	size = peer_quick ? sizes_quick : sizes_full;
	for (int i = 0; size[i] != 0; i++)
		for (int wide = 0; wide < 2; wide++) {
			struct problem p = {size[i], size[i], wide};

			if (wanted(&p))
				report_best("gemm", &p, multiply(&p));
		}
	return 0;
}
