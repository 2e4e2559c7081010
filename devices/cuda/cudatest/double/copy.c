// Copies and fills. A copy that is asynchronous by name waits where the host
// memory is pageable, as the driver does: small sources are taken at once,
// large ones and every destination are waited for.
#include "double.h"
#include <stdlib.h>
#include <string.h>

#define STAGED ((size_t)64 << 10)

typedef enum { DEVICE, HOST, EITHER } side;

static bool in_arena(uint64_t p) {
    for (int i = 0; i < nvisible; i++) {
        device *d = &devs[visible[i]];
        if (p >= d->arena && p < d->arena + conf.memory)
            return true;
    }
    return false;
}

// resolve finds the bytes of [p, p+size): an address of a device has to lie in
// one allocation with all of them, one of the host outside of every device.
static CUresult resolve(uint64_t p, size_t size, side where, char **host, bool *pageable) {
    region *r = find_region(p, size);
    *pageable = false;
    if (r && (where != HOST || r->host == (char *)(uintptr_t)r->lo)) {
        *host = r->host + (p - r->lo);
        return CUDA_SUCCESS;
    }
    if (where == DEVICE || !p || in_arena(p) || region_within(p)) // the last: more than was registered
        return CUDA_ERROR_INVALID_VALUE;
    *host = (char *)(uintptr_t)p;
    *pageable = true;
    return CUDA_SUCCESS;
}

typedef struct {
    plane dst, src;
    size_t width, height, depth;
    bool from_pageable, to_pageable;
} box;

static CUresult queue_box(context *c, CUstream h, bool async, const box *b) {
    CUresult err;
    stream *s = async ? stream_of(h, c, &err) : c->null_stream;
    if (!s)
        return err;
    if (!async) {
        CUresult r = capture_forbids();
        if (r)
            return r;
    }
    if (s->cap && (b->from_pageable || b->to_pageable)) {
        s->cap->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (!b->width || !b->height || !b->depth)
        return CUDA_SUCCESS;
    op *o = new_op(OP_COPY, c);
    o->copy.dst = b->dst;
    o->copy.src = b->src;
    o->copy.width = b->width;
    o->copy.height = b->height;
    o->copy.depth = b->depth;
    bool wait = !async || b->to_pageable;
    if (async && b->from_pageable && !wait) {
        bool small = b->height == 1 && b->depth == 1 && b->width <= STAGED;
        if (small && (o->owned = malloc(b->width)))
            o->copy.src.host = memcpy(o->owned, b->src.host, b->width);
        else
            wait = true;
    }
    return wait ? enqueue_and_wait(s, o) : enqueue(s, o);
}

static CUresult queue_copy(context *c, CUstream h, bool async, uint64_t dst, side to, uint64_t src, side from, size_t n) {
    box b = {.width = n, .height = 1, .depth = 1};
    CUresult r = CUDA_SUCCESS;
    if (n)
        r = resolve(dst, n, to, &b.dst.host, &b.to_pageable);
    if (n && !r)
        r = resolve(src, n, from, &b.src.host, &b.from_pageable);
    return r ? r : queue_box(c, h, async, &b);
}

#define COPY(async, h, dst, to, src, from, n) \
    ENTER_CTX(c);                             \
    LEAVE(queue_copy(c, h, async, (uint64_t)(uintptr_t)(dst), to, (uint64_t)(uintptr_t)(src), from, n))

API CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n) { COPY(false, NULL, dst, EITHER, src, EITHER, n); }
API CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h) { COPY(true, h, dst, EITHER, src, EITHER, n); }
API CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n) { COPY(false, NULL, dst, DEVICE, src, HOST, n); }
API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream h) { COPY(true, h, dst, DEVICE, src, HOST, n); }
API CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t n) { COPY(false, NULL, dst, HOST, src, DEVICE, n); }
API CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream h) { COPY(true, h, dst, HOST, src, DEVICE, n); }
API CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t n) { COPY(false, NULL, dst, DEVICE, src, DEVICE, n); }
API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h) { COPY(true, h, dst, DEVICE, src, DEVICE, n); }

