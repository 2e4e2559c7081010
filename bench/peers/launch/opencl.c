/* Chains of small kernels by hand: one in-order queue for each chain. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "../peer.h"

#define ITEMS 64
#define MOST 4

static const char source[] = "__kernel void nop(__global int *x) {}\n";

static void check(cl_int status, const char *call)
{
	if (status != CL_SUCCESS)
		peer_die("%s gave %d", call, status);
}

/* pick is the device whose platform's name contains PEER_OPENCL_PLATFORM, by
 * default the first of all. */
static cl_device_id pick(cl_context *context)
{
	const char *wanted = getenv("PEER_OPENCL_PLATFORM");
	cl_platform_id platform[16];
	cl_uint n = 0;

	check(clGetPlatformIDs(16, platform, &n), "clGetPlatformIDs");
	for (cl_uint i = 0; i < n && i < 16; i++) {
		char name[256] = "";
		cl_device_id device;
		cl_int status;

		clGetPlatformInfo(platform[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
		if (wanted != NULL && strstr(name, wanted) == NULL)
			continue;
		if (clGetDeviceIDs(platform[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
			continue;
		*context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
		check(status, "clCreateContext");
		return device;
	}
	peer_die("no OpenCL device");
}

int main(int argc, char **argv)
{
	const char *text = source;
	const size_t global = ITEMS;
	cl_context context;
	cl_device_id device;
	cl_program program;
	cl_kernel kernel[MOST];
	cl_command_queue queue[MOST];
	cl_int status;
	int launches;

	peer_init(argc, argv);
	launches = peer_quick ? 500 : 10000;
	device = pick(&context);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
	check(status, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	for (int q = 0; q < MOST; q++) {
		cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(int), NULL, &status);

		check(status, "clCreateBuffer");
		queue[q] = clCreateCommandQueue(context, device, 0, &status);
		check(status, "clCreateCommandQueue");
		kernel[q] = clCreateKernel(program, "nop", &status);
		check(status, "clCreateKernel");
		check(clSetKernelArg(kernel[q], 0, sizeof x, &x), "clSetKernelArg");
	}
	for (int chains = 1; chains <= MOST; chains += MOST - 1) {
		double best = 1e9;

		/* The first run compiles. */
		for (int r = 0; r < (peer_quick ? 3 : 8); r++) {
			double start = peer_now(), took;

			for (int i = 0; i < launches; i++) {
				int q = i % chains;

				check(clEnqueueNDRangeKernel(queue[q], kernel[q], 1, NULL, &global, NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
			}
			for (int q = 0; q < chains; q++)
				check(clFlush(queue[q]), "clFlush");
			for (int q = 0; q < chains; q++)
				check(clFinish(queue[q]), "clFinish");
			took = peer_now() - start;
			if (r > 0 && took < best)
				best = took;
		}
		peer_report(best * 1e6 / launches, "us", "lower", "launch.%s.us", chains == 1 ? "chain" : "chains4");
	}
	return 0;
}
