// Elementwise kernels; T is the element type.
#pragma OPENCL FP_CONTRACT OFF

kernel void vector_add(global const T *x, global const T *y, global T *z) {
    size_t i = get_global_id(0);
    z[i] = x[i] + y[i];
}

kernel void vector_saxpy(const T a, global const T *x, global T *y) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

kernel void vector_scale(const T a, global const T *x, global T *y) {
    size_t i = get_global_id(0);
    y[i] = a * x[i];
}
