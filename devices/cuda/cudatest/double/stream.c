// Streams: each has a thread that executes what is queued, in order. The null
// stream and the blocking streams of a context wait for each other.
#include "double.h"
#include <stdlib.h>
#include <time.h>

_Thread_local bool in_callback;

int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

op *new_op(op_kind k, context *c) {
    op *o = calloc(1, sizeof *o);
    if (!o)
        abort();
    o->kind = k;
    o->ctx = c;
    return o;
}

void free_op(op *o) {
    if (o->kind == OP_GRAPH)
        unref_ops(o->graph.ops);
    if (o->kind == OP_RECORD || o->kind == OP_WAIT)
        event_unref(o->event.ev);
    free(o->owned);
    free(o->after);
    free(o->needs);
    free(o);
}

static bool ready(op *o) {
    for (int i = 0; i < o->nafter; i++) {
        stream *s = object_of(o->after[i].stream, K_STREAM);
        if (s && s->done < o->after[i].seq)
            return false;
    }
    if (o->kind == OP_WAIT && o->event.ev->done < o->event.ticket)
        return false;
    return true;
}

static void *serve(void *arg) {
    stream *s = arg;
    pthread_mutex_lock(&G);
    for (;;) {
        while (!s->head && !s->closing)
            pthread_cond_wait(&s->work, &G);
        op *o = s->head;
        if (!o)
            break;
        while (!ready(o))
            pthread_cond_wait(&progress, &G);
        pthread_mutex_unlock(&G);
        CUresult r = execute(o, s);
        pthread_mutex_lock(&G);
        if (r)
            poison(s->ctx, r);
        s->head = o->next;
        if (!s->head)
            s->tail = NULL;
        s->done++;
        free_op(o);
        pthread_cond_broadcast(&progress);
    }
    for (stream **p = &s->ctx->streams; *p; p = &(*p)->sibling)
        if (*p == s) {
            *p = s->sibling;
            break;
        }
    pthread_cond_broadcast(&progress);
    pthread_mutex_unlock(&G);
    pthread_cond_destroy(&s->work);
    free(s->last);
    free(s);
    return NULL;
}

stream *new_stream(context *c, bool blocking, int priority) {
    stream *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    s->ctx = c;
    s->blocking = blocking;
    s->priority = priority;
    pthread_cond_init(&s->work, NULL);
    s->handle = new_handle(K_STREAM, s);
    s->sibling = c->streams;
    c->streams = s;
    return s;
}

// start gives a stream its thread with its first work.
static bool start(stream *s) {
    if (s->started)
        return true;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    s->started = !pthread_create(&s->thread, &attr, serve, s);
    pthread_attr_destroy(&attr);
    return s->started;
}

static void close_stream(stream *s) {
    drop_handle(s->handle);
    s->closing = true;
    if (!start(s)) // its thread takes it away
        abort();
    pthread_cond_signal(&s->work);
}

// destroy_streams ends every stream of a context and waits until they are gone.
void destroy_streams(context *c) {
    for (stream *s = c->streams; s; s = s->sibling)
        if (!s->closing)
            close_stream(s);
    while (c->streams)
        pthread_cond_wait(&progress, &G);
}

stream *stream_of(CUstream h, context *c, CUresult *err) {
    *err = CUDA_ERROR_INVALID_HANDLE;
    if (!h || h == CU_STREAM_LEGACY)
        return c->null_stream;
    if (h == CU_STREAM_PER_THREAD) {
        *err = CUDA_ERROR_NOT_SUPPORTED; // the double has no such streams
        return NULL;
    }
    stream *s = object_of(h, K_STREAM);
    if (s && s->ctx != c) {
        *err = CUDA_ERROR_INVALID_CONTEXT;
        return NULL;
    }
    return s;
}

static void wait_for(op *o, stream *s) {
    if (s->done < s->issued)
        o->after[o->nafter++] = (struct after){s->handle, s->issued};
}

