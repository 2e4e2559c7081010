// Floating point, comparisons and conversions.
#include "ptx.h"
#include <string.h>

static void arithmetic(inst *s) {
    static const struct { const char *op; int operands, code; lane f32; } ops[] = {
        {"add", 2, F_ADD, L_addf32}, {"sub", 2, F_SUB, L_subf32}, {"mul", 2, F_MUL, L_mulf32}, {"fma", 3, F_FMA, L_fmaf32}, {"mad", 3, F_FMA, L_fmaf32},
        {"div", 2, F_DIV, L_divf32}, {"min", 2, F_MIN, L_minf32}, {"max", 2, F_MAX, L_maxf32}, {"abs", 1, F_ABS, L_absf32}, {"neg", 1, F_NEG, L_negf32},
        {"sqrt", 1, F_SQRT, L_sqrtf32}, {"rcp", 1, F_RCP, L_nop}, {"rsqrt", 1, F_RSQRT, L_nop}, {"ex2", 1, F_EX2, L_nop}, {"lg2", 1, F_LG2, L_nop},
        {"sin", 1, F_SIN, L_nop}, {"cos", 1, F_COS, L_nop}, {"tanh", 1, F_TANH, L_nop}, {"copysign", 2, 0, L_copysignf32}};
    size_t i = 0;
    while (strcmp(s->part[0], ops[i].op))
        i++;
    type t = s->ntypes == 1 ? s->types[0] : T_NONE;
    int w = width_of(t), round = rounding_of(s), n = ops[i].operands;
    bool approx = has(s, "approx") || has(s, "full"), ftz = has(s, "ftz"), sat = has(s, "sat"), nan = has(s, "NaN");
    bool half = t == T_F16 || t == T_BF16, pair = t == T_F16X2 || t == T_BF16X2;
    if (t != T_F32 && t != T_F64 && !half && !pair)
        unknown(s);
    want(s, n + 1, n + 1);
    insn *in = &s->in;
    in->d = target(s, 0, w);
    in->a = source(s, 1, w);
    if (n > 1)
        in->b = source(s, 2, w);
    if (n > 2)
        in->c = source(s, 3, w);
    in->op = (uint8_t)ops[i].code;
    in->st = (uint8_t)t;
    in->round = (uint8_t)round;
    in->bop = nan;
    in->cmp = approx;
    in->flags |= (ftz ? I_FTZ : 0) | (sat ? I_SAT : 0);
    if (half || pair) {
        bool known = ops[i].code && ops[i].code != F_DIV && ops[i].code != F_RCP && ops[i].code != F_SQRT && ops[i].code != F_RSQRT &&
                     ops[i].code != F_LG2 && ops[i].code != F_SIN && ops[i].code != F_COS;
        has(s, "noftz");
        if (!known || (round != RND_NONE && round != RN))
            unknown(s);
        finish(s, half ? L_f16op : L_f16x2op);
        return;
    }
    bool plain = !approx && !ftz && !sat && !nan && (round == RN || round == RND_NONE);
    if (t == T_F64) {
        if (ops[i].code >= F_EX2 && ops[i].code <= F_TANH)
            unknown(s);
        if (ops[i].code == F_RCP || ops[i].code == F_RSQRT)
            plain = false;
    }
    if (plain && ops[i].f32 != L_nop)
        finish(s, ops[i].f32 + (t == T_F64));
    else if (ops[i].code)
        finish(s, t == T_F64 ? L_anyf64 : L_anyf32);
    else
        unknown(s);
}

static void testp(inst *s) {
    static const char *const names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal", NULL};
    static const int values[] = {P_FINITE, P_INFINITE, P_NUMBER, P_NOTANUMBER, P_NORMAL, P_SUBNORMAL};
    if (s->ntypes != 1 || (s->types[0] != T_F32 && s->types[0] != T_F64) || !(s->in.op = (uint8_t)one_of(s, names, values)))
        unknown(s);
    want(s, 2, 2);
    s->in.st = (uint8_t)s->types[0];
    s->in.d = target(s, 0, 0);
    s->in.a = source(s, 1, width_of(s->types[0]));
    finish(s, L_testp);
}

