// The loop that executes a warp. Lanes that part become groups; the group at
// the lowest instruction goes first, so that they meet again. Registers,
// groups and local memory of a function are a frame; calls push one.
#include "interp.h"
#include "lanes.h"

// How many loops a group may take while others wait: one that spins for a lock
// has to let its holder go on.
#define PATIENCE 1024
#define TURN 4096

static void fill(char *row, uint64_t v, int width) {
    switch (width) {
    case 0:
        memset(row, (int)v, LANES);
        return;
    case 2:
        for (int i = 0; i < LANES; i++)
            ((uint16_t *)row)[i] = (uint16_t)v;
        return;
    case 4:
        for (int i = 0; i < LANES; i++)
            ((uint32_t *)row)[i] = (uint32_t)v;
        return;
    default:
        for (int i = 0; i < LANES; i++)
            ((uint64_t *)row)[i] = v;
    }
}

static void fill_ids(warp *w, const fn_code *fn) {
    const unsigned *dim = w->grid->launch->block;
    unsigned t = (unsigned)w->number * LANES, x = t % dim[0], y = t / dim[0] % dim[1], z = t / dim[0] / dim[1];
    bool line = dim[1] == 1 && dim[2] == 1;
    uint32_t id[3][LANES] = {{0}};
    for (unsigned i = 0; i < LANES; i++) {
        id[0][i] = line ? t + i : x;
        if (line)
            continue;
        id[1][i] = y;
        id[2][i] = z;
        if (++x == dim[0]) {
            x = 0;
            if (++y == dim[1]) {
                y = 0;
                z++;
            }
        }
    }
    for (int k = 0; k < 3; k++)
        if (fn->special[S_TIDX + k])
            memcpy(w->regs + fn->special[S_TIDX + k], id[k], sizeof id[k]);
}

static uint32_t lane_mask(int k, uint32_t i) {
    switch (k) {
    case S_LANE: return i;
    case S_LT: return (1u << i) - 1;
    case S_LE: return (2u << i) - 1;
    case S_EQ: return 1u << i;
    case S_GE: return ~((1u << i) - 1);
    default: return ~((2u << i) - 1);
    }
}

// start_frame fills the special registers of the topmost frame that differ
// between warps, and with everything those and the constants that are the same
// for the whole launch.
void start_frame(warp *w, const frame *f, bool everything) {
    const fn_code *fn = f->fn;
    const launch *l = w->grid->launch;
    w->regs = w->stack + f->at;
    for (int i = 0; i < fn->nconsts && everything; i++) {
        const constant *c = &fn->consts[i];
        fill(w->regs + c->at, c->bits + (c->of == CONST_LOCAL ? f->local : 0), c->width);
    }
    if (fn->special[S_TIDX] || fn->special[S_TIDY] || fn->special[S_TIDZ])
        fill_ids(w, fn);
    for (int k = S_NTIDX; k < S_COUNT; k++) {
        bool varies = k == S_WARP || (k >= S_CTAX && k <= S_CTAZ);
        if (!fn->special[k] || (!varies && !everything))
            continue;
        uint32_t v = 0, *row = AT(uint32_t, fn->special[k]);
        switch (k) {
        case S_NTIDX: case S_NTIDY: case S_NTIDZ: v = l->block[k - S_NTIDX]; break;
        case S_CTAX: case S_CTAY: case S_CTAZ: v = w->blk->id[k - S_CTAX]; break;
        case S_NCTAX: case S_NCTAY: case S_NCTAZ: v = l->grid[k - S_NCTAX]; break;
        case S_WARP: v = (uint32_t)w->number; break;
        case S_NWARP: v = (uint32_t)w->blk->nwarps; break;
        case S_NSM: v = (uint32_t)conf.multiprocessors; break;
        case S_DYNSHARED: v = l->shared; break;
        case S_TOTALSHARED: v = w->grid->shared; break;
        }
        if (k == S_LANE || (k >= S_LT && k <= S_GT))
            for (uint32_t i = 0; i < LANES; i++)
                row[i] = lane_mask(k, i);
        else
            for (uint32_t i = 0; i < LANES; i++)
                row[i] = v;
    }
}

