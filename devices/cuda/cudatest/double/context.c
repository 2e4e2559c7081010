// Contexts: each thread has a stack of them, and the topmost is what calls
// work on.
#include "double.h"
#include <stdlib.h>
#include <string.h>

#define DEPTH 64
static _Thread_local CUcontext stack[DEPTH];
static _Thread_local int depth;

// current is the calling thread's context, also one that was destroyed while
// it was current, or NULL. Callers hold G.
context *current(void) {
    static context gone = {.gone = true};
    if (!depth || !stack[depth - 1])
        return NULL;
    context *c = object_of(stack[depth - 1], K_CONTEXT);
    return c ? c : &gone;
}

CUresult context_usable(context *c) {
    if (c->gone)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (c->dev->lost)
        return c->dev->lost;
    return c->sticky;
}

// poison ends a context: every call and everything queued fails from now on.
void poison(context *c, CUresult code) {
    if (!c->sticky)
        c->sticky = code;
    pthread_cond_broadcast(&progress);
}

void lose(device *d, CUresult code) {
    d->lost = code;
    pthread_cond_broadcast(&progress);
}

static context *new_context(device *d, unsigned flags, bool primary) {
    context *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->dev = d;
    c->flags = flags;
    c->primary = primary;
    c->limit_stack = 1024;
    c->limit_printf = 1 << 20;
    c->limit_heap = 8 << 20;
    c->handle = new_handle(K_CONTEXT, c);
    c->null_stream = new_stream(c, true, 0);
    return c;
}

// destroy_context waits for what is queued, takes all that belongs to the
// context with it and leaves the context's memory itself: threads may still
// have it current.
static void destroy_context(context *c) {
    wait_context(c);
    c->gone = true;
    destroy_streams(c);
    drop_modules(c);
    release_context_memory(c);
    if (c->dev->primary == c)
        c->dev->primary = NULL;
    drop_handle(c->handle);
}

static bool flags_ok(unsigned flags) {
    unsigned sched = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && (sched <= 2 || sched == 4);
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev) {
    ENTER();
    device *d = device_at(dev);
    if (!out)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (d->lost)
        LEAVE(d->lost);
    if (!d->primary && !(d->primary = new_context(d, d->primary_flags, true)))
        LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    d->retained++;
    *out = d->primary->handle;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
    ENTER();
    device *d = device_at(dev);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!d->retained)
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (!--d->retained && d->primary)
        destroy_context(d->primary);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
    ENTER();
    device *d = device_at(dev);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (d->primary)
        destroy_context(d->primary);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags) {
    ENTER();
    device *d = device_at(dev);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!flags_ok(flags))
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    d->primary_flags = flags;
    if (d->primary)
        d->primary->flags = flags;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active) {
    ENTER();
    device *d = device_at(dev);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!flags || !active)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *flags = d->primary_flags;
    *active = d->primary != NULL;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice dev) {
    ENTER();
    device *d = device_at(dev);
    if (!out || !flags_ok(flags) || depth == DEPTH)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (d->lost)
        LEAVE(d->lost);
    context *c = new_context(d, flags, false);
    if (!c)
        LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    stack[depth++] = c->handle;
    *out = c->handle;
    LEAVE(CUDA_SUCCESS);
}

// The parameters that later versions add are for features which the double has not.
API CUresult cuCtxCreate_v4(CUcontext *out, void *params, unsigned flags, CUdevice dev) {
    return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(out, flags, dev);
}

API CUresult cuCtxDestroy_v2(CUcontext h) {
    ENTER();
    context *c = object_of(h, K_CONTEXT);
    if (!c || c->primary)
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    destroy_context(c);
    if (depth && stack[depth - 1] == h)
        depth--;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxPushCurrent_v2(CUcontext h) {
    ENTER();
    if (!object_of(h, K_CONTEXT))
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (depth == DEPTH)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    stack[depth++] = h;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxPopCurrent_v2(CUcontext *h) {
    ENTER();
    if (!depth || !stack[depth - 1])
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    depth--;
    if (h)
        *h = stack[depth];
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxSetCurrent(CUcontext h) {
    ENTER();
    if (h && !object_of(h, K_CONTEXT))
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (!depth && h)
        depth = 1;
    if (depth)
        stack[depth - 1] = h;
    if (depth && !h)
        depth--;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxGetCurrent(CUcontext *h) {
    ENTER();
    if (!h)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *h = depth ? stack[depth - 1] : NULL;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxGetDevice(CUdevice *dev) {
    ENTER_CTX(c);
    if (!dev)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < nvisible; i++)
        if (visible[i] == c->dev->number)
            *dev = i;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxGetFlags(unsigned *flags) {
    ENTER_CTX(c);
    if (!flags)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *flags = c->flags;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxGetId(CUcontext h, unsigned long long *id) {
    ENTER();
    context *c = h ? object_of(h, K_CONTEXT) : current();
    if (!id)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!c)
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    *id = (uint64_t)c->handle >> 4;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxGetApiVersion(CUcontext h, unsigned *version) {
    ENTER();
    if (!version)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (h ? !object_of(h, K_CONTEXT) : !current())
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    *version = 3020;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxSynchronize(void) {
    ENTER_CTX(c);
    CUresult r = capture_forbids();
    LEAVE(r ? r : wait_context(c));
}

API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    ENTER_CTX(c);
    (void)c;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    LEAVE(CUDA_SUCCESS);
}

static size_t *limit(context *c, int name) {
    switch (name) {
    case 0: return &c->limit_stack;
    case 1: return &c->limit_printf;
    case 2: return &c->limit_heap;
    }
    return NULL;
}

API CUresult cuCtxGetLimit(size_t *value, int name) {
    ENTER_CTX(c);
    if (!value)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!limit(c, name))
        LEAVE(CUDA_ERROR_UNSUPPORTED_LIMIT);
    *value = *limit(c, name);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxSetLimit(int name, size_t value) {
    ENTER_CTX(c);
    if (!limit(c, name))
        LEAVE(CUDA_ERROR_UNSUPPORTED_LIMIT);
    *limit(c, name) = value;
    LEAVE(CUDA_SUCCESS);
}

// Preferences, which the double notes by doing nothing.
API CUresult cuCtxGetCacheConfig(int *value) {
    ENTER_CTX(c);
    (void)c;
    if (!value)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *value = 0;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxSetCacheConfig(int value) {
    ENTER_CTX(c);
    (void)c;
    LEAVE(value >= 0 && value <= 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API CUresult cuCtxEnablePeerAccess(CUcontext h, unsigned flags) {
    ENTER_CTX(c);
    context *peer = object_of(h, K_CONTEXT);
    if (!peer || peer->gone || peer == c)
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (flags)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!conf.peer || peer->dev == c->dev)
        LEAVE(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    if (c->peers >> peer->dev->number & 1)
        LEAVE(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    c->peers |= 1u << peer->dev->number;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuCtxDisablePeerAccess(CUcontext h) {
    ENTER_CTX(c);
    context *peer = object_of(h, K_CONTEXT);
    if (!peer)
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    if (!(c->peers >> peer->dev->number & 1))
        LEAVE(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    c->peers &= ~(1u << peer->dev->number);
    LEAVE(CUDA_SUCCESS);
}
