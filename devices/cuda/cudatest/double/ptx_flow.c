// Calls and indexed branches.
#include "ptx.h"
#include <stdlib.h>
#include <string.h>

static parcel read_parcel(parser *x) {
    symbol *s = x->t.kind == K_WORD ? symbol_named(x, x->t.p, x->t.n) : NULL;
    if (!s || s->kind != Y_PARCEL)
        fail(x, "an argument of a call that is not a .param variable is not known to the double");
    next(x);
    return (parcel){s->offset, s->size};
}

// read_call reads call[.uni] [(result),] name [, (arguments)];
void read_call(parser *x, const insn *base, const char *mnemonic) {
    fn_code *f = x->f;
    call_record c = {0};
    if (strcmp(mnemonic, "call") && strcmp(mnemonic, "call.uni"))
        fail(x, "%s is not known to the double", mnemonic);
    if (accept(x, '(')) {
        if (!is_punct(x, ')'))
            c.ret = read_parcel(x);
        if (!is_punct(x, ')'))
            fail(x, "more than one result");
        expect(x, ')');
        expect(x, ',');
    }
    if (x->t.kind != K_WORD)
        fail(x, "the name of a function is expected");
    const char *p = x->t.p;
    int n = x->t.n;
    c.callee = function_named(x->m, p, n);
    if (!c.callee)
        fail(x, "a call of %.*s, which is no function (calls through registers are not known to the double)", n, p);
    if (!c.callee->defined) {
        if (!strcmp(c.callee->name, "vprintf"))
            c.builtin = B_VPRINTF;
        else if (!strcmp(c.callee->name, "__assertfail"))
            c.builtin = B_ASSERT;
        else
            fail(x, "a call of %s, which is not defined", c.callee->name);
        c.callee = NULL;
    } else if (c.callee->entry) {
        fail(x, "a call of the kernel %s", c.callee->name);
    }
    next(x);
    if (accept(x, ',')) {
        expect(x, '(');
        while (!accept(x, ')')) {
            if (c.nargs == 64)
                fail(x, "more than 64 arguments");
            c.args[c.nargs++] = read_parcel(x);
            accept(x, ',');
        }
    }
    while (!is_punct(x, ';')) { // the prototype of an indirect call
        if (x->t.kind == K_END)
            fail(x, "the end within a call");
        next(x);
    }
    expect(x, ';');
    call_record *calls = realloc(f->calls, (size_t)(f->ncalls + 1) * sizeof *calls);
    if (!calls)
        fail(x, "out of memory");
    f->calls = calls;
    calls[f->ncalls] = c;
    insn in = *base;
    in.control = C_CALL;
    in.target = (uint32_t)f->ncalls++;
    emit(x, &in);
}

// read_indexed reads brx.idx index, targets;
void read_indexed(parser *x, const insn *base) {
    insn in = *base;
    operand index = read_operand(x);
    expect(x, ',');
    if (index.kind != O_REG || width_of(index.t) != 4 || x->t.kind != K_WORD)
        fail(x, "brx.idx takes a register of 32 bits and a list of labels");
    for (int i = x->ntgts - 1; i >= 0; i--) {
        if (x->tgts[i].n != x->t.n || memcmp(x->tgts[i].p, x->t.p, (size_t)x->t.n))
            continue;
        next(x);
        expect(x, ';');
        in.control = C_BRX;
        in.a = index.at;
        in.target = (uint32_t)x->tgts[i].first;
        in.imm = x->tgts[i].count;
        emit(x, &in);
        return;
    }
    fail(x, "no .branchtargets %.*s before the branch", x->t.n, x->t.p);
}
