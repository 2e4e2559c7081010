/* Empty tasks in StarPU, with dependencies that follow from data handles. */
#include <starpu.h>

#include "pattern.h"

static volatile int released;

static void nothing(void *buffers[], void *arg)
{
	(void)buffers;
	(void)arg;
}

static void wait_for_release(void *buffers[], void *arg)
{
	(void)buffers;
	(void)arg;
	while (!released)
		usleep(100);
}

/* One codelet for each number of handles and each set of those written. */
static struct starpu_codelet codelet[MOST + 1][1 << MOST];
static struct starpu_codelet gate = {.cpu_funcs = {wait_for_release}, .nbuffers = 0};

static void make_codelets(void)
{
	for (int n = 0; n <= MOST; n++)
		for (int set = 0; set < 1 << n; set++) {
			struct starpu_codelet *c = &codelet[n][set];

			c->cpu_funcs[0] = nothing;
			c->nbuffers = n;
			for (int i = 0; i < n; i++)
				c->modes[i] = set >> i & 1 ? STARPU_RW : STARPU_R;
		}
}

static void submit(struct starpu_codelet *c, const struct touch *a, starpu_data_handle_t *h)
{
	struct starpu_task *t = starpu_task_create();

	t->cl = c;
	for (int i = 0; a != NULL && i < a->handles; i++)
		t->handles[i] = h[a->handle[i]];
	if (starpu_task_submit(t) != 0)
		peer_die("starpu_task_submit failed");
}

static void submit_all(const struct measurement *m, starpu_data_handle_t *h)
{
	uint64_t state = 1;

	for (int i = 0; i < m->tasks; i++) {
		struct touch a = touch_of(m->pattern, i, &state);
		int set = 0;

		for (int j = 0; j < a.handles; j++)
			set |= a.writes[j] << j;
		submit(&codelet[a.handles][set], &a, h);
	}
}

static void measure(void *arg)
{
	const struct measurement *m = arg;
	struct starpu_conf conf;
	starpu_data_handle_t h[HANDLES];
	int x[HANDLES] = {0};
	double best = 1e9, bytes = 0;

	starpu_conf_init(&conf);
	conf.ncpus = m->workers;
	conf.nopencl = 0;
	conf.ncuda = 0;
	if (starpu_init(&conf) != 0)
		peer_die("starpu_init failed");
	make_codelets();
	for (int i = 0; i < HANDLES; i++)
		starpu_variable_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)&x[i], sizeof x[i]);
	if (m->pending) {
		for (int i = 0; i < m->workers; i++)
			submit(&gate, NULL, h);
		bytes = peer_resident();
		submit_all(m, h);
		bytes = peer_resident() - bytes;
		released = 1;
		starpu_task_wait_for_all();
		measured(m, bytes / m->tasks);
	} else {
		for (int i = 0; i < times(m->tasks); i++) {
			double start = peer_now(), took;

			submit_all(m, h);
			starpu_task_wait_for_all();
			took = peer_now() - start;
			if (took < best)
				best = took;
		}
		measured(m, best * 1e6 / m->tasks);
	}
	for (int i = 0; i < HANDLES; i++)
		starpu_data_unregister(h[i]);
	starpu_shutdown();
}

int main(int argc, char **argv)
{
	peer_init(argc, argv);
	measure_all(measure);
	return 0;
}
