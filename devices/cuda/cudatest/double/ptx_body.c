// Bodies of functions: declarations, labels, and instructions up to their
// operands.
#include "ptx.h"
#include <stdlib.h>
#include <string.h>

// new_row is room in the frame for width bytes of every lane; 0 is a predicate.
uint32_t new_row(parser *x, int width) {
    uint32_t at = x->f->frame;
    x->f->frame += LANES * (uint32_t)(width ? width : 1);
    if (x->f->frame > LANES * 8u * MAX_REGISTERS)
        fail(x, "function %s has more than %d registers", x->f->name, MAX_REGISTERS);
    return at;
}

uint32_t constant_at(parser *x, uint64_t bits, int width, int of) {
    fn_code *f = x->f;
    if (width > 0 && width < 8)
        bits &= ((uint64_t)1 << 8 * width) - 1;
    for (int i = 0; i < f->nconsts; i++)
        if (f->consts[i].bits == bits && f->consts[i].width == width && (int)f->consts[i].of == of)
            return f->consts[i].at;
    f->consts = grow(x, f->consts, f->nconsts, &f->constroom, sizeof *f->consts);
    constant *c = &f->consts[f->nconsts++];
    c->bits = bits;
    c->width = (uint8_t)width;
    c->of = of;
    return c->at = new_row(x, width);
}

uint32_t special_at(parser *x, int special) {
    uint32_t *at = &x->f->special[special];
    if (!*at)
        *at = new_row(x, 4);
    return *at;
}

symbol *new_symbol(parser *x, symbol_kind k, const char *p, int n, type t) {
    x->syms = grow(x, x->syms, x->nsyms, &x->symroom, sizeof *x->syms);
    symbol *s = &x->syms[x->nsyms++];
    *s = (symbol){.kind = k, .p = p, .n = n, .t = t, .scope = x->scope};
    return s;
}

static bool same(const char *p, int n, const symbol *s) { return s->n == n && !memcmp(p, s->p, (size_t)n); }

// symbol_named finds the innermost symbol. Registers of a range are found by
// register_of.
symbol *symbol_named(parser *x, const char *p, int n) {
    for (int i = x->nsyms - 1; i >= 0; i--)
        if (!x->syms[i].range && same(p, n, &x->syms[i]))
            return &x->syms[i];
    return NULL;
}

uint32_t register_of(parser *x, symbol *s, uint32_t number) {
    if (!s->at) {
        s->at = calloc(s->count, sizeof *s->at);
        if (!s->at)
            fail(x, "out of memory");
    }
    if (!s->at[number]) {
        s->at[number] = new_row(x, width_of(s->t) == 1 ? 2 : width_of(s->t));
        x->f->registers += s->t == T_PRED ? 0 : width_of(s->t) == 8 ? 2 : 1;
    }
    return s->at[number];
}

static bool read_register(parser *x, operand *o) {
    const char *p = x->t.p;
    int n = x->t.n, digits = 0;
    symbol *s = symbol_named(x, p, n);
    if (s && s->kind == Y_REG) {
        o->kind = O_REG;
        o->t = s->t;
        o->at = register_of(x, s, 0);
        return true;
    }
    while (digits < n - 1 && digits < 7 && p[n - 1 - digits] >= '0' && p[n - 1 - digits] <= '9')
        digits++;
    for (int i = x->nsyms - 1; i >= 0 && digits; i--) {
        s = &x->syms[i];
        if (!s->range || s->kind != Y_REG || s->n >= n || s->n < n - digits || memcmp(p, s->p, (size_t)s->n))
            continue;
        uint32_t number = 0;
        for (int k = s->n; k < n; k++)
            number = number * 10 + (uint32_t)(p[k] - '0');
        if (number >= s->count)
            continue;
        o->kind = O_REG;
        o->t = s->t;
        o->at = register_of(x, s, number);
        return true;
    }
    return false;
}

