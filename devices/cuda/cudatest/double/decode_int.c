// Integer instructions, moves and selections.
#include "ptx.h"
#include <string.h>

static bool is_signed(type t) { return t == T_S8 || t == T_S16 || t == T_S32 || t == T_S64; }

static type only_type(inst *s) {
    if (s->ntypes != 1)
        unknown(s);
    return s->types[0];
}

// by_width chooses the loop for 16, 32 or 64 bits.
static lane by_width(inst *s, type t, lane l16) {
    switch (width_of(t)) {
    case 2: return l16;
    case 4: return l16 + 1;
    case 8: return l16 + 2;
    }
    unknown(s);
}

static void sources(inst *s, int n, int width) {
    want(s, n + 1, n + 1);
    s->in.d = target(s, 0, width);
    s->in.a = source(s, 1, width);
    if (n > 1)
        s->in.b = source(s, 2, width);
    if (n > 2)
        s->in.c = source(s, 3, width);
}

static void logic(inst *s) {
    static const struct { const char *op; lane l16, pred; int n; } ops[] = {
        {"and", L_and16, L_andp, 2}, {"or", L_or16, L_orp, 2}, {"xor", L_xor16, L_xorp, 2}, {"not", L_not16, L_notp, 1}, {"cnot", L_cnot16, L_nop, 1}};
    type t = only_type(s);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(s->part[0], ops[i].op))
            continue;
        sources(s, ops[i].n, width_of(t));
        finish(s, t == T_PRED ? ops[i].pred : by_width(s, t, ops[i].l16));
        return;
    }
}

// carry notes .cc and the c at the end of addc, subc and madc.
static bool carry(inst *s) {
    size_t n = strlen(s->part[0]);
    bool takes = s->part[0][n - 1] == 'c', leaves = has(s, "cc");
    s->in.op = (uint8_t)(takes | leaves << 1);
    return takes || leaves;
}

static void add(inst *s) {
    type t = only_type(s);
    bool sub = s->part[0][0] == 's', sat = has(s, "sat");
    sources(s, 2, width_of(t));
    if (carry(s)) {
        if (width_of(t) < 4)
            unknown(s);
        finish(s, (sub ? L_subc32 : L_addc32) + (width_of(t) == 8));
    } else if (sat) {
        if (t != T_S32)
            unknown(s);
        finish(s, sub ? L_subsat32 : L_addsat32);
    } else {
        finish(s, by_width(s, t, sub ? L_sub16 : L_add16));
    }
}

static void multiply(inst *s) {
    type t = only_type(s);
    int w = width_of(t);
    bool mad = s->part[0][1] == 'a', wide = has(s, "wide"), hi = has(s, "hi"), lo = has(s, "lo"), sign = is_signed(t);
    if (wide + hi + lo != 1)
        unknown(s);
    if (wide) {
        if (w > 4)
            unknown(s);
        want(s, mad ? 4 : 3, mad ? 4 : 3);
        s->in.d = target(s, 0, 2 * w);
        s->in.a = source(s, 1, w);
        s->in.b = source(s, 2, w);
        if (mad)
            s->in.c = source(s, 3, 2 * w);
        lane l = mad ? L_madwideu16 : L_mulwideu16;
        finish(s, l + (w == 4 ? 2 : 0) + sign);
        return;
    }
    sources(s, mad ? 3 : 2, w);
    if (mad && carry(s)) {
        if (w < 4)
            unknown(s);
        s->in.op |= (uint8_t)(hi << 2 | sign << 3);
        finish(s, w == 4 ? L_madc32 : L_madc64);
        return;
    }
    if (mad)
        finish(s, by_width(s, t, lo ? L_madlo16 : sign ? L_madhis16 : L_madhiu16));
    else
        finish(s, by_width(s, t, lo ? L_mul16 : sign ? L_mulhis16 : L_mulhiu16));
}

