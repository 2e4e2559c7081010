// T is the type that points are computed in, T4 four of them, M4 what comparing
// them gives. The middle (x, y) and the span are what left, top and step come
// from; the kernel itself does not look at them.
#pragma OPENCL FP_CONTRACT OFF

// A work-item computes 4 neighbouring pixels of a row. A pixel that is outside
// stays outside, whatever becomes of its z.
kernel void fractal_mandelbrot(global ushort *dst, const T x, const T y, const T span, const int limit,
                               const int width, const T left, const T top, const T step) {
    int first = 4 * (int)get_global_id(0), row = get_global_id(1);
    T place[4];
    for (int l = 0; l < 4; l++)
        place[l] = left + step * (T)(first + l);
    T4 cr = vload4(0, place), zr = 0, zi = 0, rr = 0, ii = 0;
    T ci = top - step * (T)row;
    M4 inside = -1, n = 0;
    for (int i = 0; i < limit; i++) {
        inside &= rr + ii <= (T)4;
        if (!any(inside))
            break;
        n -= inside;
        zi = (T)2 * (zr * zi) + ci;
        zr = (rr - ii) + cr;
        rr = zr * zr;
        ii = zi * zi;
    }
    ushort steps[4];
    vstore4(convert_ushort4(n), 0, steps);
    dst += (size_t)row * width + first;
    for (int l = 0; l < 4 && first + l < width; l++)
        dst[l] = steps[l];
}