static bool read_special(parser *x, operand *o) {
    static const struct { const char *name; int special; } names[] = {
        {"%tid.x", S_TIDX}, {"%tid.y", S_TIDY}, {"%tid.z", S_TIDZ}, {"%ntid.x", S_NTIDX}, {"%ntid.y", S_NTIDY}, {"%ntid.z", S_NTIDZ},
        {"%ctaid.x", S_CTAX}, {"%ctaid.y", S_CTAY}, {"%ctaid.z", S_CTAZ}, {"%nctaid.x", S_NCTAX}, {"%nctaid.y", S_NCTAY}, {"%nctaid.z", S_NCTAZ},
        {"%laneid", S_LANE}, {"%warpid", S_WARP}, {"%nwarpid", S_NWARP}, {"%smid", S_SM}, {"%nsmid", S_NSM},
        {"%lanemask_lt", S_LT}, {"%lanemask_le", S_LE}, {"%lanemask_eq", S_EQ}, {"%lanemask_ge", S_GE}, {"%lanemask_gt", S_GT},
        {"%dynamic_smem_size", S_DYNSHARED}, {"%total_smem_size", S_TOTALSHARED}};
    static const struct { const char *name; int clock; type t; } clocks[] = {
        {"%clock", CLOCK_32, T_U32}, {"%clock64", CLOCK_64, T_U64}, {"%globaltimer", CLOCK_NS, T_U64}, {"%globaltimer_lo", CLOCK_32, T_U32}};
    if (x->t.n == 7 && !memcmp(x->t.p, "WARP_SZ", 7)) {
        *o = (operand){.kind = O_INT, .bits = LANES};
        return true;
    }
    if (*x->t.p != '%')
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(x, names[i].name)) {
            *o = (operand){.kind = O_REG, .t = T_U32, .at = special_at(x, names[i].special)};
            return true;
        }
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
        if (is(x, clocks[i].name)) {
            *o = (operand){.kind = O_CLOCK, .t = clocks[i].t, .bits = (uint64_t)clocks[i].clock};
            return true;
        }
    return false;
}

// read_name reads a word that is an operand.
static operand read_name(parser *x) {
    operand o = {0};
    if (x->t.n == 1 && *x->t.p == '_') {
        o.kind = O_SINK;
    } else if (!read_register(x, &o) && !read_special(x, &o)) {
        if ((o.sym = symbol_named(x, x->t.p, x->t.n))) {
            o.kind = O_SYMBOL;
        } else if ((o.var = variable_named(x->m, x->t.p, x->t.n))) {
            o.kind = O_VARIABLE;
        } else {
            fail(x, "%.*s is not declared, or not known to the double", x->t.n > 80 ? 80 : x->t.n, x->t.p);
        }
    }
    next(x);
    return o;
}

static operand read_number(parser *x, bool minus) {
    operand o = {.bits = x->t.bits};
    switch (x->t.kind) {
    case K_INT:
        o.kind = O_INT;
        if (minus)
            o.bits = -o.bits;
        break;
    case K_F32:
        o.kind = O_F32;
        if (minus)
            o.bits ^= 0x80000000u;
        break;
    case K_F64:
        o.kind = O_F64;
        if (minus)
            o.bits ^= (uint64_t)1 << 63;
        break;
    default:
        fail(x, "an operand is expected");
    }
    next(x);
    return o;
}

static operand read_address(parser *x) {
    operand o = {0};
    if (x->t.kind == K_WORD) {
        o = read_name(x);
        if (o.kind != O_REG && o.kind != O_SYMBOL && o.kind != O_VARIABLE)
            fail(x, "an address needs a register or a variable");
    } else {
        o.bits = expect_int(x);
        if (!accept(x, ']'))
            fail(x, "] is expected");
        o.kind = O_ADDRESS;
        return o;
    }
    o.bits = 0;
    if (accept(x, '+'))
        o.bits = expect_int(x);
    else if (is_punct(x, '-'))
        o.bits = expect_int(x);
    expect(x, ']');
    o.kind = O_ADDRESS;
    return o;
}