static void add_group(frame *f, group g) {
    for (int i = 0; i < f->n; i++)
        if (f->groups[i].pc == g.pc && f->groups[i].barrier < 0 && g.barrier < 0) {
            f->groups[i].mask |= g.mask;
            f->groups[i].blocked &= g.blocked;
            return;
        }
    f->groups[f->n++] = g;
}

static void take_group(warp *w, frame *f, int i) {
    w->pc = f->groups[i].pc;
    w->mask = f->groups[i].mask;
    f->groups[i] = f->groups[--f->n];
}

// lowest is the group that can run at the lowest place, or -1.
static int lowest(const frame *f, bool blocked) {
    int best = -1;
    for (int i = 0; i < f->n; i++)
        if (f->groups[i].barrier < 0 && f->groups[i].blocked == blocked && (best < 0 || f->groups[i].pc < f->groups[best].pc))
            best = i;
    return best;
}

// meet joins the groups that are where the current one is, and changes to a
// lower one.
static void meet(warp *w, frame *f) {
    for (int i = 0; i < f->n;)
        if (f->groups[i].pc == w->pc && f->groups[i].barrier < 0) {
            w->mask |= f->groups[i].mask;
            f->groups[i] = f->groups[--f->n];
        } else {
            i++;
        }
    if (w->forced > 0) {
        w->forced--;
        return;
    }
    int i = lowest(f, false);
    if (i < 0 || f->groups[i].pc >= w->pc)
        return;
    group g = {.pc = w->pc, .mask = w->mask, .barrier = -1};
    take_group(w, f, i);
    add_group(f, g);
}

// give_way lets another group than the lowest run for a while.
static void give_way(warp *w, frame *f) {
    int other = -1;
    for (int i = 0; i < f->n; i++)
        if (f->groups[i].barrier < 0 && !f->groups[i].blocked && (other < 0 || f->groups[i].pc > f->groups[other].pc))
            other = i;
    if (other < 0)
        return;
    group g = {.pc = w->pc, .mask = w->mask, .barrier = -1};
    take_group(w, f, other);
    add_group(f, g);
    w->forced = TURN;
}

static void pop_frame(warp *w) {
    const frame *f = &w->frames[w->depth], *caller = f - 1;
    uint32_t mask = f->mask & w->live, size = f->call->ret.size;
    const char *from = w->stack + f->at + f->fn->ret.at;
    char *to = w->stack + caller->at + f->call->ret.at;
    for (uint32_t m = size ? mask : 0; m; m &= m - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(m);
        memcpy(to + i * size, from + i * size, size);
    }
    w->depth--;
    w->regs = w->stack + caller->at;
    w->mask = mask;
    w->pc = f->back;
}

// next_group finds what runs after the current group has ended or waits.
static outcome next_group(warp *w) {
    for (;;) {
        frame *f = &w->frames[w->depth];
        int i = lowest(f, false);
        if (i < 0)
            i = lowest(f, true);
        if (i >= 0) {
            take_group(w, f, i);
            return W_DONE; // found
        }
        if (f->n)
            return W_WAITING;
        if (!w->depth) {
            w->done = true;
            return W_FAULT; // nothing is left
        }
        pop_frame(w);
        if (w->mask)
            return W_DONE;
    }
}