static CUresult peers(CUdeviceptr dst, CUcontext dh, CUdeviceptr src, CUcontext sh, size_t n) {
    context *dc = object_of(dh, K_CONTEXT), *sc = object_of(sh, K_CONTEXT);
    if (!dc || !sc || dc->gone || sc->gone)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (dc->dev->lost || sc->dev->lost)
        return dc->dev->lost ? dc->dev->lost : sc->dev->lost;
    region *d = find_region(dst, n), *s = find_region(src, n);
    if (n && (!d || !s || d->dev != dc->dev || s->dev != sc->dev))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

API CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dh, CUdeviceptr src, CUcontext sh, size_t n) {
    ENTER_CTX(c);
    CUresult r = peers(dst, dh, src, sh, n);
    LEAVE(r ? r : queue_copy(c, NULL, false, dst, DEVICE, src, DEVICE, n));
}

API CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dh, CUdeviceptr src, CUcontext sh, size_t n, CUstream h) {
    ENTER_CTX(c);
    CUresult r = peers(dst, dh, src, sh, n);
    LEAVE(r ? r : queue_copy(c, h, true, dst, DEVICE, src, DEVICE, n));
}

// part is one side of a copy of a box.
typedef struct {
    unsigned type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, pitch, rows;
} part;

static CUresult side_of(const part *p, const box *b, plane *out, bool *pageable) {
    size_t pitch = p->pitch ? p->pitch : p->x + b->width, rows = p->rows ? p->rows : p->y + b->height;
    side where;
    uint64_t at;
    *pageable = false;
    switch (p->type) {
    case CU_MEMORYTYPE_HOST: where = HOST; at = (uint64_t)(uintptr_t)p->host; break;
    case CU_MEMORYTYPE_DEVICE: where = DEVICE; at = p->device; break;
    case CU_MEMORYTYPE_UNIFIED: where = EITHER; at = p->device; break;
    default: return CUDA_ERROR_NOT_SUPPORTED; // arrays
    }
    const size_t most = (size_t)1 << 40;
    if (p->x > pitch || b->width > pitch - p->x || pitch > most || rows > most / pitch || p->y + b->height > rows ||
        p->z > most / pitch / rows || b->depth > most / pitch / rows)
        return CUDA_ERROR_INVALID_VALUE;
    at += (p->z * rows + p->y) * pitch + p->x;
    size_t span = ((b->depth - 1) * rows + b->height - 1) * pitch + b->width;
    *out = (plane){.pitch = pitch, .slice = rows * pitch};
    return resolve(at, span, where, &out->host, pageable);
}

static CUresult queue_parts(context *c, CUstream h, bool async, const part *dst, const part *src, size_t w, size_t hgt, size_t d) {
    box b = {.width = w, .height = hgt, .depth = d};
    if (!w || !hgt || !d)
        return CUDA_SUCCESS;
    CUresult r = side_of(dst, &b, &b.dst, &b.to_pageable);
    if (!r)
        r = side_of(src, &b, &b.src, &b.from_pageable);
    return r ? r : queue_box(c, h, async, &b);
}

static CUresult copy2d(const char *name, const CUDA_MEMCPY2D *p, bool async, CUstream h) {
    context *c;
    CUresult r = enter_context(name, &c);
    if (r)
        return leave(r);
    if (!p)
        return leave(CUDA_ERROR_INVALID_VALUE);
    part dst = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, p->dstY, 0, p->dstPitch, 0};
    part src = {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, p->srcY, 0, p->srcPitch, 0};
    return leave(queue_parts(c, h, async, &dst, &src, p->WidthInBytes, p->Height, 1));
}

API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *p) { return copy2d(__func__, p, false, NULL); }
API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p) { return copy2d(__func__, p, false, NULL); }
API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream h) { return copy2d(__func__, p, true, h); }

static CUresult copy3d(const char *name, const CUDA_MEMCPY3D *p, bool async, CUstream h) {
    context *c;
    CUresult r = enter_context(name, &c);
    if (r)
        return leave(r);
    if (!p || p->srcLOD || p->dstLOD)
        return leave(CUDA_ERROR_INVALID_VALUE);
    part dst = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, p->dstY, p->dstZ, p->dstPitch, p->dstHeight};
    part src = {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, p->srcY, p->srcZ, p->srcPitch, p->srcHeight};
    return leave(queue_parts(c, h, async, &dst, &src, p->WidthInBytes, p->Height, p->Depth));
}

API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *p) { return copy3d(__func__, p, false, NULL); }
API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream h) { return copy3d(__func__, p, true, h); }

