/* Tiled matrix product in StarPU with OpenBLAS. */
#include <sys/mman.h>

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

static struct starpu_codelet *codelet = &gemm_codelet;

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
					submit_tiles(codelet, 0, ha[i * t + k], hb[k * t + j], hc[i * t + j]);
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

#ifdef STARPU_USE_OPENCL

/* The product of tiles in one work-item, for sides that are multiples of 16. */
static const char tile_text[] =
	"__kernel void gemm_tile(__global const float *a, __global const float *b, __global float *c, int n) {\n"
	"  for (int i = 0; i < n; i += 4)\n"
	"    for (int j = 0; j < n; j += 16) {\n"
	"      float8 s[4][2];\n"
	"      for (int r = 0; r < 4; r++)\n"
	"        for (int h = 0; h < 2; h++)\n"
	"          s[r][h] = vload8(h, c + (i + r) * n + j);\n"
	"      for (int k = 0; k < n; k++) {\n"
	"        float8 x = vload8(0, b + k * n + j), y = vload8(1, b + k * n + j);\n"
	"        for (int r = 0; r < 4; r++) {\n"
	"          s[r][0] += a[(i + r) * n + k] * x;\n"
	"          s[r][1] += a[(i + r) * n + k] * y;\n"
	"        }\n"
	"      }\n"
	"      for (int r = 0; r < 4; r++)\n"
	"        for (int h = 0; h < 2; h++)\n"
	"          vstore8(s[r][h], h, c + (i + r) * n + j);\n"
	"    }\n"
	"}\n";

static struct starpu_opencl_program tile_program;

static void gemm_opencl(void *b[], void *arg)
{
	const size_t one = 1;
	cl_kernel kernel;
	cl_command_queue queue;
	cl_mem tile[3];
	int n = tile_side(b[0]), wrong;

	(void)arg;
	wrong = starpu_opencl_load_kernel(&kernel, &queue, &tile_program, "gemm_tile", starpu_worker_get_devid(starpu_worker_get_id()));
	for (int i = 0; i < 3; i++) {
		tile[i] = (cl_mem)STARPU_MATRIX_GET_DEV_HANDLE(b[i]);
		wrong |= clSetKernelArg(kernel, (cl_uint)i, sizeof tile[i], &tile[i]);
	}
	wrong |= clSetKernelArg(kernel, 3, sizeof n, &n);
	wrong |= clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
	if (wrong != 0)
		peer_die("the OpenCL tile gave %d", wrong);
	starpu_opencl_release_kernel(kernel);
}

static struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED, .symbol = "peer_gemm"};
static struct starpu_codelet both_codelet = {.cpu_funcs = {gemm}, .opencl_funcs = {gemm_opencl}, .opencl_flags = {STARPU_OPENCL_ASYNC},
	.nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}, .model = &model};

/* A place is where the tiles are multiplied: on a core, through OpenCL on a
 * core, or on both. */
struct place {
	int cpus, opencl;
	double *gflops; /* 0: there is no such device */
};

static void measure(void *arg)
{
	const struct place *where = arg;
	struct problem p = {peer_quick ? 960 : 1920, peer_quick ? 96 : 192, 0};
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "dmda";
	conf.ncpus = where->cpus;
	conf.nopencl = where->opencl;
	conf.ncuda = 0;
	if (starpu_init(&conf) != 0 || (int)starpu_opencl_worker_get_count() != where->opencl) {
		*where->gflops = 0;
		return;
	}
	if (where->opencl)
		starpu_opencl_load_opencl_from_string(tile_text, &tile_program, NULL);
	codelet = &both_codelet;
	*where->gflops = 0;
	for (int r = 0; r < (peer_quick ? 2 : 4); r++) {
		double g = multiply(&p);

		if (g > *where->gflops)
			*where->gflops = g;
	}
	starpu_shutdown();
}

/* together multiplies on one core, on one core through OpenCL, and on both:
 * speed of both over the sum of their speeds. */
static void together(void)
{
	double *g = mmap(NULL, 3 * sizeof *g, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct place all[] = {{1, 0, g}, {0, 1, g + 1}, {1, 1, g + 2}};

	if (g == MAP_FAILED)
		peer_die("mmap failed");
	setenv("STARPU_OPENCL_ON_CPUS", "1", 1);
	setenv("STARPU_CALIBRATE", "1", 1);
	setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
	for (int i = 0; i < 3; i++)
		peer_apart(measure, &all[i]);
	unsetenv("STARPU_OPENCL_ON_CPUS");
	unsetenv("STARPU_CALIBRATE");
	if (g[0] > 0 && g[1] > 0 && g[2] > 0)
		peer_report(g[2] / (g[0] + g[1]), "ratio", "higher", "gemm.coexec.efficiency");
}

#else

static void together(void)
{
	fprintf(stderr, "this StarPU has no OpenCL\n");
}

#endif

int main(int argc, char **argv)
{
	peer_init(argc, argv);
	openblas_set_num_threads(1);
	together();
	all_schedulers("gemm", 2, multiply);
	return 0;
}
