/* The triad a = b + s·c over 1 GiB of float in three arrays, in an OpenMP loop. */
#include <omp.h>

#include "../peer.h"

int main(int argc, char **argv)
{
	size_t n, bytes;
	float *a, *b, *c;
	double best = 1e9;

	peer_init(argc, argv);
	n = ((size_t)(peer_quick ? 3 << 20 : 1 << 30)) / 12;
	bytes = (n * sizeof(float) + 4095) / 4096 * 4096;
	a = aligned_alloc(4096, bytes);
	b = aligned_alloc(4096, bytes);
	c = aligned_alloc(4096, bytes);
	if (a == NULL || b == NULL || c == NULL)
		peer_die("no memory for three arrays of %zu bytes", bytes);
	omp_set_num_threads(peer_workers);
#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < n; i++) {
		a[i] = 0;
		b[i] = c[i] = 1;
	}
	for (int r = 0; r < (peer_quick ? 3 : 8); r++) {
		double start = peer_now(), took;

#pragma omp parallel for schedule(static)
		for (size_t i = 0; i < n; i++)
			a[i] = b[i] + 3 * c[i];
		took = peer_now() - start;
		if (took < best)
			best = took;
	}
	if (a[0] != 4 || a[n - 1] != 4)
		peer_die("wrong result");
	peer_report(12e-9 * (double)n / best, "GB/s", "higher", "stream.triad.gbps");
	return 0;
}
