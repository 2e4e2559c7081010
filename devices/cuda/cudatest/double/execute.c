// What a stream's thread does with an operation whose turn it is.
#include "double.h"
#include <string.h>
#include <time.h>

static void copy(const op *o) {
    for (size_t z = 0; z < o->copy.depth; z++)
        for (size_t y = 0; y < o->copy.height; y++)
            memmove(o->copy.dst.host + z * o->copy.dst.slice + y * o->copy.dst.pitch,
                    o->copy.src.host + z * o->copy.src.slice + y * o->copy.src.pitch, o->copy.width);
}

static void fill(const op *o) {
    for (size_t y = 0; y < o->fill.height; y++) {
        char *row = o->fill.dst.host + y * o->fill.dst.pitch;
        if (o->fill.size == 1) {
            memset(row, (int)o->fill.value, o->fill.width);
            continue;
        }
        if (o->fill.size == 2)
            for (size_t x = 0; x < o->fill.width; x++)
                ((uint16_t *)row)[x] = (uint16_t)o->fill.value;
        else
            for (size_t x = 0; x < o->fill.width; x++)
                ((uint32_t *)row)[x] = o->fill.value;
    }
}

static CUresult run(const launch *l, context *c) {
    char said[512] = "";
    pthread_mutex_lock(&G);
    CUresult r = rule_for("kernel");
    pthread_mutex_unlock(&G);
    if (r)
        return r;
    r = run_launch(l, c, said, sizeof said);
    if (r)
        complain("%s", said);
    return r;
}

static void host_call(const op *o, CUresult r) {
    in_callback = true;
    if (o->kind == OP_CALLBACK)
        o->callback.fn(o->callback.stream, r, o->callback.data);
    else if (!r) // a host function is not called where the context has failed
        o->host.fn(o->host.data);
    in_callback = false;
}

// await spins for a word of memory: the writer may be anyone.
static void await(const op *o, context *c) {
    for (;;) {
        uint64_t v = o->word.size == 4 ? *(volatile uint32_t *)o->word.at : *(volatile uint64_t *)o->word.at;
        uint64_t w = o->word.value;
        bool done = false;
        switch (o->word.flags & 3) {
        case 0: done = o->word.size == 4 ? (int32_t)(v - w) >= 0 : (int64_t)(v - w) >= 0; break;
        case 1: done = v == w; break;
        case 2: done = (v & w) != 0; break;
        case 3: done = ~(v | w) != 0; break;
        }
        pthread_mutex_lock(&G);
        CUresult r = context_usable(c);
        if (!done && !r) {
            struct timespec t;
            clock_gettime(CLOCK_REALTIME, &t);
            t.tv_nsec += 100000;
            t.tv_sec += t.tv_nsec / 1000000000;
            t.tv_nsec %= 1000000000;
            pthread_cond_timedwait(&progress, &G, &t);
        }
        pthread_mutex_unlock(&G);
        if (done || r)
            return;
    }
}

CUresult execute(op *o, stream *s) {
    pthread_mutex_lock(&G);
    CUresult r = context_usable(o->ctx);
    if (o->kind == OP_RECORD)
        event_done(o->event.ev, o->event.ticket, r);
    if (o->kind == OP_FREE) {
        region *g = region_within(o->free.address);
        if (g && g->pool)
            g->pool->used -= g->hi - g->lo;
        release(o->free.address);
    }
    pthread_mutex_unlock(&G);
    if (o->kind == OP_HOST || o->kind == OP_CALLBACK) {
        host_call(o, r);
        return CUDA_SUCCESS;
    }
    if (r)
        return CUDA_SUCCESS; // what is queued in a failed context does nothing
    switch (o->kind) {
    case OP_COPY:
        copy(o);
        return CUDA_SUCCESS;
    case OP_FILL:
        fill(o);
        return CUDA_SUCCESS;
    case OP_LAUNCH:
        return run(&o->launch, o->ctx);
    case OP_WRITE:
        memcpy(o->word.at, &o->word.value, (size_t)o->word.size);
        return CUDA_SUCCESS;
    case OP_AWAIT:
        await(o, o->ctx);
        return CUDA_SUCCESS;
    case OP_GRAPH:
        for (int i = 0; i < o->graph.ops->n && !r; i++)
            r = execute(o->graph.ops->ops[i], s);
        return r;
    default:
        return CUDA_SUCCESS;
    }
}
