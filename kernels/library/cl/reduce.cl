// Reductions in blocks and lanes; package library says in which order.
// T is the type of the elements, A that of the result and of everything
// between, A8 eight of them; WIDEN and WIDEN8 turn T into A. LOWEST and
// HIGHEST, where the type has an order to speak of, bound A.
#pragma OPENCL FP_CONTRACT OFF

#define LANES 32
#define BLOCK 2048

#define ADD(a, v) ((a) + (v))
// A comparison that NaN wins, and that leaves the first of equals (-0 and 0).
#define SMALLER(a, v) (((v) < (a)) | ((v) != (v)) ? (v) : (a))
#define LARGER(a, v) (((v) > (a)) | ((v) != (v)) ? (v) : (a))

// FOLD joins the elements at, at + LANES, … with eight neighbouring lanes.
#define FOLD(acc, at, end, LOAD8, LOAD1, OP)                                  \
    for (; at + 8 <= end; at += LANES) {                                      \
        A8 v8 = LOAD8(at);                                                    \
        acc = OP(acc, v8);                                                    \
    }                                                                         \
    if (at < end) {                                                           \
        A lane8[8];                                                           \
        vstore8(acc, 0, lane8);                                               \
        for (int j = 0; at + j < end; j++) {                                  \
            A v = LOAD1(at + j);                                              \
            lane8[j] = OP(lane8[j], v);                                       \
        }                                                                     \
        acc = vload8(0, lane8);                                               \
    }

#define REDUCTION(NAME, ARRAYS, LOAD8, LOAD1, START, OP)                      \
    kernel void NAME##_partial(ARRAYS, global A *part, const long n) {        \
        long block = get_global_id(1);                                        \
        long at = block * BLOCK + 8 * (long)get_global_id(0);                 \
        long end = min(n, (block + 1) * BLOCK);                               \
        A8 acc = START;                                                       \
        FOLD(acc, at, end, LOAD8, LOAD1, OP)                                  \
        vstore8(acc, block * (LANES / 8) + get_global_id(0), part);           \
    }                                                                         \
                                                                              \
    kernel void NAME##_final(ARRAYS, global A *result, const long n) {        \
        A lane[LANES];                                                        \
        for (int l = 0; l < LANES / 8; l++) {                                 \
            long at = 8 * l;                                                  \
            A8 acc = START;                                                   \
            FOLD(acc, at, n, LOAD8, LOAD1, OP)                                \
            vstore8(acc, l, lane);                                            \
        }                                                                     \
        for (int w = LANES / 2; w > 0; w /= 2)                                \
            for (int j = 0; j < w; j++)                                       \
                lane[j] = OP(lane[j], lane[j + w]);                           \
        result[0] = lane[0];                                                  \
    }

#define ONE_ARRAY global const T *x
#define X8(i) WIDEN8(vload8(0, x + (i)))
#define X1(i) WIDEN(x[i])

#define TWO_ARRAYS global const T *x, global const T *y
#define XY8(i) (WIDEN8(vload8(0, x + (i))) * WIDEN8(vload8(0, y + (i))))
#define XY1(i) (WIDEN(x[i]) * WIDEN(y[i]))

#ifdef SUMS
REDUCTION(sum, ONE_ARRAY, X8, X1, 0, ADD)
REDUCTION(dot, TWO_ARRAYS, XY8, XY1, 0, ADD)
#endif

#ifdef LOWEST
REDUCTION(min, ONE_ARRAY, X8, X1, HIGHEST, SMALLER)
REDUCTION(max, ONE_ARRAY, X8, X1, LOWEST, LARGER)
#endif
