/* spotrf and dpotrf of OpenBLAS on the whole matrix, with its own threads. */
#include "tiled.h"

static double factor(const struct problem *p)
{
	void *m = matrix_new(p);
	double best = 1e9;
	int info = 0;

	for (int r = 0; r < (peer_quick ? 1 : 3); r++) {
		double start, took;

		matrix_fill(p, m, definite);
		start = peer_now();
		if (p->wide)
			dpotrf_("U", &p->n, m, &p->n, &info);
		else
			spotrf_("U", &p->n, m, &p->n, &info);
		took = peer_now() - start;
		if (info != 0)
			peer_die("potrf gave %d", info);
		if (took < best)
			best = took;
	}
	check_definite(p, m);
	free(m);
	return pow(p->n, 3) / 3 / best * 1e-9;
}

int main(int argc, char **argv)
{
	const int *size;

	peer_init(argc, argv);
	openblas_set_num_threads(peer_workers);
	size = peer_quick ? sizes_quick : sizes_full;
	for (int i = 0; size[i] != 0; i++)
		for (int wide = 0; wide < 2; wide++) {
			/* One tile is the whole matrix. */
			struct problem p = {size[i], size[i], wide};

			if (wanted(&p))
				report_best("cholesky", &p, factor(&p));
		}
	return 0;
}
