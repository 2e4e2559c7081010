// What a module declares: version, variables, functions with their parameters.
#include "ptx.h"
#include <stdlib.h>
#include <string.h>

fn_code *function_named(module *m, const char *p, int n) {
    for (int i = 0; i < m->nfns; i++)
        if ((int)strlen(m->fns[i]->name) == n && !memcmp(m->fns[i]->name, p, (size_t)n))
            return m->fns[i];
    return NULL;
}

variable *variable_named(module *m, const char *p, int n) {
    for (int i = 0; i < m->nvars; i++)
        if ((int)strlen(m->vars[i].name) == n && !memcmp(m->vars[i].name, p, (size_t)n))
            return &m->vars[i];
    return NULL;
}

static type read_type(parser *x) {
    char s[16];
    if (x->t.kind != K_WORD || x->t.n < 2 || x->t.n > 15 || *x->t.p != '.')
        fail(x, "a type is expected");
    memcpy(s, x->t.p + 1, (size_t)x->t.n - 1);
    s[x->t.n - 1] = 0;
    type t = type_named(s);
    if (t == T_NONE)
        fail(x, "type .%s is not known to the double", s);
    next(x);
    return t;
}

static uint64_t power_of_two(parser *x, uint64_t v) {
    if (!v || v & (v - 1) || v > 4096)
        fail(x, "alignment %llu", (unsigned long long)v);
    return v;
}

// A declaration's common part: [.align n] [.v2] .type name [dims].
typedef struct {
    const char *p;
    int n;
    type t;
    uint64_t align, size;
    bool open; // name[]
} declared;

static declared read_declared(parser *x) {
    declared d = {0};
    uint64_t vector = 1;
    for (;;) {
        if (skip_word(x, ".align")) {
            d.align = power_of_two(x, expect_int(x));
        } else if (skip_word(x, ".attribute")) {
            expect(x, '(');
            while (!accept(x, ')')) {
                if (x->t.kind == K_END)
                    fail(x, "the end within an attribute");
                next(x);
            }
        } else if (skip_word(x, ".v2")) {
            vector = 2;
        } else if (skip_word(x, ".v4")) {
            vector = 4;
        } else if (skip_word(x, ".ptr")) {
            // What a pointer parameter points to is of no use here.
            while (skip_word(x, ".global") || skip_word(x, ".const") || skip_word(x, ".shared") || skip_word(x, ".local"))
                ;
            if (skip_word(x, ".align"))
                expect_int(x);
        } else if (d.t == T_NONE && x->t.kind == K_WORD && *x->t.p == '.') {
            d.t = read_type(x);
        } else {
            break;
        }
    }
    if (d.t == T_NONE || x->t.kind != K_WORD)
        fail(x, "a type and a name are expected");
    d.p = x->t.p;
    d.n = x->t.n;
    next(x);
    d.size = (uint64_t)width_of(d.t) * vector;
    if (!d.align)
        d.align = d.size ? d.size : 1;
    while (accept(x, '[')) {
        if (accept(x, ']')) {
            d.open = true;
            continue;
        }
        uint64_t n = expect_int(x);
        expect(x, ']');
        if (n > MAX_VARIABLE || d.size * n > MAX_VARIABLE)
            fail(x, "%.*s has more than %zu bytes", d.n, d.p, MAX_VARIABLE);
        d.size *= n;
    }
    return d;
}

static void read_value(parser *x, variable *v, type t, uint64_t *at) {
    int width = width_of(t);
    if (accept(x, '{')) {
        while (!accept(x, '}')) {
            read_value(x, v, t, at);
            accept(x, ',');
        }
        return;
    }
    if (*at + (uint64_t)width > v->size)
        fail(x, "more values than %s has room for", v->name);
    if (x->t.kind == K_WORD) {
        bool generic = skip_word(x, "generic");
        if (generic)
            expect(x, '(');
        if (x->t.kind != K_WORD || width != 8)
            fail(x, "the value of a variable is no number");
        v->fixes = realloc(v->fixes, (size_t)(v->nfixes + 1) * sizeof *v->fixes);
        if (!v->fixes)
            fail(x, "out of memory");
        v->fixes[v->nfixes].at = (uint32_t)*at;
        v->fixes[v->nfixes].add = 0;
        v->fixes[v->nfixes].symbol = keep(x, x->t.p, x->t.n);
        int k = v->nfixes++;
        next(x);
        if (generic)
            expect(x, ')');
        if (accept(x, '+'))
            v->fixes[k].add = (int64_t)expect_int(x);
        *at += 8;
        return;
    }
    bool minus = accept(x, '-');
    if (x->t.kind != K_INT && x->t.kind != K_F32 && x->t.kind != K_F64)
        fail(x, "the value of a variable is no number");
    uint64_t bits = x->t.bits;
    if (x->t.kind == K_F64 && t == T_F32) {
        double d;
        memcpy(&d, &bits, 8);
        float f = (float)(minus ? -d : d);
        bits = 0;
        memcpy(&bits, &f, 4);
    } else if (minus && x->t.kind == K_INT) {
        bits = -bits;
    } else if (minus) {
        bits ^= (uint64_t)1 << (width * 8 - 1);
    }
    next(x);
    memcpy(v->init + *at, &bits, (size_t)width);
    *at += (uint64_t)width;
}

