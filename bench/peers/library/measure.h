/*
 * How a plain loop is measured: again and again for a while, the best time
 * counts. The arrays are filled by the threads that use them.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <math.h>
#include <omp.h>

#include "../peer.h"

/* array is memory of n elements, each the i-th of a repeating row of small
 * numbers above 0. */
#define ARRAY(T, name, n)                                                     \
	T *name = array_new((size_t)(n) * sizeof(T));                             \
	_Pragma("omp parallel for schedule(static)")                              \
	for (long i_ = 0; i_ < (long)(n); i_++)                                   \
		name[i_] = (T)(1 + i_ % 61)

static inline void *array_new(size_t bytes)
{
	void *m = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (m == NULL)
		peer_die("no memory for %zu bytes", bytes);
	return m;
}

/* MEASURE reports the time of a loop that follows, as library.NAME.SIZE.us. */
#define MEASURE(name, size, ...)                                              \
	do {                                                                      \
		double best_ = 1e9, until_ = peer_now() + (peer_quick ? 0.005 : 0.08);\
		for (int r_ = 0; r_ < 3 || peer_now() < until_; r_++) {               \
			double start_ = peer_now(), took_;                                \
			__VA_ARGS__;                                                      \
			took_ = peer_now() - start_;                                      \
			if (took_ < best_)                                                \
				best_ = took_;                                                \
			__asm__ volatile("" : : : "memory");                              \
		}                                                                     \
		peer_report(best_ * 1e6, "us", "lower", "library.%s.%d.us", name, (int)(size)); \
	} while (0)

#endif
