// Decoding: from a mnemonic with its modifiers and operands to a loop over
// lanes. A modifier that no decoder asked for is an error.
#include "ptx.h"
#include <string.h>

void unknown(inst *s) { fail(s->x, "instruction %s is not known to the double", s->text); }

bool has(inst *s, const char *modifier) {
    for (int i = 1; i < s->nparts; i++)
        if (!s->used[i] && !strcmp(s->part[i], modifier)) {
            s->used[i] = true;
            return true;
        }
    return false;
}

int one_of(inst *s, const char *const *names, const int *values) {
    for (int i = 1; i < s->nparts; i++)
        for (int k = 0; names[k] && !s->used[i]; k++)
            if (!strcmp(s->part[i], names[k])) {
                s->used[i] = true;
                return values[k];
            }
    return 0;
}

int rounding_of(inst *s) {
    static const char *const names[] = {"rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna", NULL};
    static const int values[] = {RN + 1, RZ + 1, RM + 1, RP + 1, RNI + 1, RZI + 1, RMI + 1, RPI + 1, RNA + 1};
    int r = one_of(s, names, values);
    return r ? r - 1 : RND_NONE;
}

void want(inst *s, int least, int most) {
    if (s->n < least || s->n > most)
        fail(s->x, "%s with %d operands", s->text, s->n);
}

// source is operand k as a row of values of width bytes (0: predicates).
uint32_t source(inst *s, int k, int width) {
    operand *o = &s->o[k];
    parser *x = s->x;
    if (k >= s->n)
        fail(x, "%s with %d operands", s->text, s->n);
    switch (o->kind) {
    case O_REG:
        if (o->negated || width_of(o->t) != width)
            fail(x, "operand %d of %s is a register of %d bits, not of %d", k + 1, s->text, 8 * width_of(o->t), 8 * width);
        return o->at;
    case O_INT:
        if (width == 0)
            return constant_at(x, o->bits != 0, 0, CONST_VALUE);
        return constant_at(x, o->bits, width, CONST_VALUE);
    case O_F32:
        if (width == 8) {
            float f;
            double d;
            uint64_t bits;
            memcpy(&f, &o->bits, 4);
            d = f;
            memcpy(&bits, &d, 8);
            return constant_at(x, bits, 8, CONST_VALUE);
        }
        return constant_at(x, o->bits, width, CONST_VALUE);
    case O_F64: {
        double d;
        float f;
        uint32_t bits;
        memcpy(&d, &o->bits, 8);
        f = (float)d;
        memcpy(&bits, &f, 4);
        return constant_at(x, width == 4 ? bits : o->bits, width, CONST_VALUE);
    }
    case O_SYMBOL:
        if (width < 4)
            break;
        if (o->sym->kind == Y_LOCAL)
            return constant_at(x, o->sym->offset + o->bits, width, CONST_LOCAL);
        if (o->sym->kind == Y_SHARED || (o->sym->kind == Y_PARAM && width == 8))
            return constant_at(x, o->sym->offset + o->bits, width, CONST_VALUE);
        break;
    case O_VARIABLE:
        if (o->var->space == SP_SHARED && width >= 4)
            return constant_at(x, o->var->address + o->bits, width, o->var->is_extern ? CONST_DYNAMIC : CONST_VALUE);
        if (width == 8 && o->var->is_extern)
            fail(x, "%s is declared .extern and defined nowhere", o->var->name);
        if (width == 8)
            return constant_at(x, o->var->address + o->bits, 8, CONST_VALUE);
        break;
    default:
        break;
    }
    fail(x, "operand %d of %s cannot be that", k + 1, s->text);
}

uint32_t target(inst *s, int k, int width) {
    operand *o = &s->o[k];
    if (k >= s->n)
        fail(s->x, "%s with %d operands", s->text, s->n);
    if (o->kind == O_SINK) // a row that nobody reads
        return new_row(s->x, width);
    if (o->kind != O_REG || o->negated || width_of(o->t) != width)
        fail(s->x, "operand %d of %s is not a register of %d bits", k + 1, s->text, 8 * width);
    return o->at;
}

uint32_t predicate(inst *s, int k) {
    operand *o = &s->o[k];
    if (k >= s->n || o->kind != O_REG || o->t != T_PRED)
        fail(s->x, "operand %d of %s is not a predicate", k + 1, s->text);
    return o->at;
}

void finish(inst *s, lane l) {
    for (int i = 1; i < s->nparts; i++)
        if (!s->used[i])
            fail(s->x, "modifier .%s of %s is not known to the double", s->part[i], s->text);
    s->in.fn = lane_table[l];
    emit(s->x, &s->in);
}

void decode(parser *x, inst *s) {
    char copy[sizeof s->text], *p = copy;
    (void)x;
    strcpy(copy, s->text);
    while (p && s->nparts < MAX_PARTS) {
        char *dot = strchr(p, '.');
        if (dot)
            *dot++ = 0;
        s->part[s->nparts++] = p;
        p = dot;
    }
    if (p)
        unknown(s);
    for (int i = 1; i < s->nparts && s->ntypes < 6; i++) {
        type t = type_named(s->part[i]);
        if (t != T_NONE) {
            s->types[s->ntypes++] = t;
            s->used[i] = true;
        }
    }
    const char *op = s->part[0];
    decoder d = decode_integer(op);
    // The names that floats and integers share go by the type.
    type t = s->ntypes ? s->types[s->ntypes - 1] : T_NONE;
    bool floating = t == T_F16 || t == T_BF16 || t == T_F32 || t == T_F64 || t == T_F16X2 || t == T_BF16X2;
    if (!d || (floating && strcmp(op, "mov") && strcmp(op, "selp") && strcmp(op, "slct")))
        d = decode_floating(op, s);
    if (!d)
        d = decode_memory(op);
    if (!d)
        d = decode_other(op);
    if (!d)
        unknown(s);
    d(s);
}