static void read_variable(parser *x, space sp, bool external) {
    module *m = x->m;
    do {
        declared d = read_declared(x);
        m->vars = grow(x, m->vars, m->nvars, &m->varroom, sizeof *m->vars);
        variable *old = variable_named(m, d.p, d.n);
        variable *v = old && old->is_extern ? old : &m->vars[m->nvars];
        if (old && !old->is_extern && !external)
            fail(x, "%s is declared twice", old->name);
        if (!old) {
            m->nvars++;
            v->name = keep(x, d.p, d.n);
        }
        v->space = sp;
        v->align = (uint32_t)d.align;
        v->size = (uint32_t)d.size;
        v->is_extern = external;
        if (sp == SP_SHARED) {
            if (!external) {
                m->shared_top = (m->shared_top + v->align - 1) & ~(v->align - 1);
                v->address = m->shared_top;
                m->shared_top += v->size;
            }
        } else if (!external) {
            v->init = calloc(1, (size_t)v->size + 1);
            if (!v->init)
                fail(x, "out of memory");
            if (accept(x, '=')) {
                uint64_t at = 0;
                read_value(x, v, d.t, &at);
            }
        }
    } while (accept(x, ','));
    expect(x, ';');
}

// read_params reads what stands in parentheses. Of a kernel it lays the bytes
// out; while a body is decoded (declare) the names become symbols.
static void read_params(parser *x, fn_code *f, bool result, bool declare) {
    expect(x, '(');
    while (!accept(x, ')')) {
        if (!skip_word(x, ".param"))
            fail(x, "parameters in registers are not known to the double");
        declared d = read_declared(x);
        uint32_t at = 0;
        if (f->entry) {
            at = (f->params + (uint32_t)d.align - 1) & ~((uint32_t)d.align - 1);
            if (at + d.size > MAX_PARAMS)
                fail(x, "parameters of more than %d bytes", MAX_PARAMS);
            f->params = at + (uint32_t)d.size;
            if (!declare) {
                f->param_at = realloc(f->param_at, (size_t)(f->nparams + 1) * sizeof *f->param_at);
                f->param_size = realloc(f->param_size, (size_t)(f->nparams + 1) * sizeof *f->param_size);
                if (!f->param_at || !f->param_size)
                    fail(x, "out of memory");
                f->param_at[f->nparams] = at;
                f->param_size[f->nparams] = (uint32_t)d.size;
                f->nparams++;
            }
        } else if (d.size > 4096) {
            fail(x, "parameter %.*s has more than 4096 bytes", d.n, d.p);
        }
        if (declare) {
            symbol *s = new_symbol(x, f->entry ? Y_PARAM : Y_PARCEL, d.p, d.n, d.t);
            s->size = (uint32_t)d.size;
            s->offset = at;
            if (!f->entry) {
                s->offset = new_row(x, (int)((d.size + 7) & ~7u));
                parcel p = {s->offset, (uint32_t)((d.size + 7) & ~7u)};
                if (result)
                    f->ret = p;
                else if (f->nformals < 64)
                    f->formals[f->nformals++] = p;
                else
                    fail(x, "more than 64 parameters");
            }
        }
        accept(x, ',');
    }
}

static fn_code *new_function(parser *x, const char *p, int n, bool entry) {
    module *m = x->m;
    fn_code *f = function_named(m, p, n);
    if (f)
        return f;
    fn_code **fns = realloc(m->fns, (size_t)(m->nfns + 1) * sizeof *fns);
    if (!fns)
        fail(x, "out of memory");
    m->fns = fns;
    f = calloc(1, sizeof *f);
    if (!f)
        fail(x, "out of memory");
    m->fns[m->nfns++] = f;
    f->name = keep(x, p, n);
    f->entry = entry;
    f->frame = LANES * 2; // no register is at 0
    f->ptx_version = m->version;
    f->sm = m->sm;
    return f;
}

