// Reductions in blocks and lanes; package library says in which order.
// T is the type of the elements, A that of the result and of everything
// between, V a vector of WIDTH of the latter; WIDEN and WIDENV turn T into A.
// LOWEST and HIGHEST, where the type has an order to speak of, bound A.
#pragma OPENCL FP_CONTRACT OFF

#define LANES 32
#define BLOCK 2048

#define ADD(a, v) ((a) + (v))
// A comparison that NaN wins, and that leaves the first of equals (-0 and 0).
#define SMALLER(a, v) ((((v) < (a)) | ((v) != (v))) ? (v) : (a))
#define LARGER(a, v) ((((v) > (a)) | ((v) != (v))) ? (v) : (a))

// FOLD joins the elements at, at + LANES, … with eight neighbouring lanes.
#define FOLD(lane, at, end, LOADV, LOAD1, START, OP)                          \
    {                                                                         \
        V acc[8 / WIDTH];                                                     \
        for (int v = 0; v < 8 / WIDTH; v++)                                   \
            acc[v] = START;                                                   \
        for (; at + 8 <= end; at += LANES)                                    \
            for (int v = 0; v < 8 / WIDTH; v++) {                             \
                V next = LOADV(at, v);                                        \
                acc[v] = OP(acc[v], next);                                    \
            }                                                                 \
        for (int v = 0; v < 8 / WIDTH; v++)                                   \
            VSTORE(acc[v], v, lane);                                          \
        for (int j = 0; at + j < end; j++) {                                  \
            A next = LOAD1(at + j);                                           \
            (lane)[j] = OP((lane)[j], next);                                  \
        }                                                                     \
    }

#define REDUCTION(NAME, ARRAYS, LOADV, LOAD1, START, OP)                      \
    kernel void NAME##_partial(ARRAYS, global A *part, const long n) {        \
        long block = get_global_id(1);                                        \
        long at = block * BLOCK + 8 * (long)get_global_id(0);                 \
        long end = min(n, (block + 1) * BLOCK);                               \
        A lane[8];                                                            \
        FOLD(lane, at, end, LOADV, LOAD1, START, OP)                          \
        part += block * LANES + 8 * get_global_id(0);                         \
        for (int j = 0; j < 8; j++)                                           \
            part[j] = lane[j];                                                \
    }                                                                         \
                                                                              \
    kernel void NAME##_final(ARRAYS, global A *result, const long n) {        \
        A lane[LANES];                                                        \
        for (int l = 0; l < LANES; l += 8) {                                  \
            long at = l;                                                      \
            FOLD(lane + l, at, n, LOADV, LOAD1, START, OP)                    \
        }                                                                     \
        for (int w = LANES / 2; w > 0; w /= 2)                                \
            for (int j = 0; j < w; j++)                                       \
                lane[j] = OP(lane[j], lane[j + w]);                           \
        result[0] = lane[0];                                                  \
    }

#define ONE_ARRAY global const T *x
#define XV(i, v) WIDENV(VLOAD(v, x + (i)))
#define X1(i) WIDEN(x[i])

#define TWO_ARRAYS global const T *x, global const T *y
#define XYV(i, v) (WIDENV(VLOAD(v, x + (i))) * WIDENV(VLOAD(v, y + (i))))
#define XY1(i) (WIDEN(x[i]) * WIDEN(y[i]))

#ifdef SUMS
REDUCTION(sum, ONE_ARRAY, XV, X1, 0, ADD)
REDUCTION(dot, TWO_ARRAYS, XYV, XY1, 0, ADD)
#endif

#ifdef LOWEST
REDUCTION(min, ONE_ARRAY, XV, X1, HIGHEST, SMALLER)
REDUCTION(max, ONE_ARRAY, XV, X1, LOWEST, LARGER)
#endif
