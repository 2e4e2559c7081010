// Stream-ordered memory. An allocation is there at once; a freed one goes back
// when its stream comes to it.
#include "double.h"
#include <stdlib.h>
#include <string.h>

static pool *new_pool(device *d, uint64_t max, bool is_default) {
    pool *p = calloc(1, sizeof *p);
    if (!p)
        abort();
    p->dev = d;
    p->max = max;
    p->is_default = is_default;
    p->attributes[1] = p->attributes[2] = p->attributes[3] = 1;
    p->handle = new_handle(K_POOL, p);
    return p;
}

static pool *default_pool(device *d) {
    if (!d->default_pool)
        d->default_pool = new_pool(d, 0, true);
    return d->default_pool;
}

static pool *current_pool(device *d) { return d->current_pool ? d->current_pool : default_pool(d); }

static CUresult device_pool(CUmemoryPool *out, CUdevice dev, pool *(*of)(device *)) {
    device *d = device_at(dev);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!d)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!conf.pools)
        return CUDA_ERROR_NOT_SUPPORTED;
    *out = of(d)->handle;
    return CUDA_SUCCESS;
}

API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev) {
    ENTER();
    LEAVE(device_pool(out, dev, default_pool));
}

API CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev) {
    ENTER();
    LEAVE(device_pool(out, dev, current_pool));
}

API CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool h) {
    ENTER();
    device *d = device_at(dev);
    pool *p = object_of(h, K_POOL);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (!p || p->dev != d)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    d->current_pool = p;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props) {
    ENTER();
    if (!conf.pools)
        LEAVE(CUDA_ERROR_NOT_SUPPORTED);
    if (!out || !props || props->allocType != 1 || props->location.type != 1)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    device *d = device_at(props->location.id);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    if (props->handleTypes)
        LEAVE(CUDA_ERROR_NOT_SUPPORTED);
    *out = new_pool(d, props->maxSize, false)->handle;
    LEAVE(CUDA_SUCCESS);
}

// What is still allocated from a destroyed pool stays usable until it is freed,
// so the pool's own memory stays as well.
API CUresult cuMemPoolDestroy(CUmemoryPool h) {
    ENTER();
    pool *p = object_of(h, K_POOL);
    if (!p || p->is_default)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (p->dev->current_pool == p)
        p->dev->current_pool = NULL;
    drop_handle(h);
    LEAVE(CUDA_SUCCESS);
}

// Reserved memory is what is in use: the double keeps none back.
static CUresult attribute(pool *p, int name, void *value, bool set) {
    if (!p || !value)
        return CUDA_ERROR_INVALID_VALUE;
    if (name >= 1 && name <= 3) {
        if (set)
            p->attributes[name] = *(int *)value != 0;
        else
            *(int *)value = p->attributes[name];
        return CUDA_SUCCESS;
    }
    uint64_t *v = value;
    switch (name) {
    case 4:
        if (set)
            p->threshold = *v;
        else
            *v = p->threshold;
        return CUDA_SUCCESS;
    case 5: case 7:
        if (set)
            return CUDA_ERROR_INVALID_VALUE;
        *v = p->used;
        return CUDA_SUCCESS;
    case 6: case 8:
        if (set && *v)
            return CUDA_ERROR_INVALID_VALUE;
        if (set)
            p->used_high = p->used;
        else
            *v = p->used_high;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuMemPoolSetAttribute(CUmemoryPool h, int name, void *value) {
    ENTER();
    LEAVE(attribute(object_of(h, K_POOL), name, value, true));
}

API CUresult cuMemPoolGetAttribute(CUmemoryPool h, int name, void *value) {
    ENTER();
    LEAVE(attribute(object_of(h, K_POOL), name, value, false));
}

API CUresult cuMemPoolTrimTo(CUmemoryPool h, size_t keep) {
    ENTER();
    (void)keep;
    LEAVE(object_of(h, K_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API CUresult cuMemPoolSetAccess(CUmemoryPool h, const CUmemAccessDesc *map, size_t n) {
    ENTER();
    pool *p = object_of(h, K_POOL);
    if (!p || (n && !map))
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < n; i++) {
        device *d = map[i].location.type == 1 ? device_at(map[i].location.id) : NULL;
        if (!d)
            LEAVE(CUDA_ERROR_INVALID_DEVICE);
        if (d == p->dev ? map[i].flags != 3 : !conf.peer)
            LEAVE(CUDA_ERROR_INVALID_DEVICE);
        if (map[i].flags == 3)
            p->access |= 1u << d->number;
        else
            p->access &= ~(1u << d->number);
    }
    LEAVE(CUDA_SUCCESS);
}

static CUresult allocate_from(context *c, pool *p, stream *s, size_t size, CUdeviceptr *out) {
    uint64_t at;
    if (!out || !size)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->cap) {
        s->cap->invalid = true; // nodes that allocate are beyond the double
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (p->max && (size > p->max || p->used > p->max - size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = allocate(p->dev, c, size, R_DEVICE, p, &at);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && s->done < s->issued) {
        // What the stream frees before is this allocation's to have.
        if ((r = wait_stream(s)))
            return r;
        r = allocate(p->dev, c, size, R_DEVICE, p, &at);
    }
    if (r)
        return r;
    p->used += size;
    if (p->used > p->used_high)
        p->used_high = p->used;
    *out = at;
    return CUDA_SUCCESS;
}

API CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream h) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    if (!s)
        LEAVE(err);
    LEAVE(conf.pools ? allocate_from(c, current_pool(c->dev), s, size, out) : CUDA_ERROR_NOT_SUPPORTED);
}

API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool ph, CUstream h) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    pool *p = object_of(ph, K_POOL);
    if (!s)
        LEAVE(err);
    LEAVE(p ? allocate_from(c, p, s, size, out) : CUDA_ERROR_INVALID_VALUE);
}

// cuMemFreeAsync also frees what cuMemAlloc made.
API CUresult cuMemFreeAsync(CUdeviceptr p, CUstream h) {
    ENTER_CTX(c);
    CUresult err;
    stream *s = stream_of(h, c, &err);
    region *r = region_within(p);
    if (!s)
        LEAVE(err);
    if (!conf.pools)
        LEAVE(CUDA_ERROR_NOT_SUPPORTED);
    if (!r || r->lo != p || r->freeing || r->kind != R_DEVICE)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (s->cap) {
        s->cap->invalid = true;
        LEAVE(CUDA_ERROR_NOT_SUPPORTED);
    }
    r->freeing = true;
    op *o = new_op(OP_FREE, c);
    o->free.address = p;
    LEAVE(enqueue(s, o));
}