static CUresult queue_fill(context *c, CUstream h, bool async, CUdeviceptr dst, size_t pitch, uint32_t value, int size, size_t w, size_t rows) {
    CUresult err;
    stream *s = async ? stream_of(h, c, &err) : c->null_stream;
    if (!s)
        return err;
    if (!async && (err = capture_forbids()))
        return err;
    if (!w || !rows)
        return CUDA_SUCCESS;
    const size_t most = (size_t)1 << 40;
    if (w > most || pitch > most || rows > most / (pitch ? pitch : 1) || (rows > 1 && w * (size_t)size > pitch) || dst % (unsigned)size || pitch % (unsigned)size)
        return CUDA_ERROR_INVALID_VALUE;
    region *r = find_region(dst, (rows - 1) * pitch + w * (size_t)size);
    if (!r)
        return CUDA_ERROR_INVALID_VALUE;
    op *o = new_op(OP_FILL, c);
    o->fill.dst = (plane){.host = r->host + (dst - r->lo), .pitch = pitch};
    o->fill.value = value;
    o->fill.size = size;
    o->fill.width = w;
    o->fill.height = rows;
    return async ? enqueue(s, o) : enqueue_and_wait(s, o);
}

#define FILL(async, h, pitch, size, w, rows) \
    ENTER_CTX(c);                            \
    LEAVE(queue_fill(c, h, async, p, pitch, v, size, w, rows))

API CUresult cuMemsetD8_v2(CUdeviceptr p, unsigned char v, size_t n) { FILL(false, NULL, 0, 1, n, 1); }
API CUresult cuMemsetD16_v2(CUdeviceptr p, unsigned short v, size_t n) { FILL(false, NULL, 0, 2, n, 1); }
API CUresult cuMemsetD32_v2(CUdeviceptr p, unsigned v, size_t n) { FILL(false, NULL, 0, 4, n, 1); }
API CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream h) { FILL(true, h, 0, 1, n, 1); }
API CUresult cuMemsetD16Async(CUdeviceptr p, unsigned short v, size_t n, CUstream h) { FILL(true, h, 0, 2, n, 1); }
API CUresult cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream h) { FILL(true, h, 0, 4, n, 1); }
API CUresult cuMemsetD2D8_v2(CUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t rows) { FILL(false, NULL, pitch, 1, w, rows); }
API CUresult cuMemsetD2D16_v2(CUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t rows) { FILL(false, NULL, pitch, 2, w, rows); }
API CUresult cuMemsetD2D32_v2(CUdeviceptr p, size_t pitch, unsigned v, size_t w, size_t rows) { FILL(false, NULL, pitch, 4, w, rows); }
API CUresult cuMemsetD2D8Async(CUdeviceptr p, size_t pitch, unsigned char v, size_t w, size_t rows, CUstream h) { FILL(true, h, pitch, 1, w, rows); }
API CUresult cuMemsetD2D16Async(CUdeviceptr p, size_t pitch, unsigned short v, size_t w, size_t rows, CUstream h) { FILL(true, h, pitch, 2, w, rows); }
API CUresult cuMemsetD2D32Async(CUdeviceptr p, size_t pitch, unsigned v, size_t w, size_t rows, CUstream h) { FILL(true, h, pitch, 4, w, rows); }

static CUresult word(context *c, CUstream h, op_kind k, CUdeviceptr p, uint64_t v, int size, unsigned flags) {
    CUresult err;
    stream *s = stream_of(h, c, &err);
    region *r = find_region(p, (size_t)size);
    if (!s)
        return err;
    if (!r || p % (unsigned)size || flags > 3)
        return CUDA_ERROR_INVALID_VALUE;
    op *o = new_op(k, c);
    o->word.at = r->host + (p - r->lo);
    o->word.value = v;
    o->word.size = size;
    o->word.flags = flags;
    return enqueue(s, o);
}

API CUresult cuStreamWriteValue32_v2(CUstream h, CUdeviceptr p, uint32_t v, unsigned flags) {
    ENTER_CTX(c);
    LEAVE(word(c, h, OP_WRITE, p, v, 4, flags));
}

API CUresult cuStreamWriteValue64_v2(CUstream h, CUdeviceptr p, uint64_t v, unsigned flags) {
    ENTER_CTX(c);
    LEAVE(word(c, h, OP_WRITE, p, v, 8, flags));
}

API CUresult cuStreamWaitValue32_v2(CUstream h, CUdeviceptr p, uint32_t v, unsigned flags) {
    ENTER_CTX(c);
    LEAVE(word(c, h, OP_AWAIT, p, v, 4, flags));
}

API CUresult cuStreamWaitValue64_v2(CUstream h, CUdeviceptr p, uint64_t v, unsigned flags) {
    ENTER_CTX(c);
    LEAVE(word(c, h, OP_AWAIT, p, v, 8, flags));
}