CUresult enqueue(stream *s, op *o) {
    if (s->cap) {
        CUresult r = capture_op(s, o);
        if (r)
            free_op(o);
        return r;
    }
    context *c = s->ctx;
    bool null = s == c->null_stream;
    if (null) {
        CUresult r = capture_implicit(c);
        if (r) {
            free_op(o);
            return r;
        }
    }
    if (null || s->blocking) {
        int n = 1;
        for (stream *t = c->streams; t; t = t->sibling)
            n++;
        o->after = calloc((size_t)n, sizeof *o->after);
        if (!o->after)
            abort();
        if (!null)
            wait_for(o, c->null_stream);
        else
            for (stream *t = c->streams; t; t = t->sibling)
                if (t != s && t->blocking && !t->closing)
                    wait_for(o, t);
    }
    if (!start(s)) {
        free_op(o);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    o->seq = ++s->issued;
    if (s->tail)
        s->tail->next = o;
    else
        s->head = o;
    s->tail = o;
    pthread_cond_signal(&s->work);
    return CUDA_SUCCESS;
}

CUresult wait_stream(stream *s) {
    CUstream h = s->handle;
    context *c = s->ctx;
    uint64_t target = s->issued;
    while (object_of(h, K_STREAM) == s && s->done < target)
        pthread_cond_wait(&progress, &G);
    return context_usable(c);
}

CUresult wait_context(context *c) {
    for (stream *s = c->streams; s; s = s->sibling)
        s->mark = s->issued;
    for (stream *s = c->streams; s;)
        if (s->done < s->mark) {
            pthread_cond_wait(&progress, &G);
            s = c->streams;
        } else {
            s = s->sibling;
        }
    return context_usable(c);
}

CUresult enqueue_and_wait(stream *s, op *o) {
    CUresult r = enqueue(s, o);
    return r ? r : wait_stream(s);
}

static CUresult create(const char *name, CUstream *out, unsigned flags, int priority) {
    context *c;
    CUresult r = enter_context(name, &c);
    if (r)
        LEAVE(r);
    if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (priority > 0)
        priority = 0;
    if (priority < -5)
        priority = -5;
    stream *s = new_stream(c, !(flags & CU_STREAM_NON_BLOCKING), priority);
    *out = s->handle;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuStreamCreate(CUstream *out, unsigned flags) { return create(__func__, out, flags, 0); }
API CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) { return create(__func__, out, flags, priority); }

// cuStreamDestroy returns at once; what is queued still runs.
API CUresult cuStreamDestroy_v2(CUstream h) {
    ENTER();
    stream *s = object_of(h, K_STREAM);
    if (!s)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (s->cap) {
        s->cap->invalid = true;
        s->cap = NULL;
    }
    close_stream(s);
    LEAVE(context_usable(s->ctx));
}

API CUresult cuStreamSynchronize(CUstream h) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s)
        LEAVE(err);
    if (s->cap) {
        s->cap->invalid = true;
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    // The null stream comes after all that the blocking streams hold.
    LEAVE(s == c->null_stream ? enqueue_and_wait(s, new_op(OP_EMPTY, c)) : wait_stream(s));
}

API CUresult cuStreamQuery(CUstream h) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s)
        LEAVE(err);
    if (s->cap) {
        s->cap->invalid = true;
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    LEAVE(s->done < s->issued ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

API CUresult cuStreamGetFlags(CUstream h, unsigned *flags) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s || !flags)
        LEAVE(s ? CUDA_ERROR_INVALID_VALUE : err);
    *flags = s->blocking ? 0 : CU_STREAM_NON_BLOCKING;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuStreamGetPriority(CUstream h, int *priority) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s || !priority)
        LEAVE(s ? CUDA_ERROR_INVALID_VALUE : err);
    *priority = s->priority;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuStreamGetId(CUstream h, unsigned long long *id) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s || !id)
        LEAVE(s ? CUDA_ERROR_INVALID_VALUE : err);
    *id = (uint64_t)s->handle >> 4;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuStreamGetCtx(CUstream h, CUcontext *out) {
    ENTER();
    stream *s = object_of(h, K_STREAM);
    context *c = s ? s->ctx : current();
    if (!out)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!c || (!s && h && h != CU_STREAM_LEGACY))
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    *out = c->handle;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuStreamWaitEvent(CUstream h, CUevent eh, unsigned flags) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    event *e = object_of(eh, K_EVENT);
    if (!s)
        LEAVE(err);
    if (!e)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (flags & ~1u)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (s->cap || e->cap)
        LEAVE(capture_wait(s, e));
    if (e->done >= e->issued) // never recorded, or over
        LEAVE(CUDA_SUCCESS);
    op *o = new_op(OP_WAIT, c);
    o->event.ev = e;
    o->event.ticket = e->issued;
    e->references++;
    LEAVE(enqueue(s, o));
}

API CUresult cuLaunchHostFunc(CUstream h, CUhostFn fn, void *data) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s || !fn)
        LEAVE(s ? CUDA_ERROR_INVALID_VALUE : err);
    op *o = new_op(OP_HOST, c);
    o->host.fn = fn;
    o->host.data = data;
    LEAVE(enqueue(s, o));
}

API CUresult cuStreamAddCallback(CUstream h, CUstreamCallback fn, void *data, unsigned flags) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s || !fn || flags)
        LEAVE(s ? CUDA_ERROR_INVALID_VALUE : err);
    if (s->cap)
        LEAVE(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    op *o = new_op(OP_CALLBACK, c);
    o->callback.fn = fn;
    o->callback.data = data;
    o->callback.stream = h;
    LEAVE(enqueue(s, o));
}
