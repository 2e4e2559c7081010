// Pictures of bytes, row after row, channels interleaved. All arithmetic is in
// integers, except for the square root in image_sobel, which is exact all the
// same (see there).

kernel void image_gray(global const uchar *src, global uchar *dst, const int width, const int channels) {
    size_t p = get_global_id(1) * width + get_global_id(0);
    if (channels == 1) {
        dst[p] = src[p];
        return;
    }
    global const uchar *s = src + p * channels;
    dst[p] = (77 * s[0] + 150 * s[1] + 29 * s[2] + 128) >> 8;
}

kernel void image_threshold(global const uchar *src, global uchar *dst, const int level) {
    size_t i = get_global_id(0);
    dst[i] = src[i] >= level ? 255 : 0;
}

// ROW5(v) is the weighted sum 1 4 6 4 1 of v(-2) … v(2).
#define ROW5(v) (v(-2) + v(2) + 4 * (v(-1) + v(1)) + 6 * v(0))

// A work-item computes 8 neighbouring bytes of a row: with vectors where all
// of their neighbours lie inside the row, else byte by byte. Every sum fits in
// 16 bits: 255·256 + 128 = 65408.
kernel void image_blur(global const uchar *src, global uchar *dst, const int width, const int height, const int channels) {
    int y = get_global_id(1), n = width * channels;
    size_t row = n;
    global const uchar *r0 = src + max(y - 2, 0) * row;
    global const uchar *r1 = src + max(y - 1, 0) * row;
    global const uchar *r2 = src + y * row;
    global const uchar *r3 = src + min(y + 1, height - 1) * row;
    global const uchar *r4 = src + min(y + 2, height - 1) * row;
    int from = 8 * (int)get_global_id(0), to = min(from + 8, n);
    if (from >= 2 * channels && from + 8 + 2 * channels <= n) {
#define BYTES(r, d) convert_ushort8(vload8(0, r + from + (d) * channels))
#define COLUMN(d) (BYTES(r0, d) + BYTES(r4, d) + (ushort)4 * (BYTES(r1, d) + BYTES(r3, d)) + (ushort)6 * BYTES(r2, d))
        ushort8 sum = COLUMN(-2) + COLUMN(2) + (ushort)4 * (COLUMN(-1) + COLUMN(1)) + (ushort)6 * COLUMN(0);
        vstore8(convert_uchar8((sum + (ushort)128) >> (ushort)8), 0, dst + y * row + from);
        return;
    }
    for (int i = from; i < to; i++) {
        int x = i / channels, c = i - x * channels;
        int at[5];
        for (int d = 0; d < 5; d++)
            at[d] = clamp(x + d - 2, 0, width - 1) * channels + c;
#define COLUMN1(d) (r0[at[d + 2]] + r4[at[d + 2]] + 4 * (r1[at[d + 2]] + r3[at[d + 2]]) + 6 * r2[at[d + 2]])
        dst[y * row + i] = (ROW5(COLUMN1) + 128) >> 8;
    }
}

// A work-item computes 8 neighbouring pixels of a row. The sum of squares is
// below 2^21, so a float holds it exactly. The root of s + 1/4 lies at least
// 0.0004 above a whole number k where s = k·k and at least 0.001 below the next
// one where s = (k+1)·(k+1) - 1 (k < 255); a device's sqrt is off by 0.00005 at
// most (3 ulp), so cutting gives the integer root. Above 255 all is 255.
kernel void image_sobel(global const uchar *src, global uchar *dst, const int width, const int height) {
    int y = get_global_id(1);
    size_t row = width;
    global const uchar *a = src + max(y - 1, 0) * row;
    global const uchar *b = src + y * row;
    global const uchar *c = src + min(y + 1, height - 1) * row;
    int from = 8 * (int)get_global_id(0), to = min(from + 8, width);
    if (from >= 1 && from + 9 <= width) {
#define SHORTS(r, d) convert_short8(vload8(0, r + from + (d)))
        short8 a0 = SHORTS(a, -1), a1 = SHORTS(a, 0), a2 = SHORTS(a, 1);
        short8 b0 = SHORTS(b, -1), b2 = SHORTS(b, 1);
        short8 c0 = SHORTS(c, -1), c1 = SHORTS(c, 0), c2 = SHORTS(c, 1);
        int8 gx = convert_int8((a2 - a0) + (short)2 * (b2 - b0) + (c2 - c0));
        int8 gy = convert_int8((c0 - a0) + (short)2 * (c1 - a1) + (c2 - a2));
        float8 root = sqrt(convert_float8(gx * gx + gy * gy) + 0.25f);
        vstore8(convert_uchar8(min(convert_int8(root), 255)), 0, dst + y * row + from);
        return;
    }
    for (int x = from; x < to; x++) {
        int l = max(x - 1, 0), r = min(x + 1, width - 1);
        int gx = (a[r] - a[l]) + 2 * (b[r] - b[l]) + (c[r] - c[l]);
        int gy = (c[l] - a[l]) + 2 * (c[x] - a[x]) + (c[r] - a[r]);
        dst[y * row + x] = min((int)sqrt((float)(gx * gx + gy * gy) + 0.25f), 255);
    }
}

// The place that (2·i+1)·step/2 - 1/2 comes to in a source of n: whole pixels
// and, returned, the fraction in 1/2048. step is in 1/2^32.
int source_place(long i, long step, int n, int *at) {
    long p = (((2 * i + 1) * step) >> 1) - (1L << 31);
    p = clamp(p, 0L, (long)(n - 1) << 32);
    *at = (int)(p >> 32);
    return (int)(p >> 21) & 2047;
}

kernel void image_resize(global const uchar *src, global uchar *dst, const int width, const int height, const int channels,
                         const int src_width, const int src_height, const long step_x, const long step_y) {
    int x0, y0;
    int fx = source_place(get_global_id(0), step_x, src_width, &x0);
    int fy = source_place(get_global_id(1), step_y, src_height, &y0);
    int x1 = min(x0 + 1, src_width - 1), y1 = min(y0 + 1, src_height - 1);
    size_t row = (size_t)src_width * channels;
    global const uchar *top = src + y0 * row, *low = src + y1 * row;
    global uchar *d = dst + (get_global_id(1) * width + get_global_id(0)) * channels;
    for (int c = 0; c < channels; c++) {
        int l = x0 * channels + c, r = x1 * channels + c;
        int t = top[l] * (2048 - fx) + top[r] * fx;
        int b = low[l] * (2048 - fx) + low[r] * fx;
        d[c] = (t * (2048 - fy) + b * fy + (1 << 21)) >> 22;
    }
}

// Every work-item counts a run of its own; image_histogram_merge adds up.
kernel void image_histogram_partial(global const uchar *src, global uint *part, const long block, const long n) {
    long i = get_global_id(0) * block, end = min(n, i + block);
    uint bins[256];
    for (int b = 0; b < 256; b++)
        bins[b] = 0;
    for (; i < end; i++)
        bins[src[i]]++;
    for (int b = 0; b < 256; b++)
        part[get_global_id(0) * 256 + b] = bins[b];
}

kernel void image_histogram_merge(global const uint *part, global uint *bins, const int blocks) {
    uint sum = 0;
    for (int b = 0; b < blocks; b++)
        sum += part[(size_t)b * 256 + get_global_id(0)];
    bins[get_global_id(0)] = sum;
}