// read_header reads from the return parameters to the directives before the
// body, and leaves { or ; as the token.
static fn_code *read_header(parser *x, bool entry, bool declare) {
    const char *results = NULL;
    int line = 0;
    if (is_punct(x, '(')) { // they come before the name of what they belong to
        results = x->t.p;
        line = x->t.line;
        while (!accept(x, ')')) {
            if (x->t.kind == K_END)
                fail(x, "the end within parameters");
            next(x);
        }
    }
    if (x->t.kind != K_WORD)
        fail(x, "the name of a function is expected");
    fn_code *f = new_function(x, x->t.p, x->t.n, entry);
    next(x);
    if (declare)
        x->f = f;
    if (results) {
        const char *p = x->p;
        token t = x->t;
        int l = x->line;
        x->p = results;
        x->line = line;
        next(x);
        read_params(x, f, true, declare);
        x->p = p;
        x->t = t;
        x->line = l;
    }
    f->params = 0;
    if (!declare)
        f->nparams = 0;
    if (is_punct(x, '('))
        read_params(x, f, false, declare);
    while (x->t.kind == K_WORD) {
        static const char *const sized[] = {".reqntid", ".maxntid", ".minnctapersm", ".maxnreg", ".maxnctapersm", ".reqnctapercluster", ".maxclusterrank"};
        bool known = skip_word(x, ".noreturn") || skip_word(x, ".explicitcluster") || skip_word(x, ".blocksareclusters");
        for (size_t i = 0; i < sizeof sized / sizeof *sized && !known; i++) {
            if (!skip_word(x, sized[i]))
                continue;
            known = true;
            int *to = i == 0 ? f->reqntid : f->maxntid, v[3] = {1, 1, 1};
            for (int k = 0; k < 3; k++) {
                v[k] = (int)expect_int(x);
                if (!accept(x, ','))
                    break;
            }
            if (i < 2)
                memcpy(to, v, sizeof v);
        }
        if (!known && skip_word(x, ".pragma")) {
            next(x);
            accept(x, ';');
            known = true;
        }
        if (!known)
            fail(x, "directive %.*s is not known to the double", x->t.n, x->t.p);
    }
    return f;
}

static void skip_braces(parser *x) {
    expect(x, '{');
    for (int depth = 1; depth;) {
        if (x->t.kind == K_END)
            fail(x, "the end within a body");
        depth += is_punct(x, '{') - is_punct(x, '}');
        next(x);
    }
}

static void read_module(parser *x) {
    module *m = x->m;
    next(x);
    if (!is(x, ".version"))
        fail(x, "PTX begins with .version");
    next(x);
    double v = 0;
    if (x->t.kind == K_F64)
        memcpy(&v, &x->t.bits, 8);
    else if (x->t.kind == K_INT)
        v = (double)x->t.bits;
    if (v < 1 || v > 20)
        fail(x, "a version is expected");
    m->version = (int)(v * 10 + 0.5);
    next(x);
    bool external = false;
    while (x->t.kind != K_END) {
        if (skip_word(x, ".target")) {
            if (x->t.kind != K_WORD || x->t.n < 5 || memcmp(x->t.p, "sm_", 3))
                fail(x, "a target sm_NN is expected");
            m->sm = atoi(x->t.p + 3);
            next(x);
            while (accept(x, ','))
                next(x);
        } else if (skip_word(x, ".address_size")) {
            if (expect_int(x) != 64)
                fail(x, "addresses have 64 bits");
        } else if (skip_word(x, ".file")) {
            expect_int(x);
            next(x);
            while (accept(x, ','))
                expect_int(x);
        } else if (skip_word(x, ".section")) {
            next(x);
            skip_braces(x);
        } else if (skip_word(x, ".pragma")) {
            next(x);
            expect(x, ';');
        } else if (skip_word(x, ".visible") || skip_word(x, ".weak") || skip_word(x, ".common")) {
            continue; // and forget no .extern before it
        } else if (skip_word(x, ".extern")) {
            external = true;
            continue;
        } else if (skip_word(x, ".global")) {
            read_variable(x, SP_GLOBAL, external);
        } else if (skip_word(x, ".const")) {
            read_variable(x, SP_CONST, external);
        } else if (skip_word(x, ".shared")) {
            read_variable(x, SP_SHARED, external);
        } else if (is(x, ".func") || is(x, ".entry")) {
            bool entry = is(x, ".entry");
            const char *at = x->p;
            int line = x->line;
            next(x);
            fn_code *f = read_header(x, entry, false);
            if (!accept(x, ';')) {
                if (f->defined)
                    fail(x, "%s is defined twice", f->name);
                f->defined = true;
                f->body = (size_t)(at - x->text);
                f->body_line = line;
                skip_braces(x);
            }
        } else if (!accept(x, ';')) {
            if (x->t.kind == K_WORD)
                fail(x, "directive %.*s is not known to the double", x->t.n > 60 ? 60 : x->t.n, x->t.p);
            fail(x, "a directive is expected");
        }
        external = false;
    }
    if (!m->sm)
        fail(x, "PTX without .target");
}

