// The memory that an instruction of one work-item touches, and its faults.
#include "interp.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local _Alignas(64) char scratch[64]; // what a faulting access gets

static void where(const warp *w, int lane, unsigned id[3]) {
    const unsigned *dim = w->grid->launch->block;
    unsigned t = (unsigned)(w->number * LANES + lane);
    id[0] = t % dim[0];
    id[1] = t / dim[0] % dim[1];
    id[2] = t / dim[0] / dim[1];
}

// fault ends the launch; the first one is what it reports.
void fault(warp *w, const insn *in, int lane, CUresult code, const char *format, ...) {
    grid *g = w->grid;
    w->fault = true;
    pthread_mutex_lock(&g->lock);
    if (!g->failed) {
        unsigned id[3];
        where(w, lane, id);
        int n = snprintf(g->said, sizeof g->said, "kernel %s: ptx line %u: block (%u, %u, %u), work-item (%u, %u, %u): ", g->fn->name, in->line,
                         w->blk->id[0], w->blk->id[1], w->blk->id[2], id[0], id[1], id[2]);
        va_list args;
        va_start(args, format);
        if (n > 0 && n < (int)sizeof g->said)
            vsnprintf(g->said + n, sizeof g->said - (size_t)n, format, args);
        va_end(args);
        g->code = code;
        __atomic_store_n(&g->failed, true, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&g->lock);
}

static char *illegal(warp *w, const insn *in, int lane, bool writes, unsigned size, uint64_t address, const char *why) {
    if (!w->fault)
        fault(w, in, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "%s %u bytes at 0x%llx, %s", writes ? "writes" : "reads", size, (unsigned long long)address, why);
    return scratch;
}

static char *in_window(warp *w, const insn *in, uint64_t offset, unsigned size, space s, int lane, bool writes) {
    switch (s) {
    case SP_SHARED:
        if (offset > w->blk->shared_size || size > w->blk->shared_size - offset)
            return illegal(w, in, lane, writes, size, offset, "beyond the block's shared memory");
        return w->blk->shared + offset;
    case SP_LOCAL:
        if (offset > w->local_size || size > w->local_size - offset)
            return illegal(w, in, lane, writes, size, offset, "beyond the work-item's local memory");
        return w->local + (size_t)lane * w->local_size + offset;
    default:
        if (writes || offset > w->grid->launch->nparams || size > w->grid->launch->nparams - offset)
            return illegal(w, in, lane, writes, size, offset, "beyond the kernel's parameters");
        return (char *)w->grid->launch->params + offset;
    }
}

static bool may_touch(const warp *w, const device *d, region_kind k) {
    return d == w->grid->dev || k == R_PINNED || k == R_REGISTERED || k == R_MANAGED || w->grid->ctx->peers >> d->number & 1;
}

// reach is where size bytes at an address of a space are for the host. It
// keeps what it found for the place in the code, if that serves all lanes.
char *reach(warp *w, const insn *in, uint64_t address, unsigned size, space s, int lane, bool writes) {
    if (w->fault)
        return scratch;
    if (address & (size - 1)) {
        fault(w, in, lane, CUDA_ERROR_MISALIGNED_ADDRESS, "%s %u bytes at 0x%llx, which is no multiple of %u", writes ? "writes" : "reads", size,
              (unsigned long long)address, size);
        return scratch;
    }
    site *cached = &w->sites[in->site];
    if (s == SP_SHARED || s == SP_LOCAL || s == SP_PARAM) {
        char *p = in_window(w, in, address, size, s, lane, writes);
        if (s == SP_SHARED && !w->fault)
            *cached = (site){.lo = 0, .span = w->blk->shared_size - size, .host = w->blk->shared};
        return p;
    }
    if (s == SP_GENERIC)
        switch (address & WINDOW_MASK) {
        case SHARED_WINDOW: return in_window(w, in, address - SHARED_WINDOW, size, SP_SHARED, lane, writes);
        case LOCAL_WINDOW: return in_window(w, in, address - LOCAL_WINDOW, size, SP_LOCAL, lane, writes);
        case PARAM_WINDOW: return in_window(w, in, address - PARAM_WINDOW, size, SP_PARAM, lane, writes);
        }
    uint64_t lo, hi;
    char *host;
    device *dev;
    region_kind k;
    if (!translate(address, &lo, &hi, &host, &dev, &k))
        return illegal(w, in, lane, writes, size, address, "where nothing is allocated");
    if (size > hi - address)
        return illegal(w, in, lane, writes, size, address, "partly beyond the end of an allocation");
    if (!may_touch(w, dev, k))
        return illegal(w, in, lane, writes, size, address, "in the memory of a device without peer access");
    *cached = (site){.lo = lo, .span = hi - lo - size, .host = host};
    return host + (address - lo);
}
