// Capture: work for a stream becomes nodes of a graph. Events carry a capture
// from stream to stream.
#include "double.h"
#include <stdlib.h>
#include <string.h>

static capture *captures; // under way
static _Thread_local int thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void end(capture *k) {
    for (capture **p = &captures; *p; p = &(*p)->next)
        if (*p == k) {
            *p = k->next;
            return;
        }
}

static void set_last(op ***list, int *n, op *const *from, int count) {
    op **l = realloc(*list, (size_t)(count ? count : 1) * sizeof *l);
    if (!l)
        abort();
    memcpy(l, from, (size_t)count * sizeof *l);
    *list = l;
    *n = count;
}

static void add_last(stream *s, op *o) {
    for (int i = 0; i < s->nlast; i++)
        if (s->last[i] == o)
            return;
    s->last = realloc(s->last, (size_t)(s->nlast + 1) * sizeof *s->last);
    if (!s->last)
        abort();
    s->last[s->nlast++] = o;
}

// capture_op makes o a node, after what the stream had last.
CUresult capture_op(stream *s, op *o) {
    if (s->cap->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    set_last(&o->needs, &o->nneeds, s->last, s->nlast);
    add_node(s->cap->graph, o);
    set_last(&s->last, &s->nlast, &o, 1);
    return CUDA_SUCCESS;
}

CUresult capture_record(stream *s, event *e) {
    if (s->cap->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    e->cap = s->cap;
    set_last(&e->captured, &e->ncaptured, s->last, s->nlast);
    return CUDA_SUCCESS;
}

// capture_wait joins s to the capture that e was recorded in.
CUresult capture_wait(stream *s, event *e) {
    if (!e->cap) {
        s->cap->invalid = true; // an event from outside of the capture
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    bool under_way = false;
    for (capture *k = captures; k; k = k->next)
        under_way |= k == e->cap;
    if (!under_way)
        return CUDA_ERROR_INVALID_VALUE;
    if (e->cap->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (s->cap && s->cap != e->cap) {
        s->cap->invalid = e->cap->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (s == s->ctx->null_stream)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!s->cap)
        s->nlast = 0;
    s->cap = e->cap;
    for (int i = 0; i < e->ncaptured; i++)
        add_last(s, e->captured[i]);
    return CUDA_SUCCESS;
}

CUresult capture_implicit(context *c) {
    for (capture *k = captures; k; k = k->next)
        if (k->origin->ctx == c && k->origin->blocking) {
            k->invalid = true;
            return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    return CUDA_SUCCESS;
}

CUresult capture_forbids(void) {
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    for (capture *k = captures; k; k = k->next) {
        bool mine = pthread_equal(k->thread, pthread_self());
        if (k->mode == CU_STREAM_CAPTURE_MODE_RELAXED || (k->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && !mine))
            continue;
        if (!mine && thread_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            continue;
        k->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

API CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
    ENTER();
    if (!mode || *mode < 0 || *mode > 2)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    int old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuStreamBeginCapture_v2(CUstream h, int mode) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s)
        LEAVE(err);
    if (mode < 0 || mode > 2)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (s == c->null_stream)
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (s->cap)
        LEAVE(CUDA_ERROR_ILLEGAL_STATE);
    capture *k = calloc(1, sizeof *k);
    graph *g = calloc(1, sizeof *g);
    if (!k || !g)
        abort();
    *k = (capture){.graph = g, .origin = s, .mode = mode, .thread = pthread_self(), .next = captures};
    captures = k;
    s->cap = k;
    s->nlast = 0;
    LEAVE(CUDA_SUCCESS);
}

// reached says whether every node of g comes before one of last, or is one.
static bool reached(graph *g, op *const *last, int nlast) {
    bool *seen = calloc((size_t)g->n + 1, sizeof *seen);
    if (!seen)
        abort();
    for (int i = g->n - 1; i >= 0; i--) {
        for (int j = 0; j < nlast; j++)
            seen[i] |= last[j] == g->nodes[i];
        for (int j = i + 1; j < g->n && !seen[i]; j++)
            for (int n = 0; n < g->nodes[j]->nneeds; n++)
                seen[i] |= seen[j] && g->nodes[j]->needs[n] == g->nodes[i];
    }
    bool all = true;
    for (int i = 0; i < g->n; i++)
        all &= seen[i];
    free(seen);
    return all;
}

API CUresult cuStreamEndCapture(CUstream h, CUgraph *out) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s)
        LEAVE(err);
    if (!out)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    capture *k = s->cap;
    if (!k)
        LEAVE(CUDA_ERROR_ILLEGAL_STATE);
    if (k->origin != s)
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (k->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(k->thread, pthread_self()))
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    end(k);
    for (stream *t = c->streams; t; t = t->sibling)
        if (t->cap == k)
            t->cap = NULL;
    err = k->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : reached(k->graph, s->last, s->nlast) ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    graph *g = k->graph;
    g->handle = new_handle(K_GRAPH, g);
    *out = NULL;
    if (!err)
        *out = g->handle;
    else
        drop_graph(g);
    LEAVE(err); // the capture itself stays: events may name it
}

API CUresult cuStreamIsCapturing(CUstream h, int *status) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s || !status)
        LEAVE(s ? CUDA_ERROR_INVALID_VALUE : err);
    *status = !s->cap ? CU_STREAM_CAPTURE_STATUS_NONE : s->cap->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    LEAVE(CUDA_SUCCESS);
}
