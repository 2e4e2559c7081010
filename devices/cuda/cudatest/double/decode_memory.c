// Loads, stores, atomics and addresses.
#include "ptx.h"
#include <string.h>

// address sets the row and the offset of operand k.
static void address(inst *s, int k) {
    operand *o = &s->o[k];
    insn *in = &s->in;
    if (k >= s->n || o->kind != O_ADDRESS)
        fail(s->x, "operand %d of %s is no address", k + 1, s->text);
    if (o->sym || o->var) {
        operand base = *o;
        base.kind = o->sym ? O_SYMBOL : O_VARIABLE;
        s->o[k] = base;
        in->a = source(s, k, 8);
        in->sw = 8;
        in->imm = 0;
    } else if (o->t == T_NONE) {
        in->a = constant_at(s->x, o->bits, 8, CONST_VALUE);
        in->sw = 8;
    } else {
        in->sw = (uint8_t)width_of(o->t);
        if (in->sw < 4)
            fail(s->x, "an address of %d bits", 8 * in->sw);
        in->a = o->at;
        in->imm = (int64_t)o->bits;
    }
    in->site = (uint32_t)s->x->m->nsites++;
}

static space space_of(inst *s) {
    static const char *const names[] = {"global", "const", "shared", "local", "param", "shared::cta", "param::entry", "param::func", "generic", NULL};
    static const int values[] = {SP_GLOBAL, SP_CONST, SP_SHARED, SP_LOCAL, SP_PARAM, SP_SHARED, SP_PARAM, SP_PARAM, SP_GENERIC};
    return (space)one_of(s, names, values);
}

// hints are modifiers that change nothing where memory has one level.
static void hints(inst *s) {
    static const char *const names[] = {"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "gpu", "cta", "sys", "cluster", "nc",
                                        "ca", "cg", "cs", "lu", "cv", "wb", "wt", "noftz", "uni", NULL};
    for (int i = 0; names[i]; i++)
        has(s, names[i]);
    for (int i = 1; i < s->nparts; i++)
        if (!s->used[i] && strstr(s->part[i], "::"))
            s->used[i] = !strncmp(s->part[i], "L1", 2) || !strncmp(s->part[i], "L2", 2);
}

static int vector_of(inst *s) {
    static const char *const names[] = {"v2", "v4", "v8", NULL};
    static const int values[] = {2, 4, 8};
    int n = one_of(s, names, values);
    return n ? n : 1;
}

static int row_width(type t) { return width_of(t) < 2 ? 2 : width_of(t); }

// registers notes the registers of a load or store: operand k, one or n.
static void registers(inst *s, int k, int n) {
    operand *o = &s->o[k];
    insn *in = &s->in;
    type t = (type)in->dt;
    in->n = (uint8_t)n;
    if (n > 1) {
        if (o->kind != O_VECTOR || o->n != n || o->vt == T_NONE)
            fail(s->x, "%s without a vector of %d registers", s->text, n);
        memcpy(in->v, o->v, sizeof in->v);
        in->dw = (uint8_t)row_width(o->vt);
    } else if (o->kind == O_REG && o->t != T_PRED) {
        in->v[0] = in->d = o->at;
        in->dw = (uint8_t)row_width(o->t);
    } else if (o->kind == O_VECTOR && o->n == 1) {
        in->v[0] = in->d = o->v[0];
        in->dw = (uint8_t)row_width(o->vt);
    } else {
        in->dw = (uint8_t)row_width(t);
        in->v[0] = in->d = k == 0 ? target(s, k, in->dw) : source(s, k, in->dw);
    }
    if (in->dw < width_of(t))
        fail(s->x, "%s with registers of %d bits", s->text, 8 * in->dw);
}

static type memory_type(inst *s) {
    if (s->ntypes != 1 || s->types[0] == T_PRED || s->types[0] == T_B128)
        unknown(s);
    return s->types[0];
}

static void parameter(inst *s, const operand *o, bool store) {
    insn *in = &s->in;
    uint64_t off = o->bits, bytes = (uint64_t)width_of((type)in->dt) * in->n;
    const symbol *y = o->sym;
    if (off > y->size || bytes > y->size - off)
        fail(s->x, "%s beyond the %u bytes of %.*s", s->text, y->size, y->n, y->p);
    if (y->kind == Y_PARAM) {
        if (store)
            fail(s->x, "a store to a kernel's parameter");
        in->imm = (int64_t)(y->offset + off);
        finish(s, L_ldparam);
        return;
    }
    in->a = y->offset;
    in->e = (y->size + 7) & ~7u;
    in->imm = (int64_t)off;
    finish(s, store ? L_stparcel : L_ldparcel);
}