static void compare(inst *s) {
    static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "lo", "ls", "hi", "hs", NULL};
    static const int values[] = {CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU, CMP_NUM, CMP_NAN, CMP_LT, CMP_LE, CMP_GT, CMP_GE};
    static const char *const joins[] = {"and", "or", "xor", NULL};
    static const int join_values[] = {BOOL_AND, BOOL_OR, BOOL_XOR};
    bool setp = s->part[0][3] == 'p';
    if (s->ntypes != (setp ? 1 : 2))
        unknown(s);
    type t = s->types[s->ntypes - 1];
    int cmp = one_of(s, names, values), join = one_of(s, joins, join_values), w = width_of(t);
    insn *in = &s->in;
    bool floating = t == T_F32 || t == T_F64 || t == T_F16 || t == T_BF16;
    if (!cmp || (!floating && cmp > CMP_GE) || w < 2 || t == T_F16X2 || t == T_BF16X2 || t == T_PRED)
        unknown(s);
    want(s, join ? 4 : 3, join ? 4 : 3);
    in->a = source(s, 1, w);
    in->b = source(s, 2, w);
    in->cmp = (uint8_t)cmp;
    in->bop = (uint8_t)join;
    in->st = (uint8_t)t;
    if (has(s, "ftz"))
        in->flags |= I_FTZ;
    if (join) {
        in->c = predicate(s, 3);
        if (s->o[3].negated)
            in->flags |= I_NOT;
    }
    if (!setp) {
        in->dt = (uint8_t)s->types[0];
        in->dw = (uint8_t)width_of(s->types[0]);
        if (in->dw != 2 && in->dw != 4)
            unknown(s);
        in->d = target(s, 0, in->dw);
        finish(s, L_setany);
        return;
    }
    in->dt = T_PRED;
    in->d = target(s, 0, 0);
    in->d2 = s->o[0].at2;
    if (join || in->d2 || in->flags & I_FTZ || t == T_F16 || t == T_BF16) {
        finish(s, L_setany);
        return;
    }
    int column;
    switch (t) {
    case T_B16: case T_U16: column = 0; break;
    case T_S16: column = 1; break;
    case T_B32: case T_U32: column = 2; break;
    case T_S32: column = 3; break;
    case T_B64: case T_U64: column = 4; break;
    case T_S64: column = 5; break;
    case T_F32: finish(s, L_eq_f32 + 2 * (cmp - 1)); return;
    case T_F64: finish(s, L_eq_f64 + 2 * (cmp - 1)); return;
    default: unknown(s);
    }
    finish(s, L_eq_u16 + 6 * (cmp - 1) + column);
}

static int row_width(const operand *o, type t) {
    int w = o->kind == O_REG ? width_of(o->t) : width_of(t);
    return w < 2 ? 2 : w;
}

static bool is_int(type t, int width) {
    switch (t) {
    case T_U8: case T_S8: case T_B8: case T_U16: case T_S16: case T_B16: case T_U32: case T_S32: case T_B32: case T_U64: case T_S64: case T_B64:
        return !width || width_of(t) == width;
    default:
        return false;
    }
}

// quick is the loop for a conversion that has one of its own, or L_cvt.
static lane quick(const insn *in) {
    type d = in->dt, t = in->st;
    if (in->flags & (I_SAT | I_FTZ))
        return L_cvt;
    if (is_int(d, 0) && is_int(t, 0)) {
        bool exact = width_of(d) == in->dw && width_of(t) == in->sw;
        if (in->dw == 8 && in->sw == 4 && exact)
            return t == T_S32 ? L_cvt_s32_s64 : L_cvt_u32_u64;
        if (in->dw == 4 && in->sw == 8 && exact)
            return L_cvt_64_32;
        if (in->dw == 4 && in->sw == 2 && exact)
            return t == T_S16 ? L_cvt_s16_32 : L_cvt_u16_32;
        if (in->dw == 2 && in->sw == 4 && exact)
            return L_cvt_32_16;
        if (in->dw == 4 && in->sw == 4 && width_of(d) == 4 && t == T_U8)
            return L_cvt_u8_u32;
        return L_cvt;
    }
    if (d == T_F32 && in->round == RN && in->sw == 4 && (t == T_S32 || t == T_U32))
        return t == T_S32 ? L_cvt_s32_f32 : L_cvt_u32_f32;
    if (d == T_S32 && t == T_F32 && in->round == RZI && in->dw == 4)
        return L_cvt_f32_s32;
    if (d == T_F64 && t == T_F32)
        return L_cvt_f32_f64;
    if (d == T_F32 && t == T_F64 && in->round == RN)
        return L_cvt_f64_f32;
    return L_cvt;
}

static void convert(inst *s) {
    if (s->ntypes != 2)
        unknown(s);
    insn *in = &s->in;
    type d = s->types[0], t = s->types[1];
    in->dt = (uint8_t)d;
    in->st = (uint8_t)t;
    in->round = (uint8_t)rounding_of(s);
    if (has(s, "ftz"))
        in->flags |= I_FTZ;
    if (has(s, "sat"))
        in->flags |= I_SAT;
    if (d == T_F16X2 || d == T_BF16X2) {
        if (t != T_F32)
            unknown(s);
        in->cmp = has(s, "relu");
        want(s, 3, 3);
        in->d = target(s, 0, 4);
        in->a = source(s, 1, 4);
        in->b = source(s, 2, 4);
        finish(s, L_cvt_pack);
        return;
    }
    want(s, 2, 2);
    if (d == T_PRED || t == T_PRED || t == T_F16X2 || t == T_BF16X2 || d == T_B128 || t == T_B128 || in->round == RNA)
        unknown(s);
    in->dw = (uint8_t)row_width(&s->o[0], d);
    in->sw = (uint8_t)row_width(&s->o[1], t);
    if (in->dw < width_of(d) || in->sw < width_of(t))
        fail(s->x, "%s of registers that are too narrow", s->text);
    if (s->o[0].kind != O_REG)
        fail(s->x, "%s needs a register", s->text);
    in->d = s->o[0].at;
    in->a = s->o[1].kind == O_REG ? s->o[1].at : source(s, 1, in->sw);
    finish(s, quick(in));
}

decoder decode_floating(const char *op, const inst *s) {
    static const char *const names[] = {"add", "sub", "mul", "fma", "mad", "div", "min", "max", "abs", "neg", "sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh", "copysign"};
    (void)s;
    if (!strcmp(op, "setp") || !strcmp(op, "set"))
        return compare;
    if (!strcmp(op, "cvt"))
        return convert;
    if (!strcmp(op, "testp"))
        return testp;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(op, names[i]))
            return arithmetic;
    return NULL;
}