static bool push_frame(warp *w, const insn *in, uint32_t mask) {
    frame *f = &w->frames[w->depth], *g = f + 1;
    const call_record *c = &f->fn->calls[in->target];
    const fn_code *fn = c->callee;
    uint32_t at = f->at + f->fn->frame, local = f->local + ((f->fn->local + 15) & ~15u);
    if (w->depth + 1 == MAX_DEPTH || at + fn->frame > w->stack_size || local + fn->local > w->local_size) {
        fault(w, in, __builtin_ctz(mask), CUDA_ERROR_HARDWARE_STACK_ERROR, "a call of %s: the stack is full at depth %d", fn->name, w->depth + 1);
        return false;
    }
    if (c->nargs != fn->nformals || c->ret.size > fn->ret.size) {
        fault(w, in, __builtin_ctz(mask), CUDA_ERROR_LAUNCH_FAILED, "a call of %s with %d arguments, which takes %d", fn->name, c->nargs, fn->nformals);
        return false;
    }
    *g = (frame){.fn = fn, .at = at, .mask = mask, .back = w->pc, .local = local, .call = c};
    const char *args = w->regs;
    w->depth++;
    start_frame(w, g, true);
    for (int i = 0; i < c->nargs; i++) {
        parcel from = c->args[i], to = fn->formals[i];
        uint32_t n = from.size < to.size ? from.size : to.size;
        for (uint32_t k = 0; k < LANES; k++)
            memcpy(w->regs + to.at + k * to.size, args + from.at + k * from.size, n);
    }
    w->mask = mask;
    w->pc = 0;
    return true;
}

// arrive notes lanes at a barrier. True: they wait there.
static bool arrive(warp *w, const insn *in, uint32_t mask) {
    block *b = w->blk;
    int first = __builtin_ctz(mask);
    uint32_t id = AT(uint32_t, in->a)[first], count = in->b ? AT(uint32_t, in->b)[first] : 0;
    if (id > 15 || count > (uint32_t)b->nwarps * LANES) {
        fault(w, in, first, CUDA_ERROR_ILLEGAL_INSTRUCTION, "barrier %u for %u work-items", id, count);
        return true;
    }
    b->arrived[id] += __builtin_popcount(mask);
    b->want[id] = (int)count;
    uint32_t yes = 0;
    if (in->c) {
        yes = (in->flags & I_NOT ? ~bits_of(w->regs, in->c) : bits_of(w->regs, in->c)) & mask;
        b->popc[id] += (uint32_t)__builtin_popcount(yes);
        b->andor[id] |= (yes ? 2u : 0) | (yes != mask ? 1u : 0); // bit 0: not all, bit 1: some
    }
    if (in->op == 1)
        return false;
    frame *f = &w->frames[w->depth];
    f->groups[f->n++] = (group){.pc = w->pc, .mask = mask, .barrier = (int)id, .reduce = in->op ? in : NULL};
    return true;
}

static void release_warp(warp *w, int id, block *b) {
    for (int d = 0; d <= w->depth; d++) {
        frame *f = &w->frames[d];
        for (int i = 0; i < f->n; i++) {
            group *g = &f->groups[i];
            if (g->barrier != id)
                continue;
            g->barrier = -1;
            w->waiting = false;
            if (!g->reduce)
                continue;
            char *regs = w->stack + f->at;
            for (uint32_t m = g->mask; m; m &= m - 1) {
                int k = __builtin_ctz(m);
                if (g->reduce->op == 2)
                    ((uint32_t *)(regs + g->reduce->d))[k] = b->popc[id];
                else
                    regs[g->reduce->d + (uint32_t)k] = g->reduce->op == 3 ? !(b->andor[id] & 1) : b->andor[id] >> 1;
            }
            g->reduce = NULL;
        }
    }
}

// release_barriers lets go of the barriers of a block that all have reached.
void release_barriers(block *b, bool *progress) {
    for (int id = 0; id < 16; id++) {
        int want = b->want[id] ? b->want[id] : b->threads - b->exited;
        if (!b->arrived[id] || b->arrived[id] < want)
            continue;
        for (int i = 0; i < b->nwarps; i++)
            release_warp(&b->warps[i], id, b);
        b->arrived[id] = b->want[id] = 0;
        b->popc[id] = b->andor[id] = 0;
        *progress = true;
    }
}

// jumped is called for every branch backwards.
static bool jumped(warp *w, const insn *in, frame *f, uint32_t from, uint32_t to) {
    w->steps += from - to + 1;
    if (conf.steps && w->steps > conf.steps) {
        fault(w, in, __builtin_ctz(w->mask), CUDA_ERROR_LAUNCH_TIMEOUT, "more than %ld instructions", conf.steps);
        return false;
    }
    if (__atomic_load_n(&w->grid->failed, __ATOMIC_RELAXED)) {
        w->fault = true;
        return false;
    }
    if (f->n && ++w->loops >= PATIENCE) {
        w->loops = 0;
        give_way(w, f);
    }
    return true;
}

