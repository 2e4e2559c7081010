// A launch: its blocks are handed out to the stream's thread and to helpers
// that all launches share.
#include "interp.h"
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_work = PTHREAD_COND_INITIALIZER, pool_done = PTHREAD_COND_INITIALIZER;
static grid *queue;     // grids that want help
static worker *idle;    // workers that no launch uses
static int helpers;

static worker *get_worker(void) {
    pthread_mutex_lock(&pool_lock);
    worker *k = idle;
    if (k)
        idle = k->next;
    pthread_mutex_unlock(&pool_lock);
    return k ? k : calloc(1, sizeof *k);
}

static void put_worker(worker *k) {
    pthread_mutex_lock(&pool_lock);
    k->next = idle;
    idle = k;
    pthread_mutex_unlock(&pool_lock);
}

// ensure makes a buffer at least so large; its old contents are lost.
static bool ensure(char **p, size_t *have, size_t need) {
    if (*have >= need)
        return true;
    free(*p);
    *have = 0;
    need = (need + 4095) & ~(size_t)4095;
    if (!(*p = aligned_alloc(64, need)))
        return false;
    *have = need;
    return true;
}

// prepare gives a worker the room for g's warps: all of a block's where they
// meet at barriers, otherwise one that does them one after the other.
static bool prepare(worker *k, grid *g, block *b) {
    const fn_code *fn = g->fn;
    int all = (int)((g->threads + LANES - 1) / LANES), slots = fn->barrier ? all : 1;
    size_t regs = fn->recursive ? (size_t)1 << 20 : (fn->frames + 63) & ~(size_t)63;
    size_t local = fn->recursive ? (size_t)64 << 10 : fn->locals;
    if (local < 16)
        local = 16;
    size_t nsites = (size_t)g->mod->nsites + 1;
    char *sites = (char *)k->sites;
    size_t have = k->nsites * sizeof(site);
    bool ok = ensure(&sites, &have, nsites * sizeof(site));
    k->sites = (site *)sites;
    k->nsites = have / sizeof(site);
    if (!ok || !ensure(&k->stack, &k->stack_size, regs * (size_t)slots) || !ensure(&k->local, &k->local_size, local * LANES * (size_t)slots) ||
        !ensure(&k->shared, &k->shared_size, b->shared_size + 64u))
        return false;
    if (k->nwarps < slots) {
        free(k->warps);
        k->nwarps = 0;
        if (!(k->warps = malloc((size_t)slots * sizeof *k->warps)))
            return false;
        k->nwarps = slots;
    }
    for (size_t i = 0; i < nsites; i++)
        k->sites[i] = (site){.lo = 0x0d00000000000001u};
    b->shared = k->shared;
    b->warps = k->warps;
    b->nwarps = all;
    b->threads = (int)g->threads;
    for (int i = 0; i < slots; i++) {
        warp *w = &k->warps[i];
        memset(w, 0, offsetof(warp, frames));
        w->sites = k->sites;
        w->grid = g;
        w->blk = b;
        w->wk = k;
        w->stack = k->stack + regs * (size_t)i;
        w->stack_size = regs;
        w->local = k->local + local * LANES * (size_t)i;
        w->local_size = (uint32_t)local;
        w->frames[0] = (frame){.fn = fn};
        start_frame(w, &w->frames[0], true);
    }
    return true;
}

static void begin_warp(warp *w, int number, unsigned threads) {
    unsigned left = threads - (unsigned)number * LANES;
    w->number = number;
    w->mask = w->live = left >= LANES ? FULL : (1u << left) - 1;
    w->pc = 0;
    w->depth = 0;
    w->done = w->waiting = w->fault = false;
    w->forced = w->steps = w->loops = 0;
    w->frames[0].n = 0;
    start_frame(w, &w->frames[0], false);
}

// run_together executes the warps of a block that has barriers.
static bool run_together(block *b, unsigned threads) {
    for (int i = 0; i < b->nwarps; i++)
        begin_warp(&b->warps[i], i, threads);
    for (;;) {
        bool progress = false, left = false;
        for (int i = 0; i < b->nwarps; i++) {
            warp *w = &b->warps[i];
            if (w->done || w->waiting)
                continue;
            progress = true;
            if (run_warp(w) == W_FAULT)
                return false;
            release_barriers(b, &progress);
        }
        for (int i = 0; i < b->nwarps; i++)
            left |= !b->warps[i].done;
        if (!left)
            return true;
        if (!progress) {
            for (int i = 0; i < b->nwarps; i++)
                if (!b->warps[i].done) {
                    insn in = {.line = b->warps[i].frames[b->warps[i].depth].fn->code[b->warps[i].pc].line};
                    fault(&b->warps[i], &in, 0, CUDA_ERROR_LAUNCH_TIMEOUT, "waits at a barrier that others do not come to");
                    return false;
                }
        }
    }
}

