// T is the element type.
#pragma OPENCL FP_CONTRACT OFF

kernel void stencil_jacobi2d(global const T *src, global T *dst, const int width, const int height) {
    int x = get_global_id(0), y = get_global_id(1);
    global const T *p = src + (size_t)y * width + x;
    T v = p[0];
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
        v = ((((v + p[-width]) + p[width]) + p[-1]) + p[1]) * (T)FIFTH;
    dst[(size_t)y * width + x] = v;
}
