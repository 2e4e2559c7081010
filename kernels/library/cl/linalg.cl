// Row-major matrices. T is the element type, V a vector of WIDTH of them; a
// work-item of gemm computes ROWS × COLS elements.
#pragma OPENCL FP_CONTRACT OFF

#define ROWS 4
#define COLS (2 * WIDTH)

// The products of row i and column j are added in the order of p, whichever
// path computes them.
T product_sum(global const T *a, global const T *b, size_t n, int k) {
    T sum = 0;
    for (int p = 0; p < k; p++)
        sum += a[p] * b[p * n];
    return sum;
}

T combine(T sum, T alpha, T beta, T old) {
    return alpha * sum + beta * old;
}

kernel void linalg_gemm(global const T *a, global const T *b, global T *c, const T alpha, const T beta,
                        const int m, const int n, const int k) {
    int i = get_global_id(1) * ROWS, j = get_global_id(0) * COLS;
    int last = min(i + ROWS, m) - 1;
    if (j + COLS > n) {
        for (; i <= last; i++)
            for (int x = j; x < n; x++) {
                size_t at = (size_t)i * n + x;
                T sum = product_sum(a + (size_t)i * k, b + x, n, k);
                c[at] = beta == 0 ? alpha * sum : combine(sum, alpha, beta, c[at]);
            }
        return;
    }
    // Rows beyond the last are computed as the last one and not stored.
    global const T *a0 = a + (size_t)i * k;
    global const T *a1 = a + (size_t)min(i + 1, last) * k;
    global const T *a2 = a + (size_t)min(i + 2, last) * k;
    global const T *a3 = a + (size_t)min(i + 3, last) * k;
    global const T *bp = b + j;
    V s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
    for (int p = 0; p < k; p++) {
        V v = VLOAD(0, bp), w = VLOAD(1, bp);
        s0 += a0[p] * v;
        t0 += a0[p] * w;
        s1 += a1[p] * v;
        t1 += a1[p] * w;
        s2 += a2[p] * v;
        t2 += a2[p] * w;
        s3 += a3[p] * v;
        t3 += a3[p] * w;
        bp += n;
    }
    global T *cp = c + (size_t)i * n + j;
#define STORE(s, part) VSTORE(beta == 0 ? alpha * s : alpha * s + beta * VLOAD(part, cp), part, cp);
#define STORE_ROW(s, t)                                                       \
    STORE(s, 0)                                                               \
    STORE(t, 1)                                                               \
    if (i++ == last)                                                          \
        return;                                                               \
    cp += n;
    STORE_ROW(s0, t0)
    STORE_ROW(s1, t1)
    STORE_ROW(s2, t2)
    STORE_ROW(s3, t3)
}

// Lane j of 8 adds the products at j, j + 8, …; then lanes are added in halves.
kernel void linalg_gemv(global const T *a, global const T *x, global T *y, const T alpha, const T beta, const int k) {
    size_t i = get_global_id(0);
    global const T *row = a + i * k;
    V sums[8 / WIDTH];
    for (int v = 0; v < 8 / WIDTH; v++)
        sums[v] = 0;
    int p = 0;
    for (; p + 8 <= k; p += 8)
        for (int v = 0; v < 8 / WIDTH; v++)
            sums[v] += VLOAD(v, row + p) * VLOAD(v, x + p);
    T lane[8];
    for (int v = 0; v < 8 / WIDTH; v++)
        VSTORE(sums[v], v, lane);
    for (int j = 0; p + j < k; j++)
        lane[j] += row[p + j] * x[p + j];
    T sum = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    y[i] = beta == 0 ? alpha * sum : combine(sum, alpha, beta, y[i]);
}

// A work-item moves a tile of 8 × 8. dst has m columns and n rows.
kernel void linalg_transpose(global const T *src, global T *dst, const int m, const int n) {
    int x = get_global_id(0) * 8, y = get_global_id(1) * 8;
    if (x + 8 > m || y + 8 > n) {
        for (int v = y; v < min(y + 8, n); v++)
            for (int u = x; u < min(x + 8, m); u++)
                dst[(size_t)v * m + u] = src[(size_t)u * n + v];
        return;
    }
    T tile[64];
    for (int u = 0; u < 8; u++) {
        global const T *s = src + (size_t)(x + u) * n + y;
        for (int v = 0; v < 8; v += 4)
            vstore4(vload4(0, s + v), 0, tile + u * 8 + v);
    }
    for (int v = 0; v < 8; v++) {
        global T *d = dst + (size_t)(y + v) * m + x;
        for (int u = 0; u < 8; u++)
            d[u] = tile[u * 8 + v];
    }
}
