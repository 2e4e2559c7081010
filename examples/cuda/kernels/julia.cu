// Kernels in CUDA C need no extern "C", and a namespace is part of the name.
namespace fractal {

// Each thread counts the steps that one point takes to escape. It needs no
// guard against threads outside of the picture: there are none.
__global__ void julia(int *escape, int width, int height, int limit) {
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	float re = (x - width * 0.5f) * (3.0f / width), im = (y - height * 0.5f) * (2.0f / height);
	int n = 0;
	while (n < limit && re * re + im * im < 4.0f) {
		float next = re * re - im * im - 0.8f;
		im = 2.0f * re * im + 0.156f;
		re = next;
		n++;
	}
	escape[y * width + x] = n;
}

} // namespace fractal