static bool with(parser *x, void (*read)(parser *)) {
    jmp_buf out;
    x->out = &out;
    bool ok = !setjmp(out);
    if (ok)
        read(x);
    for (int i = 0; i < x->nsyms; i++)
        free(x->syms[i].at);
    free(x->syms);
    free(x->labels);
    free(x->patches);
    free(x->tgts);
    return ok;
}

bool scan_ptx(const char *text, size_t size, module *m, char *said, size_t room) {
    parser x = {.text = text, .p = text, .end = text + size, .line = 1, .m = m, .said = said, .room = room};
    if (size > MAX_PTX) {
        snprintf(said, room, "PTX of %zu bytes, more than %zu", size, MAX_PTX);
        return false;
    }
    return with(&x, read_module);
}

static void read_bodies(parser *x) {
    for (int i = 0; i < x->m->nfns; i++) {
        fn_code *f = x->m->fns[i];
        if (!f->defined)
            continue;
        x->p = x->text + f->body;
        x->line = f->body_line;
        next(x);
        for (int k = 0; k < x->nsyms; k++)
            free(x->syms[k].at);
        x->nsyms = x->nlabels = x->npatches = x->ntgts = x->scope = 0;
        read_header(x, f->entry, true);
        read_body(x, f);
    }
    // The dynamic shared memory comes after all that is static.
    uint32_t dynamic = (x->m->shared_top + 15) & ~15u;
    x->m->extern_shared = dynamic;
    for (int i = 0; i < x->m->nfns; i++)
        for (int k = 0; k < x->m->fns[i]->nconsts; k++)
            if (x->m->fns[i]->consts[k].of == CONST_DYNAMIC)
                x->m->fns[i]->consts[k].bits += dynamic;
}

bool decode_ptx(const char *text, size_t size, module *m, char *said, size_t room) {
    parser x = {.text = text, .p = text, .end = text + size, .line = 1, .m = m, .said = said, .room = room};
    return with(&x, read_bodies);
}

void drop_code(module *m) {
    for (int i = 0; i < m->nfns; i++) {
        fn_code *f = m->fns[i];
        free(f->name);
        free(f->code);
        free(f->consts);
        free(f->calls);
        free(f->tables);
        free(f->param_at);
        free(f->param_size);
        free(f);
    }
    free(m->fns);
    for (int i = 0; i < m->nvars; i++) {
        for (int k = 0; k < m->vars[i].nfixes; k++)
            free(m->vars[i].fixes[k].symbol);
        free(m->vars[i].fixes);
        free(m->vars[i].name);
        free(m->vars[i].init);
    }
    free(m->vars);
    m->fns = NULL;
    m->vars = NULL;
    m->nfns = m->nvars = 0;
}

// measure adds up the registers and the local memory of f and the deepest
// chain of calls from it.
void measure(fn_code *f) {
    if (f->measured)
        return;
    if (f->visiting) {
        f->recursive = true;
        return;
    }
    f->visiting = true;
    uint32_t frames = 0, locals = 0;
    for (int i = 0; i < f->ncalls; i++) {
        fn_code *g = f->calls[i].callee;
        if (!g)
            continue;
        measure(g);
        f->recursive |= g->recursive || g->visiting;
        f->barrier |= g->barrier;
        bool before = false;
        for (int k = 0; k < i; k++)
            before |= f->calls[k].callee == g;
        if (!before)
            f->shared += g->shared;
        frames = g->frames > frames ? g->frames : frames;
        locals = g->locals > locals ? g->locals : locals;
    }
    f->frames = f->frame + frames;
    f->locals = ((f->local + 15) & ~15u) + locals;
    f->visiting = false;
    f->measured = true;
}