// signed_pair are operations whose loop depends on the sign.
static void signed_pair(inst *s) {
    static const struct { const char *op; lane u, s; } ops[] = {
        {"div", L_divu16, L_divs16}, {"rem", L_remu16, L_rems16}, {"min", L_minu16, L_mins16}, {"max", L_maxu16, L_maxs16}};
    type t = only_type(s);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(s->part[0], ops[i].op)) {
            sources(s, 2, width_of(t));
            finish(s, by_width(s, t, is_signed(t) ? ops[i].s : ops[i].u));
        }
}

static void one_operand(inst *s) {
    type t = only_type(s);
    sources(s, 1, width_of(t));
    finish(s, by_width(s, t, !strcmp(s->part[0], "neg") ? L_neg16 : L_abs16));
}

static void shift(inst *s) {
    type t = only_type(s);
    int w = width_of(t);
    want(s, 3, 3);
    s->in.d = target(s, 0, w);
    s->in.a = source(s, 1, w);
    s->in.b = source(s, 2, 4);
    finish(s, by_width(s, t, s->part[0][2] == 'l' ? L_shl16 : is_signed(t) ? L_shrs16 : L_shru16));
}

static void count_bits(inst *s) {
    static const struct { const char *op; lane l; } ops[] = {{"popc", L_popc32}, {"clz", L_clz32}};
    type t = only_type(s);
    int w = width_of(t);
    if (w != 4 && w != 8)
        unknown(s);
    want(s, 2, 2);
    s->in.d = target(s, 0, 4);
    s->in.a = source(s, 1, w);
    if (!strcmp(s->part[0], "bfind")) {
        s->in.st = (uint8_t)t;
        s->in.flags |= has(s, "shiftamt") ? I_SHIFTED : 0;
        finish(s, L_bfind);
        return;
    }
    finish(s, (strcmp(s->part[0], ops[0].op) ? ops[1].l : ops[0].l) + (w == 8));
}

static void brev(inst *s) {
    type t = only_type(s);
    if (width_of(t) < 4)
        unknown(s);
    sources(s, 1, width_of(t));
    finish(s, width_of(t) == 4 ? L_brev32 : L_brev64);
}

static void field(inst *s) {
    type t = only_type(s);
    int w = width_of(t);
    bool insert = s->part[0][2] == 'i';
    if (w < 4)
        unknown(s);
    want(s, insert ? 5 : 4, insert ? 5 : 4);
    s->in.st = (uint8_t)t;
    s->in.d = target(s, 0, w);
    s->in.a = source(s, 1, w);
    s->in.b = source(s, 2, insert ? w : 4);
    s->in.c = source(s, 3, 4);
    if (insert)
        s->in.e = source(s, 4, 4);
    finish(s, !insert ? L_bfe : w == 4 ? L_bfi32 : L_bfi64);
}

static void three(inst *s) {
    const char *op = s->part[0];
    if (!strcmp(op, "lop3")) {
        only_type(s);
        want(s, 5, 5);
        if (s->o[4].kind != O_INT)
            unknown(s);
        s->in.imm = (int64_t)s->o[4].bits;
        s->n = 4;
        sources(s, 3, 4);
        finish(s, L_lop3);
    } else if (!strcmp(op, "prmt")) {
        only_type(s);
        sources(s, 3, 4);
        finish(s, L_prmt);
    } else if (!strcmp(op, "shf")) {
        only_type(s);
        bool left = has(s, "l");
        if (!left && !has(s, "r"))
            unknown(s);
        s->in.op = left;
        if (has(s, "clamp"))
            s->in.flags |= I_SAT;
        else if (!has(s, "wrap"))
            unknown(s);
        sources(s, 3, 4);
        finish(s, L_shf);
    } else if (!strcmp(op, "dp4a") || !strcmp(op, "dp2a")) {
        if (s->ntypes != 2)
            unknown(s);
        s->in.st = (uint8_t)s->types[0];
        s->in.dt = (uint8_t)s->types[1];
        bool two = op[2] == '2';
        if (two && !(s->in.op = has(s, "hi")) && !has(s, "lo"))
            unknown(s);
        sources(s, 3, 4);
        finish(s, two ? L_dp2a : L_dp4a);
    } else if (!strcmp(op, "sad")) {
        type t = only_type(s);
        s->in.st = (uint8_t)t;
        sources(s, 3, width_of(t));
        finish(s, L_sad);
    } else { // mul24, mad24
        type t = only_type(s);
        s->in.st = (uint8_t)t;
        if (width_of(t) != 4 || (!(s->in.op = has(s, "hi")) && !has(s, "lo")))
            unknown(s);
        sources(s, op[1] == 'a' ? 3 : 2, 4);
        finish(s, L_mul24);
    }
}