operand read_operand(parser *x) {
    operand o = {0};
    if (accept(x, '[')) {
        return read_address(x);
    }
    if (accept(x, '{')) {
        o.kind = O_VECTOR;
        while (!accept(x, '}')) {
            if (o.n == 8)
                fail(x, "a vector of more than 8");
            operand e = x->t.kind == K_WORD ? read_name(x) : read_number(x, accept(x, '-'));
            if (e.kind == O_REG)
                o.vt = e.t;
            else if (e.kind != O_SINK)
                fail(x, "a vector holds registers");
            o.v[o.n++] = e.kind == O_REG ? e.at : 0;
            accept(x, ',');
        }
        return o;
    }
    if (accept(x, '!')) {
        o = read_name(x);
        o.negated = true;
        return o;
    }
    if (x->t.kind == K_WORD) {
        o = read_name(x);
        if (accept(x, '|')) {
            operand second = read_name(x);
            if (second.kind != O_REG && second.kind != O_SINK)
                fail(x, "a register is expected after |");
            o.at2 = second.at;
        } else if ((o.kind == O_SYMBOL || o.kind == O_VARIABLE) && (is_punct(x, '+') || is_punct(x, '-'))) {
            accept(x, '+');
            o.bits = expect_int(x);
        }
        return o;
    }
    bool minus = accept(x, '-');
    return read_number(x, minus);
}

int label_for(parser *x, const char *p, int n) {
    for (int i = x->nlabels - 1; i >= 0; i--)
        if (x->labels[i].n == n && !memcmp(p, x->labels[i].p, (size_t)n) && (!x->labels[i].defined || x->labels[i].scope <= x->scope))
            return i;
    x->labels = grow(x, x->labels, x->nlabels, &x->labelroom, sizeof *x->labels);
    x->labels[x->nlabels] = (label){.p = p, .n = n, .line = x->t.line, .scope = x->scope};
    return x->nlabels++;
}

insn *emit(parser *x, const insn *in) {
    fn_code *f = x->f;
    if (f->n == MAX_INSNS)
        fail(x, "function %s has more than %d instructions", f->name, MAX_INSNS);
    f->code = grow(x, f->code, f->n, &f->room, sizeof *f->code);
    f->code[f->n] = *in;
    return &f->code[f->n++];
}

// declare reads a .reg, .local, .shared or .param within a body.
static void declare(parser *x, symbol_kind k) {
    uint64_t align = 0, size;
    type t = T_NONE;
    while (x->t.kind == K_WORD && *x->t.p == '.') {
        if (skip_word(x, ".align")) {
            align = expect_int(x);
            if (!align || align & (align - 1) || align > 4096)
                fail(x, "alignment %llu", (unsigned long long)align);
            continue;
        }
        char s[16] = "";
        if (x->t.n < 16)
            memcpy(s, x->t.p + 1, (size_t)x->t.n - 1);
        t = type_named(s);
        if (t == T_NONE || (k == Y_REG && t == T_B128))
            fail(x, "type %.*s is not known to the double", x->t.n > 40 ? 40 : x->t.n, x->t.p);
        next(x);
    }
    do {
        if (x->t.kind != K_WORD || t == T_NONE)
            fail(x, "a type and a name are expected");
        symbol *s = new_symbol(x, k, x->t.p, x->t.n, t);
        next(x);
        s->count = 1;
        size = (uint64_t)width_of(t);
        if (accept(x, '<')) {
            uint64_t n = expect_int(x);
            if (!n || n > MAX_REGISTERS)
                fail(x, "%llu registers, more than %d", (unsigned long long)n, MAX_REGISTERS);
            s->count = (uint32_t)n;
            s->range = true;
            expect(x, '>');
        }
        while (accept(x, '[')) {
            uint64_t n = expect_int(x);
            expect(x, ']');
            if (n > MAX_VARIABLE || size * n > MAX_VARIABLE)
                fail(x, "a variable of more than %zu bytes", MAX_VARIABLE);
            size *= n;
        }
        s->size = (uint32_t)size;
        uint32_t a = align ? (uint32_t)align : (uint32_t)width_of(t);
        fn_code *f = x->f;
        if (k == Y_LOCAL) {
            if (size > 512 << 10)
                fail(x, "%.*s has %llu bytes of local memory, more than 512 KiB", s->n, s->p, (unsigned long long)size);
            s->offset = (f->local + a - 1) & ~(a - 1);
            f->local = s->offset + (uint32_t)size;
        } else if (k == Y_SHARED) {
            s->offset = (x->m->shared_top + a - 1) & ~(a - 1);
            x->m->shared_top = s->offset + (uint32_t)size;
            f->shared += (uint32_t)size;
        } else if (k == Y_PARCEL) {
            if (size > 4096)
                fail(x, "a parameter of more than 4096 bytes");
            s->size = (uint32_t)(size + 7) & ~7u;
            s->offset = new_row(x, (int)s->size);
        }
    } while (accept(x, ','));
    expect(x, ';');
}

