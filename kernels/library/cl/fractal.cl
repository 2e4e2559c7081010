// T is the type that points are computed in. The middle (x, y) and the span are
// what left, top and step come from; the kernel itself does not look at them.
#pragma OPENCL FP_CONTRACT OFF

kernel void fractal_mandelbrot(global ushort *dst, const T x, const T y, const T span, const int limit,
                               const int width, const T left, const T top, const T step) {
    size_t px = get_global_id(0), py = get_global_id(1);
    T cr = left + step * (T)(int)px, ci = top - step * (T)(int)py;
    T zr = 0, zi = 0, rr = 0, ii = 0;
    int n = 0;
    while (n < limit && rr + ii <= 4) {
        zi = 2 * (zr * zi) + ci;
        zr = (rr - ii) + cr;
        rr = zr * zr;
        ii = zi * zi;
        n++;
    }
    dst[py * width + px] = n;
}