static bool run_block(grid *g, block *b, uint64_t number) {
    const unsigned *dim = g->launch->grid;
    b->id[0] = (unsigned)(number % dim[0]);
    b->id[1] = (unsigned)(number / dim[0] % dim[1]);
    b->id[2] = (unsigned)(number / dim[0] / dim[1]);
    b->exited = 0;
    memset(b->arrived, 0, sizeof b->arrived);
    memset(b->want, 0, sizeof b->want);
    if (b->shared_size)
        memset(b->shared, 0xcd, b->shared_size); // what was there before, made to be seen
    if (g->fn->barrier)
        return run_together(b, g->threads);
    for (int i = 0; i < b->nwarps; i++) {
        begin_warp(&b->warps[0], i, g->threads);
        if (run_warp(&b->warps[0]) == W_FAULT)
            return false;
    }
    return true;
}

// serve executes blocks of g until there are none left.
static void serve(grid *g) {
    worker *k = get_worker();
    block b = {.shared_size = g->shared};
    if (!k || !prepare(k, g, &b)) {
        pthread_mutex_lock(&g->lock);
        g->code = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
        snprintf(g->said, sizeof g->said, "kernel %s: out of host memory", g->fn->name);
        g->failed = true;
        pthread_mutex_unlock(&g->lock);
    } else {
        uint64_t chunk = g->blocks / 64;
        if (chunk > 64)
            chunk = 64;
        chunk += !chunk;
        for (;;) {
            uint64_t from = __atomic_fetch_add(&g->next, chunk, __ATOMIC_RELAXED), to = from + chunk < g->blocks ? from + chunk : g->blocks;
            if (from >= g->blocks)
                break;
            for (; from < to; from++)
                if (__atomic_load_n(&g->failed, __ATOMIC_RELAXED) || !run_block(g, &b, from))
                    goto out;
        }
    }
out:
    if (k)
        put_worker(k);
}

// wanting is a grid of the queue that a helper is of use to; those that have
// no block left go. Callers hold pool_lock.
static grid *wanting(void) {
    for (grid **p = &queue; *p;) {
        grid *g = *p;
        if (__atomic_load_n(&g->next, __ATOMIC_RELAXED) >= g->blocks)
            *p = g->queued;
        else if (g->helpers < conf.workers - 1)
            return g;
        else
            p = &g->queued;
    }
    return NULL;
}

static void *help(void *arg) {
    (void)arg;
    pthread_mutex_lock(&pool_lock);
    for (;;) {
        grid *g;
        while (!(g = wanting()))
            pthread_cond_wait(&pool_work, &pool_lock);
        g->helpers++;
        pthread_mutex_unlock(&pool_lock);
        serve(g);
        pthread_mutex_lock(&pool_lock);
        g->helpers--;
        pthread_cond_broadcast(&pool_done);
    }
    return NULL;
}

// ask queues a grid for helpers; withdraw takes it out again and waits for
// those that came.
static void ask(grid *g) {
    pthread_mutex_lock(&pool_lock);
    while (helpers < conf.workers - 1) {
        pthread_t t;
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        bool ok = !pthread_create(&t, &attr, help, NULL);
        pthread_attr_destroy(&attr);
        if (!ok)
            break;
        helpers++;
    }
    g->queued = queue;
    queue = g;
    pthread_cond_broadcast(&pool_work);
    pthread_mutex_unlock(&pool_lock);
}

static void withdraw(grid *g) {
    pthread_mutex_lock(&pool_lock);
    for (grid **p = &queue; *p; p = &(*p)->queued)
        if (*p == g) {
            *p = g->queued;
            break;
        }
    while (g->helpers)
        pthread_cond_wait(&pool_done, &pool_lock);
    pthread_mutex_unlock(&pool_lock);
}

// run_launch executes a kernel to its end.
CUresult run_launch(const launch *l, context *c, char *said, size_t size) {
    const fn_code *fn = l->fn->code;
    grid g = {.launch = l, .fn = fn, .mod = l->fn->mod, .ctx = c, .dev = c->dev};
    g.blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    g.threads = l->block[0] * l->block[1] * l->block[2];
    g.shared = g.mod->extern_shared + l->shared;
    pthread_mutex_init(&g.lock, NULL);
    bool many = g.blocks > 1 && g.blocks * g.threads > 512 && conf.workers > 1;
    if (many)
        ask(&g);
    serve(&g);
    if (many)
        withdraw(&g); // on a failure too: helpers stop at their next block
    if (g.nprinted) {
        fwrite(g.printed, 1, g.nprinted, stdout);
        fflush(stdout);
    }
    free(g.printed);
    pthread_mutex_destroy(&g.lock);
    if (!g.failed)
        return CUDA_SUCCESS;
    snprintf(said, size, "%s", g.said);
    return g.code;
}