static void read_mnemonic(parser *x, inst *s) {
    if (x->t.n >= (int)sizeof s->text)
        fail(x, "an instruction is expected");
    memcpy(s->text, x->t.p, (size_t)x->t.n);
    s->text[x->t.n] = 0;
    next(x);
}

static void read_instruction(parser *x) {
    static const insn none;
    inst s = {.x = x, .in = none};
    s.in.line = (uint32_t)x->t.line;
    if (accept(x, '@')) {
        bool negated = accept(x, '!');
        operand p = read_name(x);
        if (p.kind != O_REG || p.t != T_PRED)
            fail(x, "a predicate is expected after @");
        s.in.pred = p.at;
        if (negated)
            s.in.flags |= I_NEGATED;
    }
    if (x->t.kind != K_WORD)
        fail(x, "an instruction is expected");
    read_mnemonic(x, &s);
    if (!strncmp(s.text, "call", 4) && (!s.text[4] || s.text[4] == '.')) {
        read_call(x, &s.in, s.text);
        return;
    }
    if (!strncmp(s.text, "brx.idx", 7)) {
        read_indexed(x, &s.in);
        return;
    }
    if (!strcmp(s.text, "bra") || !strcmp(s.text, "bra.uni")) {
        if (x->t.kind != K_WORD)
            fail(x, "a label is expected");
        s.in.control = C_BRA;
        x->patches = grow(x, x->patches, x->npatches, &x->patchroom, sizeof *x->patches);
        int to = label_for(x, x->t.p, x->t.n);
        x->patches[x->npatches++] = (patch){.insn = (uint32_t)x->f->n, .label = to};
        emit(x, &s.in);
        next(x);
        expect(x, ';');
        return;
    }
    while (!is_punct(x, ';')) {
        if (s.n == MAX_OPERANDS)
            fail(x, "%s has more than %d operands", s.text, MAX_OPERANDS);
        s.o[s.n++] = read_operand(x);
        if (!accept(x, ','))
            break;
    }
    int line = x->t.line;
    expect(x, ';');
    token t = x->t;
    x->t.line = line; // a failure is the instruction's
    decode(x, &s);
    x->t = t;
}

static void read_targets(parser *x, const char *p, int n) {
    fn_code *f = x->f;
    x->tgts = realloc(x->tgts, (size_t)(x->ntgts + 1) * sizeof *x->tgts);
    if (!x->tgts)
        fail(x, "out of memory");
    targets *t = &x->tgts[x->ntgts++];
    *t = (targets){.p = p, .n = n, .first = f->ntables};
    do {
        int room = (int)x->tableroom;
        f->tables = grow(x, f->tables, f->ntables, &room, sizeof *f->tables);
        x->tableroom = (uint32_t)room;
        x->patches = grow(x, x->patches, x->npatches, &x->patchroom, sizeof *x->patches);
        int to = label_for(x, x->t.p, x->t.n);
        x->patches[x->npatches++] = (patch){.insn = (uint32_t)f->ntables++, .table = true, .label = to};
        t->count++;
        next(x);
    } while (accept(x, ','));
    expect(x, ';');
}

static void read_block(parser *x);