static void load_store(inst *s) {
    bool store = s->part[0][0] == 's';
    insn *in = &s->in;
    space sp = space_of(s);
    int n = vector_of(s);
    hints(s);
    type t = memory_type(s);
    want(s, 2, 3); // the third is a cache policy, which means nothing here
    in->dt = (uint8_t)t;
    in->space = (uint8_t)sp;
    registers(s, store ? 1 : 0, n);
    operand *o = &s->o[store ? 0 : 1];
    if (sp == SP_PARAM && o->kind == O_ADDRESS && o->sym && (o->sym->kind == Y_PARAM || o->sym->kind == Y_PARCEL)) {
        parameter(s, o, store);
        return;
    }
    if (sp == SP_PARAM && (store || !s->x->f->entry))
        unknown(s);
    address(s, store ? 0 : 1);
    bool quick = sp != SP_LOCAL && in->sw == 8 && in->dw == row_width(t);
    if (n > 1) {
        finish(s, store ? L_stvec : L_ldvec);
        return;
    }
    int column = width_of(t) == 1 ? 0 : width_of(t) == 2 ? 1 : width_of(t) == 4 ? 2 : 3;
    if (quick)
        finish(s, (store ? L_st8 : L_ld8) + column);
    else
        finish(s, store ? L_stany : L_ldany);
}

static void atomic(inst *s) {
    static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas", NULL};
    static const int values[] = {A_ADD, A_MIN, A_MAX, A_INC, A_DEC, A_AND, A_OR, A_XOR, A_EXCH, A_CAS};
    bool red = s->part[0][0] == 'r';
    insn *in = &s->in;
    in->space = (uint8_t)space_of(s);
    in->op = (uint8_t)one_of(s, names, values);
    hints(s);
    type t = memory_type(s);
    int w = width_of(t), first = red ? 0 : 1;
    bool floating = t == T_F32 || t == T_F64 || t == T_F16 || t == T_BF16 || t == T_F16X2 || t == T_BF16X2;
    if (!in->op || w < 2 || (floating && in->op != A_ADD && in->op != A_EXCH) || (w == 2 && !floating && in->op != A_CAS && in->op != A_EXCH) ||
        ((in->op == A_INC || in->op == A_DEC) && t != T_U32) || (in->space != SP_GENERIC && in->space != SP_GLOBAL && in->space != SP_SHARED))
        unknown(s);
    want(s, first + 2, first + 3);
    in->dt = (uint8_t)t;
    in->dw = (uint8_t)w;
    if (!red)
        in->d = target(s, 0, w);
    address(s, first);
    in->b = source(s, first + 1, w);
    if (in->op == A_CAS)
        in->c = source(s, first + 2, w);
    finish(s, L_atom);
}

static void cvta(inst *s) {
    static const uint64_t windows[] = {[SP_GLOBAL] = 0, [SP_CONST] = 0, [SP_SHARED] = SHARED_WINDOW, [SP_LOCAL] = LOCAL_WINDOW, [SP_PARAM] = PARAM_WINDOW};
    bool to = has(s, "to");
    space sp = space_of(s);
    if (sp == SP_GENERIC || s->ntypes != 1 || width_of(s->types[0]) != 8)
        unknown(s);
    want(s, 2, 2);
    s->in.d = target(s, 0, 8);
    s->in.a = source(s, 1, 8);
    s->in.imm = (int64_t)(to ? -windows[sp] : windows[sp]);
    finish(s, L_cvta);
}

static void isspacep(inst *s) {
    s->in.space = (uint8_t)space_of(s);
    want(s, 2, 2);
    s->in.d = target(s, 0, 0);
    s->in.a = source(s, 1, 8);
    finish(s, L_isspacep);
}

// nothing is for orders and hints to memories that the double has not.
static void nothing(inst *s) {
    for (int i = 1; i < s->nparts; i++)
        s->used[i] = true;
    finish(s, L_nop);
}

decoder decode_memory(const char *op) {
    static const struct { const char *op; decoder d; } names[] = {
        {"ld", load_store}, {"ldu", load_store}, {"st", load_store}, {"atom", atomic}, {"red", atomic}, {"cvta", cvta}, {"isspacep", isspacep},
        {"membar", nothing}, {"fence", nothing}, {"prefetch", nothing}, {"prefetchu", nothing}, {"discard", nothing}, {"applypriority", nothing}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(op, names[i].op))
            return names[i].d;
    return NULL;
}
