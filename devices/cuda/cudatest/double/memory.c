// Memory: one table of the address ranges that mean something. A device's
// addresses are reserved and unreadable: a host that follows one faults. The
// bytes lie elsewhere.
#include "double.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALIGN 512u

// The table changes under G and table_lock both; kernels read it under
// table_lock alone.
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static region *table;
static int count, room;
static uint64_t next_id = 1;

CUresult reserve(device *d) {
    if (d->backing)
        return CUDA_SUCCESS;
    size_t size = conf.memory;
    void *addresses = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED || bytes == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    d->arena = (uint64_t)(uintptr_t)addresses;
    d->backing = bytes;
    return CUDA_SUCCESS;
}

// after is the position of the first region that ends above address.
static int after(uint64_t address) {
    int lo = 0, hi = count;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (table[mid].hi <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

region *region_within(uint64_t address) {
    int i = after(address);
    return i < count && table[i].lo <= address ? &table[i] : NULL;
}

region *find_region(uint64_t address, size_t size) {
    region *r = region_within(address);
    return r && size <= r->hi - address ? r : NULL;
}

bool translate(uint64_t address, uint64_t *lo, uint64_t *hi, char **host, device **dev, region_kind *k) {
    pthread_rwlock_rdlock(&table_lock);
    region *r = region_within(address);
    if (r) {
        *lo = r->lo;
        *hi = r->hi;
        *host = r->host;
        *dev = r->dev;
        *k = r->kind;
    }
    pthread_rwlock_unlock(&table_lock);
    return r != NULL;
}

static bool insert(region r) {
    if (count == room) {
        int n = room ? 2 * room : 64;
        pthread_rwlock_wrlock(&table_lock);
        region *t = realloc(table, (size_t)n * sizeof *t);
        if (t) {
            table = t;
            room = n;
        }
        pthread_rwlock_unlock(&table_lock);
        if (!t)
            return false;
    }
    r.id = next_id++;
    pthread_rwlock_wrlock(&table_lock);
    int i = after(r.lo);
    memmove(table + i + 1, table + i, (size_t)(count - i) * sizeof *table);
    table[i] = r;
    count++;
    pthread_rwlock_unlock(&table_lock);
    return true;
}

static void take_out(region *r) {
    pthread_rwlock_wrlock(&table_lock);
    memmove(r, r + 1, (size_t)(table + count - r - 1) * sizeof *r);
    count--;
    pthread_rwlock_unlock(&table_lock);
}

size_t pinned_bytes(void) {
    size_t n = 0;
    for (int i = 0; i < count; i++)
        if (table[i].kind == R_PINNED || table[i].kind == R_REGISTERED)
            n += table[i].hi - table[i].lo;
    return n;
}

// gap is the lowest place of d's arena that size bytes fit in, or 0.
static uint64_t gap(const device *d, size_t size) {
    uint64_t at = d->arena, end = d->arena + conf.memory;
    for (int i = after(at); i < count && table[i].lo < end; i++) {
        if (table[i].lo - at >= size)
            return at;
        at = (table[i].hi + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    }
    return at <= end && end - at >= size ? at : 0;
}

CUresult allocate(device *d, context *c, size_t size, region_kind k, pool *p, uint64_t *address) {
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    if (size > conf.memory || size > conf.max_alloc)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t whole = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (whole > conf.memory - d->used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t at = gap(d, whole);
    if (!at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    char *host = d->backing + (at - d->arena);
    if (!insert((region){.lo = at, .hi = at + size, .host = host, .kind = k, .dev = d, .ctx = c, .pool = p}))
        return CUDA_ERROR_OUT_OF_MEMORY;
    d->used += whole;
    // New memory holds what was there before; a pattern makes that seen.
    memset(host, 0xcd, size < (1u << 20) ? size : 1u << 20);
    *address = at;
    return CUDA_SUCCESS;
}

CUresult release(uint64_t address) {
    region *r = region_within(address);
    if (!r || r->lo != address)
        return CUDA_ERROR_INVALID_VALUE;
    size_t size = r->hi - r->lo, page = (size_t)sysconf(_SC_PAGESIZE);
    switch (r->kind) {
    case R_DEVICE:
    case R_MODULE:
        r->dev->used -= (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        if (size >= 1 << 20) {
            uintptr_t from = ((uintptr_t)r->host + page - 1) & ~(page - 1), to = ((uintptr_t)r->host + size) & ~(page - 1);
            madvise((void *)from, to - from, MADV_DONTNEED);
        }
        break;
    case R_PINNED:
    case R_MANAGED:
        if (munmap(r->host, (size + page - 1) & ~(page - 1)))
            return CUDA_ERROR_INVALID_VALUE;
        break;
    case R_REGISTERED:
        break;
    }
    take_out(r);
    return CUDA_SUCCESS;
}

void release_context_memory(context *c) {
    for (int i = 0; i < count;)
        if (table[i].ctx == c)
            release(table[i].lo);
        else
            i++;
}

bool is_pinned(const void *p, size_t size) {
    return find_region((uint64_t)(uintptr_t)p, size) != NULL;
}

API CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    ENTER_CTX(c);
    if (free)
        *free = conf.memory - c->dev->used;
    if (total)
        *total = conf.memory;
    LEAVE(CUDA_SUCCESS);
}

static CUresult allocate_device(const char *name, CUdeviceptr *p, size_t size) {
    context *c;
    CUresult r = enter_context(name, &c);
    if (r)
        LEAVE(r);
    if (!p)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    r = capture_forbids();
    uint64_t at;
    if (!r && !(r = allocate(c->dev, c, size, R_DEVICE, NULL, &at)))
        *p = at;
    LEAVE(r);
}

API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t size) { return allocate_device(__func__, p, size); }

API CUresult cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t width, size_t height, unsigned element) {
    if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16) || width > SIZE_MAX / 4)
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = (width + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (height > SIZE_MAX / row)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = allocate_device(__func__, p, row * height);
    if (!r)
        *pitch = row;
    return r;
}

// cuMemFree waits for all that is queued in the context, as the driver does.
API CUresult cuMemFree_v2(CUdeviceptr p) {
    ENTER_CTX(c);
    if (!p)
        LEAVE(CUDA_SUCCESS);
    region *r = region_within(p);
    if (!r || r->lo != p || r->freeing || (r->kind != R_DEVICE && r->kind != R_MANAGED))
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    CUresult e = capture_forbids();
    if (e)
        LEAVE(e);
    r->freeing = true;
    wait_context(r->ctx ? r->ctx : c);
    r = region_within(p);
    if (r->pool)
        r->pool->used -= r->hi - r->lo;
    release(p);
    LEAVE(context_usable(c));
}

static CUresult host_memory(context *c, size_t size, region_kind k, unsigned flags, void **out) {
    if (!out || !size)
        return CUDA_ERROR_INVALID_VALUE;
    size_t pinned = pinned_bytes();
    if (k == R_PINNED && (pinned > conf.memlock || size > conf.memlock - pinned))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (size > (size_t)1 << 40)
        return CUDA_ERROR_OUT_OF_MEMORY;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t at = (uint64_t)(uintptr_t)p;
    if (!insert((region){.lo = at, .hi = at + size, .host = p, .kind = k, .dev = c->dev, .ctx = c, .flags = flags})) {
        munmap(p, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = p;
    return CUDA_SUCCESS;
}

API CUresult cuMemHostAlloc(void **p, size_t size, unsigned flags) {
    ENTER_CTX(c);
    if (flags & ~(unsigned)CU_MEMHOSTALLOC_FLAGS)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    CUresult r = capture_forbids();
    LEAVE(r ? r : host_memory(c, size, R_PINNED, flags, p));
}

API CUresult cuMemAllocHost_v2(void **p, size_t size) {
    ENTER_CTX(c);
    CUresult r = capture_forbids();
    LEAVE(r ? r : host_memory(c, size, R_PINNED, 0, p));
}

API CUresult cuMemFreeHost(void *p) {
    ENTER_CTX(c);
    region *r = region_within((uint64_t)(uintptr_t)p);
    if (!r || r->host != p || r->kind != R_PINNED || r->freeing)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    r->freeing = true;
    wait_context(r->ctx);
    release((uint64_t)(uintptr_t)p);
    LEAVE(context_usable(c));
}

API CUresult cuMemHostRegister_v2(void *p, size_t size, unsigned flags) {
    ENTER_CTX(c);
    uint64_t at = (uint64_t)(uintptr_t)p;
    if (!p || !size || size > SIZE_MAX - at || flags & ~(unsigned)CU_MEMHOSTREGISTER_FLAGS)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!conf.registering || flags & 12)
        LEAVE(CUDA_ERROR_NOT_SUPPORTED);
    int i = after(at);
    if (i < count && table[i].lo < at + size)
        LEAVE(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    // Pages that are not there cannot be locked.
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t first = at & ~(uint64_t)(page - 1);
    for (uint64_t q = first; q < at + size; q += page << 10) {
        unsigned char in[1024];
        size_t n = at + size - q < page << 10 ? at + size - q : page << 10;
        if (mincore((void *)(uintptr_t)q, n, in))
            LEAVE(CUDA_ERROR_INVALID_VALUE);
    }
    size_t pinned = pinned_bytes();
    if (pinned > conf.memlock || size > conf.memlock - pinned)
        LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
    LEAVE(insert((region){.lo = at, .hi = at + size, .host = p, .kind = R_REGISTERED, .dev = c->dev, .ctx = c, .flags = flags})
              ? CUDA_SUCCESS
              : CUDA_ERROR_OUT_OF_MEMORY);
}

API CUresult cuMemHostUnregister(void *p) {
    ENTER_CTX(c);
    region *r = region_within((uint64_t)(uintptr_t)p);
    if (!r || r->kind != R_REGISTERED)
        LEAVE(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    if (r->host != p)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    wait_context(r->ctx);
    take_out(region_within((uint64_t)(uintptr_t)p));
    LEAVE(context_usable(c));
}

API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *dp, void *p, unsigned flags) {
    ENTER_CTX(c);
    (void)c;
    region *r = region_within((uint64_t)(uintptr_t)p);
    if (!dp || flags || !r || (r->kind != R_PINNED && r->kind != R_REGISTERED))
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *dp = (uint64_t)(uintptr_t)p;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuMemHostGetFlags(unsigned *flags, void *p) {
    ENTER_CTX(c);
    (void)c;
    region *r = region_within((uint64_t)(uintptr_t)p);
    if (!flags || !r || r->kind != R_PINNED)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *flags = r->flags;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuMemAllocManaged(CUdeviceptr *p, size_t size, unsigned flags) {
    ENTER_CTX(c);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!conf.managed)
        LEAVE(CUDA_ERROR_NOT_SUPPORTED);
    void *q = NULL;
    CUresult r = p ? host_memory(c, size, R_MANAGED, flags, &q) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *p = (uint64_t)(uintptr_t)q;
    LEAVE(r);
}

API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr p) {
    ENTER_CTX(c);
    (void)c;
    region *r = region_within(p);
    if (!r)
        LEAVE(CUDA_ERROR_NOT_FOUND);
    if (base)
        *base = r->lo;
    if (size)
        *size = r->hi - r->lo;
    LEAVE(CUDA_SUCCESS);
}

static CUresult pointer_attribute(void *out, int name, uint64_t p) {
    region *r = region_within(p);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (name == 13) { // mapped
        *(unsigned *)out = r != NULL;
        return CUDA_SUCCESS;
    }
    if (!r)
        return CUDA_ERROR_INVALID_VALUE;
    bool on_device = r->kind == R_DEVICE || r->kind == R_MODULE;
    switch (name) {
    case 1: *(CUcontext *)out = r->ctx ? r->ctx->handle : NULL; return CUDA_SUCCESS;
    case 2: *(unsigned *)out = on_device || r->kind == R_MANAGED ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST; return CUDA_SUCCESS;
    case 3: *(CUdeviceptr *)out = p; return CUDA_SUCCESS;
    case 4:
        if (on_device)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)out = (void *)(uintptr_t)p;
        return CUDA_SUCCESS;
    case 6: *(unsigned *)out = 0; return CUDA_SUCCESS;
    case 7: *(unsigned long long *)out = r->id; return CUDA_SUCCESS;
    case 8: *(unsigned *)out = r->kind == R_MANAGED; return CUDA_SUCCESS;
    case 9:
        for (int i = 0; i < nvisible; i++)
            if (visible[i] == r->dev->number)
                *(int *)out = i;
        return CUDA_SUCCESS;
    case 11: *(CUdeviceptr *)out = r->lo; return CUDA_SUCCESS;
    case 12: *(size_t *)out = r->hi - r->lo; return CUDA_SUCCESS;
    case 17: *(CUmemoryPool *)out = r->pool ? r->pool->handle : NULL; return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

API CUresult cuPointerGetAttribute(void *out, int name, CUdeviceptr p) {
    ENTER_CTX(c);
    (void)c;
    LEAVE(pointer_attribute(out, name, p));
}

// An address that is not CUDA's gets zeros from this one, and no error.
API CUresult cuPointerGetAttributes(unsigned n, int *names, void **out, CUdeviceptr p) {
    ENTER_CTX(c);
    (void)c;
    if (!names || !out || n > 64)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < n; i++)
        if (pointer_attribute(out[i], names[i], p) == CUDA_ERROR_INVALID_VALUE && out[i])
            memset(out[i], 0, names[i] == 2 || names[i] == 8 || names[i] == 9 || names[i] == 13 || names[i] == 6 ? 4 : 8);
    LEAVE(CUDA_SUCCESS);
}

// Hints: where the bytes of managed memory lie makes no difference here.
static CUresult managed(const char *name, CUdeviceptr p, size_t size, bool rest_ok) {
    context *c;
    CUresult r = enter_context(name, &c);
    if (r)
        LEAVE(r);
    region *g = find_region(p, size);
    LEAVE(g && g->kind == R_MANAGED && rest_ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static bool advice_ok(int advice) { return advice >= 1 && advice <= 6; }
static bool place_ok(CUmemLocation l) { return l.type == 1 ? device_at(l.id) != NULL : l.type >= 2 && l.type <= 4; }

API CUresult cuMemAdvise(CUdeviceptr p, size_t size, int advice, CUdevice dev) {
    (void)dev;
    return managed(__func__, p, size, advice_ok(advice));
}

API CUresult cuMemAdvise_v2(CUdeviceptr p, size_t size, int advice, CUmemLocation place) {
    return managed(__func__, p, size, advice_ok(advice) && place_ok(place));
}

API CUresult cuMemPrefetchAsync(CUdeviceptr p, size_t size, CUdevice dev, CUstream h) {
    (void)h;
    return managed(__func__, p, size, dev == -1 || device_at(dev));
}

API CUresult cuMemPrefetchAsync_v2(CUdeviceptr p, size_t size, CUmemLocation place, unsigned flags, CUstream h) {
    (void)h;
    return managed(__func__, p, size, place_ok(place) && !flags);
}
