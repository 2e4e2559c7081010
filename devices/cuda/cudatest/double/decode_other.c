// Barriers, ends, and what the lanes of a warp do with each other.
#include "ptx.h"
#include <string.h>

static void leave_function(inst *s) {
    has(s, "uni");
    bool out = !strcmp(s->part[0], "exit") || s->x->f->entry;
    want(s, 0, 0);
    s->in.control = out ? C_EXIT : C_RET;
    finish(s, L_nop);
}

static void trap(inst *s) {
    want(s, 0, 0);
    s->in.control = C_TRAP;
    finish(s, L_nop);
}

static void ignored(inst *s) {
    for (int i = 1; i < s->nparts; i++)
        s->used[i] = true;
    finish(s, L_nop);
}

// synced makes the instruction wait for the lanes of a mask, operand k.
static void synced(inst *s, int k) {
    s->in.control = C_SYNC;
    s->in.flags |= I_LEADER;
    s->in.e = source(s, k, 4);
}

// In op: 0 sync, 1 arrive, 2 red.popc, 3 red.and, 4 red.or.
static void bar(inst *s) {
    insn *in = &s->in;
    if (has(s, "warp")) {
        if (!has(s, "sync"))
            unknown(s);
        want(s, 1, 1);
        synced(s, 0);
        finish(s, L_nop);
        return;
    }
    has(s, "cta");
    has(s, "aligned");
    s->x->f->barrier = true;
    in->control = C_BAR;
    in->flags |= I_LEADER;
    int first = 0;
    if (has(s, "red")) {
        static const char *const names[] = {"popc", "and", "or", NULL};
        static const int values[] = {2, 3, 4};
        in->op = (uint8_t)one_of(s, names, values);
        if (!in->op)
            unknown(s);
        want(s, 3, 4);
        in->d = target(s, 0, in->op == 2 ? 4 : 0);
        in->c = predicate(s, s->n - 1);
        if (s->o[s->n - 1].negated)
            in->flags |= I_NOT;
        s->n--;
        first = 1;
    } else if (has(s, "arrive")) {
        in->op = 1;
        want(s, 2, 2);
    } else if (has(s, "sync")) {
        want(s, 1, 2);
    } else {
        unknown(s);
    }
    in->a = source(s, first, 4);
    if (s->n > first + 1)
        in->b = source(s, first + 1, 4);
    finish(s, L_nop);
}

static void shfl(inst *s) {
    static const char *const names[] = {"up", "down", "bfly", "idx", NULL};
    static const int values[] = {SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX};
    bool sync = has(s, "sync");
    s->in.op = (uint8_t)one_of(s, names, values);
    if (!s->in.op || s->ntypes != 1 || width_of(s->types[0]) != 4)
        unknown(s);
    want(s, sync ? 5 : 4, sync ? 5 : 4);
    s->in.d = target(s, 0, 4);
    s->in.d2 = s->o[0].at2;
    s->in.a = source(s, 1, 4);
    s->in.b = source(s, 2, 4);
    s->in.c = source(s, 3, 4);
    if (sync)
        synced(s, 4);
    finish(s, L_shfl);
}

static void vote(inst *s) {
    static const char *const names[] = {"all", "any", "uni", "ballot", NULL};
    static const int values[] = {VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT};
    bool sync = has(s, "sync");
    s->in.op = (uint8_t)one_of(s, names, values);
    if (!s->in.op || s->ntypes != 1)
        unknown(s);
    want(s, sync ? 3 : 2, sync ? 3 : 2);
    s->in.d = target(s, 0, s->in.op == VOTE_BALLOT ? 4 : 0);
    if (s->o[1].kind == O_INT)
        s->in.a = source(s, 1, 0);
    else
        s->in.a = predicate(s, 1);
    if (s->o[1].negated)
        s->in.flags |= I_NOT;
    if (sync)
        synced(s, 2);
    finish(s, L_vote);
}

static void match(inst *s) {
    bool all = has(s, "all");
    if ((!all && !has(s, "any")) || !has(s, "sync") || s->ntypes != 1 || width_of(s->types[0]) < 4)
        unknown(s);
    want(s, 3, 3);
    s->in.op = all;
    s->in.sw = (uint8_t)width_of(s->types[0]);
    s->in.d = target(s, 0, 4);
    s->in.d2 = s->o[0].at2;
    s->in.a = source(s, 1, s->in.sw);
    synced(s, 2);
    finish(s, L_match);
}

static void redux(inst *s) {
    static const char *const names[] = {"add", "min", "max", "and", "or", "xor", NULL};
    static const int values[] = {A_ADD, A_MIN, A_MAX, A_AND, A_OR, A_XOR};
    s->in.op = (uint8_t)one_of(s, names, values);
    if (!s->in.op || !has(s, "sync") || s->ntypes != 1 || width_of(s->types[0]) != 4 || s->types[0] == T_F32)
        unknown(s);
    want(s, 3, 3);
    s->in.dt = (uint8_t)s->types[0];
    s->in.d = target(s, 0, 4);
    s->in.a = source(s, 1, 4);
    synced(s, 2);
    finish(s, L_redux);
}

static void activemask(inst *s) {
    want(s, 1, 1);
    s->in.d = target(s, 0, 4);
    finish(s, L_activemask);
}

static void elect(inst *s) {
    if (!has(s, "sync"))
        unknown(s);
    want(s, 2, 2);
    s->in.d = s->o[0].kind == O_REG ? target(s, 0, 4) : 0;
    if (!(s->in.d2 = s->o[0].at2))
        unknown(s);
    synced(s, 1);
    finish(s, L_elect);
}

decoder decode_other(const char *op) {
    static const struct { const char *op; decoder d; } names[] = {
        {"ret", leave_function}, {"exit", leave_function}, {"trap", trap}, {"brkpt", ignored}, {"nanosleep", ignored}, {"pmevent", ignored},
        {"griddepcontrol", ignored}, {"bar", bar}, {"barrier", bar}, {"shfl", shfl}, {"vote", vote}, {"match", match}, {"redux", redux},
        {"activemask", activemask}, {"elect", elect}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(op, names[i].op))
            return names[i].d;
    return NULL;
}