// run_warp executes until the warp is done or all of it waits at barriers.
outcome run_warp(warp *w) {
    if (!w->mask) {
        outcome o = next_group(w);
        if (o != W_DONE)
            return o == W_WAITING ? o : W_DONE;
    }
    for (;;) {
        frame *f = &w->frames[w->depth];
        const insn *in = &f->fn->code[w->pc];
        if (__builtin_expect(f->n && in->flags & I_LEADER, 0)) {
            meet(w, f);
            in = &f->fn->code[w->pc];
        }
        w->pc++;
        uint32_t all = w->mask, m = all;
        if (in->pred) {
            uint32_t p = bits_of(w->regs, in->pred);
            m &= in->flags & I_NEGATED ? ~p : p;
            if (!m)
                continue;
        }
        bool over = false; // the lanes of m go no further for now
        switch (in->control) {
        case C_NONE:
            w->mask = m;
            in->fn(w, in);
            w->mask = all;
            break;
        case C_BRA: {
            uint32_t from = w->pc - 1;
            if (m != all) {
                bool back = in->target < w->pc;
                group other = {.pc = back ? w->pc : in->target, .mask = back ? all & ~m : m, .barrier = -1};
                add_group(f, other);
                w->mask = back ? m : all & ~m;
                if (!back)
                    break;
            }
            w->pc = in->target;
            if (w->pc <= from && !jumped(w, in, f, from, in->target))
                return W_FAULT;
            break;
        }
        case C_BRX: {
            const uint32_t *index = AT(uint32_t, in->a);
            for (uint32_t k = m; k; k &= k - 1) {
                int i = __builtin_ctz(k);
                if (index[i] >= (uint64_t)in->imm) {
                    fault(w, in, i, CUDA_ERROR_LAUNCH_FAILED, "index %u of %d branch targets", index[i], (int)in->imm);
                    return W_FAULT;
                }
                add_group(f, (group){.pc = f->fn->tables[in->target + index[i]], .mask = 1u << i, .barrier = -1});
            }
            over = true;
            break;
        }
        case C_CALL: {
            const call_record *c = &f->fn->calls[in->target];
            if (c->builtin) {
                call_builtin(w, in, c, m);
                break;
            }
            if (m != all)
                add_group(f, (group){.pc = w->pc, .mask = all & ~m, .barrier = -1});
            if (!push_frame(w, in, m))
                return W_FAULT;
            break;
        }
        case C_SYNC: {
            uint32_t missing = AT(uint32_t, in->e)[__builtin_ctz(m)] & w->live & ~all;
            bool coming = false;
            for (int i = 0; i < f->n && missing; i++)
                coming |= f->groups[i].barrier < 0 && !f->groups[i].blocked && f->groups[i].mask & missing;
            if (coming) {
                add_group(f, (group){.pc = w->pc - 1, .mask = all, .blocked = true, .barrier = -1});
                w->mask = 0;
                all = m = 0;
                over = true;
                break;
            }
            w->mask = m;
            in->fn(w, in);
            w->mask = all;
            break;
        }
        case C_BAR:
            over = arrive(w, in, m);
            break;
        case C_RET:
            over = true;
            break;
        case C_EXIT:
            w->live &= ~m;
            w->blk->exited += __builtin_popcount(m);
            over = true;
            break;
        case C_TRAP:
            fault(w, in, __builtin_ctz(m), CUDA_ERROR_ILLEGAL_INSTRUCTION, "a trap");
            break;
        }
        if (__builtin_expect(w->fault, 0))
            return W_FAULT;
        if (!over)
            continue;
        w->mask = all & ~m;
        if (w->mask)
            continue;
        outcome o = next_group(w);
        if (o == W_WAITING) {
            w->waiting = true;
            return W_WAITING;
        }
        if (w->done)
            return W_DONE;
    }
}
