// Comparisons: setp with one result and nothing else has loops of its own.
#include "lanes.h"
#include "floatop.h"

#define CMP(name, T, expr) \
    DEFINE(name) { ROWS2(uint8_t, T, T); EACH(T x = a[i]; T y = b[i]; d[i] = (expr)); }
#define INTEGER(t, T) \
    CMP(eq_##t, T, x == y) CMP(ne_##t, T, x != y) CMP(lt_##t, T, x < y) CMP(le_##t, T, x <= y) CMP(gt_##t, T, x > y) CMP(ge_##t, T, x >= y)
INTEGER(u16, uint16_t)
INTEGER(s16, int16_t)
INTEGER(u32, uint32_t)
INTEGER(s32, int32_t)
INTEGER(u64, uint64_t)
INTEGER(s64, int64_t)

// The plain comparisons are false with a NaN, those that end in u are true.
#define FLOATING(t, T)                                                                                             \
    INTEGER(t, T)                                                                                                  \
    CMP(equ_##t, T, !(x < y || x > y)) CMP(neu_##t, T, x != y) CMP(ltu_##t, T, !(x >= y)) CMP(leu_##t, T, !(x > y)) \
    CMP(gtu_##t, T, !(x <= y)) CMP(geu_##t, T, !(x < y)) CMP(num_##t, T, x == x && y == y) CMP(nan_##t, T, x != x || y != y)
#undef INTEGER
#define INTEGER(t, T) \
    CMP(eq_##t, T, x == y) CMP(ne_##t, T, x < y || x > y) CMP(lt_##t, T, x < y) CMP(le_##t, T, x <= y) CMP(gt_##t, T, x > y) CMP(ge_##t, T, x >= y)
FLOATING(f32, float)
FLOATING(f64, double)

static bool compare_u(int op, uint64_t x, uint64_t y) {
    switch (op) {
    case CMP_EQ: return x == y;
    case CMP_NE: return x != y;
    case CMP_LT: return x < y;
    case CMP_LE: return x <= y;
    case CMP_GT: return x > y;
    default: return x >= y;
    }
}

static bool compare_s(int op, int64_t x, int64_t y) {
    switch (op) {
    case CMP_EQ: return x == y;
    case CMP_NE: return x != y;
    case CMP_LT: return x < y;
    case CMP_LE: return x <= y;
    case CMP_GT: return x > y;
    default: return x >= y;
    }
}

static bool compare_f(int op, double x, double y) {
    switch (op) {
    case CMP_EQ: return x == y;
    case CMP_NE: return x < y || x > y;
    case CMP_LT: return x < y;
    case CMP_LE: return x <= y;
    case CMP_GT: return x > y;
    case CMP_GE: return x >= y;
    case CMP_EQU: return !(x < y || x > y);
    case CMP_NEU: return x != y;
    case CMP_LTU: return !(x >= y);
    case CMP_LEU: return !(x > y);
    case CMP_GTU: return !(x <= y);
    case CMP_GEU: return !(x < y);
    case CMP_NUM: return x == x && y == y;
    default: return x != x || y != y;
    }
}

static double floating(const warp *w, const insn *in, uint32_t r, int i) {
    double v;
    switch (in->st) {
    case T_F16: return half_to_float(AT(uint16_t, r)[i]);
    case T_BF16: return float_of((uint32_t)AT(uint16_t, r)[i] << 16);
    case T_F32: v = AT(float, r)[i]; return in->flags & I_FTZ && fabs(v) < 0x1p-126 ? copysign(0, v) : v;
    default: return AT(double, r)[i];
    }
}

// setany: setp and set in all their forms. dt is PRED for setp, otherwise the
// type of set's result; c is a predicate that bop joins with.
DEFINE(setany) {
    SLOW(bool r; switch (in->st) {
        case T_U16: case T_B16: r = compare_u(in->cmp, AT(uint16_t, in->a)[i], AT(uint16_t, in->b)[i]); break;
        case T_S16: r = compare_s(in->cmp, AT(int16_t, in->a)[i], AT(int16_t, in->b)[i]); break;
        case T_U32: case T_B32: r = compare_u(in->cmp, AT(uint32_t, in->a)[i], AT(uint32_t, in->b)[i]); break;
        case T_S32: r = compare_s(in->cmp, AT(int32_t, in->a)[i], AT(int32_t, in->b)[i]); break;
        case T_U64: case T_B64: r = compare_u(in->cmp, AT(uint64_t, in->a)[i], AT(uint64_t, in->b)[i]); break;
        case T_S64: r = compare_s(in->cmp, AT(int64_t, in->a)[i], AT(int64_t, in->b)[i]); break;
        default: r = compare_f(in->cmp, floating(w, in, in->a, i), floating(w, in, in->b, i)); break;
    }
    bool other = !r;
    if (in->bop) {
        bool c = AT(uint8_t, in->c)[i] != 0;
        if (in->flags & I_NOT)
            c = !c;
        r = in->bop == BOOL_AND ? r && c : in->bop == BOOL_OR ? r || c : r != c;
        other = in->bop == BOOL_AND ? other && c : in->bop == BOOL_OR ? other || c : other != c;
    }
    if (in->dt == T_PRED) {
        AT(uint8_t, in->d)[i] = r;
        if (in->d2)
            AT(uint8_t, in->d2)[i] = other;
    } else if (in->dt == T_F32)
        AT(float, in->d)[i] = r ? 1 : 0;
    else if (in->dt == T_F16)
        AT(uint16_t, in->d)[i] = r ? 0x3c00 : 0;
    else if (in->dw == 2)
        AT(uint16_t, in->d)[i] = r ? 0xffff : 0;
    else
        AT(uint32_t, in->d)[i] = r ? FULL : 0);
}
