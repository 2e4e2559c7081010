// The kernels of a calibration: nothing, arithmetic, memory.

__kernel void nothing(void) {}

// Eight independent chains of eight lanes keep every pipeline of a processor
// busy; the factors keep the values finite.
__kernel void peak(__global float *out, int rounds) {
    size_t i = get_global_id(0);
    float8 x0 = (float8)((float)i), x1 = x0 + 1.0f, x2 = x0 + 2.0f, x3 = x0 + 3.0f;
    float8 x4 = x0 + 4.0f, x5 = x0 + 5.0f, x6 = x0 + 6.0f, x7 = x0 + 7.0f;
    const float8 p = (float8)(0.999f), q = (float8)(0.5f);
    for (int r = 0; r < rounds; r++) {
        x0 = mad(x0, p, q);
        x1 = mad(x1, p, q);
        x2 = mad(x2, p, q);
        x3 = mad(x3, p, q);
        x4 = mad(x4, p, q);
        x5 = mad(x5, p, q);
        x6 = mad(x6, p, q);
        x7 = mad(x7, p, q);
    }
    float8 s = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
    out[i] = s.s0 + s.s1 + s.s2 + s.s3 + s.s4 + s.s5 + s.s6 + s.s7;
}

__kernel void triad(__global float *a, __global const float *b, __global const float *c, float s) {
    size_t i = get_global_id(0);
    a[i] = b[i] + s * c[i];
}
