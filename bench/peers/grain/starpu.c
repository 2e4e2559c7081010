/* Short tasks in StarPU. */
#include <starpu.h>

#include "grain.h"

static starpu_data_handle_t handle[HANDLES];
static struct starpu_codelet codelet[MOST_READ + 2];

static void work(void *buffers[], void *arg)
{
	uint32_t v;

	(void)buffers;
	v = peer_work(1, (int)(intptr_t)arg);
	__asm__ volatile("" : : "r"(v));
}

static double run(enum shape s, int n, int rounds)
{
	double start = peer_now();

	for (int i = 0; i < n; i++) {
		struct cell c = cell_of(s, i);
		struct starpu_task *t = starpu_task_create();

		t->cl_arg = (void *)(intptr_t)rounds;
		if (s == FREE) {
			t->cl = &codelet[0];
		} else {
			t->cl = &codelet[c.reads + 1];
			t->handles[0] = handle[handle_of(c.row, c.column)];
			for (int j = 0; j < c.reads; j++)
				t->handles[j + 1] = handle[handle_of(c.row + 1, c.from[j])];
		}
		if (starpu_task_submit(t) != 0)
			peer_die("starpu_task_submit failed");
	}
	starpu_task_wait_for_all();
	return peer_now() - start;
}

int main(int argc, char **argv)
{
	static int x[HANDLES];
	struct starpu_conf conf;

	peer_init(argc, argv);
	starpu_conf_init(&conf);
	conf.ncpus = peer_workers;
	conf.nopencl = 0;
	conf.ncuda = 0;
	if (starpu_init(&conf) != 0)
		peer_die("starpu_init failed");
	for (int n = 0; n < MOST_READ + 2; n++) {
		codelet[n].cpu_funcs[0] = work;
		codelet[n].nbuffers = n;
		for (int i = 0; i < n; i++)
			codelet[n].modes[i] = i == 0 ? STARPU_W : STARPU_R;
	}
	for (int i = 0; i < HANDLES; i++)
		starpu_variable_data_register(&handle[i], STARPU_MAIN_RAM, (uintptr_t)&x[i], sizeof x[i]);
	grain_all(run);
	for (int i = 0; i < HANDLES; i++)
		starpu_data_unregister(handle[i]);
	starpu_shutdown();
	return 0;
}