static void read_statement(parser *x) {
    if (is_punct(x, '{')) {
        read_block(x);
        return;
    }
    if (skip_word(x, ".reg")) {
        declare(x, Y_REG);
    } else if (skip_word(x, ".local")) {
        declare(x, Y_LOCAL);
    } else if (skip_word(x, ".shared")) {
        declare(x, Y_SHARED);
    } else if (skip_word(x, ".param")) {
        declare(x, Y_PARCEL);
    } else if (skip_word(x, ".loc")) {
        expect_int(x);
        expect_int(x);
        expect_int(x);
        // function_name and inlined_at follow after commas.
        while (accept(x, ',')) {
            next(x);
            while (x->t.kind == K_INT || is_punct(x, '+') || (x->t.kind == K_WORD && *x->t.p == '$'))
                next(x);
        }
    } else if (skip_word(x, ".pragma")) {
        next(x);
        expect(x, ';');
    } else if (x->t.kind == K_WORD && *x->t.p != '.') {
        // A label, or an instruction.
        const char *p = x->p;
        while (p < x->end && (*p == ' ' || *p == '\t'))
            p++;
        if (p < x->end && *p == ':' && !(p + 1 < x->end && p[1] == ':')) {
            const char *name = x->t.p;
            int n = x->t.n;
            next(x);
            next(x);
            if (skip_word(x, ".branchtargets")) {
                read_targets(x, name, n);
                return;
            }
            int number = label_for(x, name, n); // may move the labels
            label *l = &x->labels[number];
            if (l->defined && l->scope == x->scope)
                fail(x, "label %.*s is there twice", n, name);
            if (l->defined) { // one of an inner or outer scope: another label
                x->labels = grow(x, x->labels, x->nlabels, &x->labelroom, sizeof *x->labels);
                l = &x->labels[x->nlabels++];
                *l = (label){.p = name, .n = n, .line = x->t.line};
            }
            l->defined = true;
            l->scope = x->scope;
            l->pc = (uint32_t)x->f->n;
            return;
        }
        read_instruction(x);
    } else if (is_punct(x, '@')) {
        read_instruction(x);
    } else if (!accept(x, ';')) {
        if (x->t.kind == K_WORD)
            fail(x, "directive %.*s is not known to the double", x->t.n > 60 ? 60 : x->t.n, x->t.p);
        fail(x, "an instruction is expected");
    }
}

static void read_block(parser *x) {
    expect(x, '{');
    if (++x->scope > 64)
        fail(x, "blocks within blocks, more than 64 deep");
    int first = x->nsyms;
    while (!accept(x, '}')) {
        if (x->t.kind == K_END)
            fail(x, "the end within a body");
        read_statement(x);
    }
    x->scope--;
    for (int i = first; i < x->nsyms; i++)
        free(x->syms[i].at);
    x->nsyms = first;
    // Labels of the block cannot be reached from outside of it.
    for (int i = 0; i < x->nlabels; i++)
        if (x->labels[i].defined && x->labels[i].scope > x->scope)
            x->labels[i].n = -x->labels[i].n; // known by number alone
}

void read_body(parser *x, fn_code *f) {
    x->f = f;
    x->tableroom = 0;
    read_block(x);
    // Whoever runs off the end returns.
    insn last = {.control = f->entry ? C_EXIT : C_RET, .line = (uint32_t)x->t.line};
    emit(x, &last);
    // Groups of lanes meet where a branch can lead, and after what parts them.
    for (int i = 0; i + 1 < f->n; i++)
        if (f->code[i].control)
            f->code[i + 1].flags |= I_LEADER;
    for (int i = 0; i < x->npatches; i++) {
        const label *l = &x->labels[x->patches[i].label];
        if (!l->defined) {
            x->t.line = l->line;
            fail(x, "label %.*s is nowhere", l->n < 0 ? -l->n : l->n, l->p);
        }
        if (x->patches[i].table)
            f->tables[x->patches[i].insn] = l->pc;
        else
            f->code[x->patches[i].insn].target = l->pc;
        f->code[l->pc].flags |= I_LEADER;
    }
}
