/* What tiled problems in StarPU share: schedulers, and tiles as handles. */
#ifndef STARPU_TILES_H
#define STARPU_TILES_H

#include <starpu.h>

#include "tiled.h"

/* Schedulers that are tried; the best one counts. The last goes by priorities. */
static const char *const schedulers[] = {"eager", "lws", "prio"};

static inline void starpu_begin(const char *scheduler)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = scheduler;
	conf.ncpus = peer_workers;
	conf.nopencl = 0;
	conf.ncuda = 0;
	if (starpu_init(&conf) != 0)
		peer_die("starpu_init failed");
}

/* tile_data is the numbers of a tile inside a codelet. */
static inline void *tile_data(void *buffer)
{
	return (void *)STARPU_MATRIX_GET_PTR(buffer);
}

static inline int tile_side(void *buffer)
{
	return (int)STARPU_MATRIX_GET_NX(buffer);
}

static inline int tile_is_wide(void *buffer)
{
	return STARPU_MATRIX_GET_ELEMSIZE(buffer) == sizeof(double);
}

static inline starpu_data_handle_t *handles_new(const struct problem *p, void *m)
{
	int t = tiles(p);
	starpu_data_handle_t *h = malloc((size_t)t * t * sizeof *h);

	if (h == NULL)
		peer_die("no memory for handles");
	for (int i = 0; i < t * t; i++)
		starpu_matrix_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)tile_at(p, m, i / t, i % t), p->tile, p->tile, p->tile, element(p));
	return h;
}

static inline void handles_free(const struct problem *p, starpu_data_handle_t *h)
{
	for (int i = 0; i < tiles(p) * tiles(p); i++)
		starpu_data_unregister(h[i]);
	free(h);
}

static inline void submit_tiles(struct starpu_codelet *c, int priority, starpu_data_handle_t x, starpu_data_handle_t y, starpu_data_handle_t z)
{
	struct starpu_task *t = starpu_task_create();

	t->cl = c;
	t->priority = priority;
	t->handles[0] = x;
	if (c->nbuffers > 1)
		t->handles[1] = y;
	if (c->nbuffers > 2)
		t->handles[2] = z;
	if (starpu_task_submit(t) != 0)
		peer_die("starpu_task_submit failed");
}

/* all_schedulers measures every problem under the first n schedulers, the largest
 * under the last of them only. gflops is what one problem reaches. */
static inline void all_schedulers(const char *what, int n, double (*gflops)(const struct problem *))
{
	const int *size = peer_quick ? sizes_quick : sizes_full;

	for (int i = 0; size[i] != 0; i++)
		for (int wide = 0; wide < 2; wide++) {
			const int *tile = peer_quick ? tiles_quick : tiles_full;
			double best[8] = {0}, most = 0;
			struct problem p = {size[i], 0, wide};

			p.tile = 480;
			if (!wanted(&p))
				continue;
			for (int s = size[i] > 3840 ? n - 1 : 0; s < n; s++) {
				starpu_begin(schedulers[s]);
				for (int j = 0; tile[j] != 0; j++) {
					p.tile = tile[j];
					if (wanted(&p)) {
						double g = gflops(&p);

						best[j] = g > best[j] ? g : best[j];
					}
				}
				starpu_shutdown();
			}
			for (int j = 0; tile[j] != 0; j++) {
				p.tile = tile[j];
				if (!wanted(&p))
					continue;
				report_tile(what, &p, best[j]);
				most = best[j] > most ? best[j] : most;
			}
			report_best(what, &p, most);
		}
}

#endif
