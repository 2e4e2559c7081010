// Events. A record that is called for gets a ticket; the event is done when
// the last ticket is.
#include "double.h"
#include <stdlib.h>

void event_done(event *e, uint64_t ticket, CUresult r) {
    if (ticket <= e->done)
        return;
    e->done = ticket;
    e->result = r;
    e->time_ns = now_ns();
}

void event_unref(event *e) {
    if (--e->references)
        return;
    free(e->captured);
    free(e);
}

API CUresult cuEventCreate(CUevent *out, unsigned flags) {
    ENTER_CTX(c);
    if (!out || flags & ~7u || (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)))
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    event *e = calloc(1, sizeof *e);
    if (!e)
        LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    e->ctx = c;
    e->flags = flags;
    e->references = 1;
    *out = e->handle = new_handle(K_EVENT, e);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuEventDestroy_v2(CUevent h) {
    ENTER();
    event *e = object_of(h, K_EVENT);
    if (!e)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    context *c = e->ctx;
    drop_handle(h);
    event_unref(e);
    LEAVE(context_usable(c));
}

API CUresult cuEventRecord(CUevent h, CUstream sh) {
    ENTER_CTX(c);
    CUresult err;
    event *e = object_of(h, K_EVENT);
    if (!e)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    stream *s = stream_of(sh, c, &err);
    if (!s)
        LEAVE(err);
    if (e->ctx != c)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (s->cap)
        LEAVE(capture_record(s, e));
    e->cap = NULL;
    e->recorded = true;
    op *o = new_op(OP_RECORD, c);
    o->event.ev = e;
    o->event.ticket = ++e->issued;
    e->references++;
    LEAVE(enqueue(s, o));
}

API CUresult cuEventRecordWithFlags(CUevent h, CUstream sh, unsigned flags) {
    return flags ? CUDA_ERROR_NOT_SUPPORTED : cuEventRecord(h, sh);
}

API CUresult cuEventQuery(CUevent h) {
    ENTER_CTX(c);
    (void)c;
    event *e = object_of(h, K_EVENT);
    if (!e)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (e->cap)
        LEAVE(CUDA_ERROR_CAPTURED_EVENT);
    if (e->done < e->issued)
        LEAVE(CUDA_ERROR_NOT_READY);
    LEAVE(e->result);
}

API CUresult cuEventSynchronize(CUevent h) {
    ENTER_CTX(c);
    event *e = object_of(h, K_EVENT);
    if (!e)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (e->cap)
        LEAVE(CUDA_ERROR_CAPTURED_EVENT);
    uint64_t ticket = e->issued;
    e->references++;
    while (e->done < ticket)
        pthread_cond_wait(&progress, &G);
    CUresult r = e->result;
    event_unref(e);
    CUresult ctx = context_usable(c);
    LEAVE(ctx ? ctx : r);
}

API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
    ENTER_CTX(c);
    (void)c;
    event *a = object_of(from, K_EVENT), *b = object_of(to, K_EVENT);
    if (!ms)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!a || !b || !a->recorded || !b->recorded || (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING || a->ctx->dev != b->ctx->dev)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (a->done < a->issued || b->done < b->issued)
        LEAVE(CUDA_ERROR_NOT_READY);
    *ms = (float)((double)(b->time_ns - a->time_ns) / 1e6);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to) { return cuEventElapsedTime(ms, from, to); }