static void select_one(inst *s) {
    type t = s->types[0];
    int w = width_of(t);
    bool slct = s->part[0][1] == 'l';
    if (s->ntypes != (slct ? 2 : 1))
        unknown(s);
    want(s, 4, 4);
    s->in.d = target(s, 0, w);
    s->in.a = source(s, 1, w);
    s->in.b = source(s, 2, w);
    if (slct) {
        has(s, "ftz");
        s->in.st = (uint8_t)s->types[1];
        s->in.dw = (uint8_t)w;
        s->in.c = source(s, 3, 4);
        finish(s, L_slct);
        return;
    }
    s->in.c = s->o[3].kind == O_INT ? source(s, 3, 0) : predicate(s, 3);
    finish(s, by_width(s, t, L_sel16));
}

// move also packs and unpacks vectors, and reads addresses and clocks.
static void move(inst *s) {
    type t = only_type(s);
    int w = width_of(t);
    want(s, 2, 2);
    operand *to = &s->o[0], *from = &s->o[1];
    if (to->kind == O_VECTOR || from->kind == O_VECTOR) {
        operand *v = to->kind == O_VECTOR ? to : from;
        int part = v->vt == T_NONE ? w / v->n : width_of(v->vt);
        if (to->kind == from->kind || v->n < 2 || part * v->n != w || part < 1) {
            // 8-bit parts lie in registers of 16 bits.
            if (to->kind == from->kind || v->n < 2 || w != v->n)
                fail(s->x, "%s of a vector of %d registers with %d bits", s->text, v->n, 8 * part);
            part = 1;
        }
        s->in.n = (uint8_t)v->n;
        s->in.sw = (uint8_t)part;
        s->in.dw = (uint8_t)w;
        memcpy(s->in.v, v->v, sizeof s->in.v);
        if (v == to)
            s->in.a = source(s, 1, w);
        else
            s->in.d = target(s, 0, w);
        finish(s, v == to ? L_unpack : L_pack);
        return;
    }
    if (from->kind == O_CLOCK) {
        if (width_of(from->t) != w)
            unknown(s);
        s->in.op = (uint8_t)from->bits;
        s->in.d = target(s, 0, w);
        finish(s, L_clock);
        return;
    }
    s->in.d = target(s, 0, w);
    s->in.a = source(s, 1, w);
    finish(s, t == T_PRED ? L_movp : by_width(s, t, L_mov16));
}

decoder decode_integer(const char *op) {
    static const struct { const char *op; decoder d; } names[] = {
        {"and", logic}, {"or", logic}, {"xor", logic}, {"not", logic}, {"cnot", logic},
        {"add", add}, {"sub", add}, {"addc", add}, {"subc", add}, {"mul", multiply}, {"mad", multiply}, {"madc", multiply},
        {"div", signed_pair}, {"rem", signed_pair}, {"min", signed_pair}, {"max", signed_pair}, {"neg", one_operand}, {"abs", one_operand},
        {"shl", shift}, {"shr", shift}, {"popc", count_bits}, {"clz", count_bits}, {"bfind", count_bits}, {"brev", brev},
        {"bfe", field}, {"bfi", field}, {"lop3", three}, {"prmt", three}, {"shf", three}, {"dp4a", three}, {"dp2a", three}, {"sad", three},
        {"mul24", three}, {"mad24", three}, {"selp", select_one}, {"slct", select_one}, {"mov", move}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(op, names[i].op))
            return names[i].d;
    return NULL;
}
