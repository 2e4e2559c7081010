// Functions and their launches.
#include "interp.h"
#include <stdlib.h>
#include <string.h>

// registers_of is a count such as ptxas might come to: PTX names far more than
// a work-item holds at a time.
static int registers_of(const fn_code *f) {
    int n = f->registers / 3 + 10;
    return n < 16 ? 16 : n > 128 ? 128 : (n + 7) & ~7;
}

static int most_threads(const fn_code *f) {
    int n = conf.registers / registers_of(f) & ~31;
    n = n > conf.max_threads ? conf.max_threads : n;
    const int *bound = f->reqntid[0] ? f->reqntid : f->maxntid;
    if (bound[0] && bound[0] * bound[1] * bound[2] < n)
        n = bound[0] * bound[1] * bound[2];
    return n;
}

static size_t most_dynamic(const function *f) {
    size_t own = f->code->shared;
    if (f->max_dynamic >= 0)
        return (size_t)f->max_dynamic;
    return own > conf.shared ? 0 : conf.shared - own;
}

API CUresult cuFuncGetAttribute(int *value, int name, CUfunction h) {
    ENTER_CTX(c);
    (void)c;
    function *f = object_of(h, K_FUNCTION);
    if (!f)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (!value)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    switch (name) {
    case 0: *value = most_threads(f->code); break;
    case 1: *value = (int)f->code->shared; break;
    case 2: *value = 0; break;
    case 3: *value = (int)f->code->locals; break;
    case 4: *value = registers_of(f->code); break;
    case 5: *value = f->code->sm; break;
    case 6: *value = conf.sm; break;
    case 7: *value = 0; break;
    case 8: *value = (int)most_dynamic(f); break;
    case 9: *value = f->carveout; break;
    default: LEAVE(CUDA_ERROR_INVALID_VALUE);
    }
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuFuncSetAttribute(CUfunction h, int name, int value) {
    ENTER_CTX(c);
    (void)c;
    function *f = object_of(h, K_FUNCTION);
    if (!f)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (name == 8) {
        if (value < 0 || (size_t)value + f->code->shared > conf.shared_optin)
            LEAVE(CUDA_ERROR_INVALID_VALUE);
        f->max_dynamic = value;
    } else if (name == 9) {
        if (value < -1 || value > 100)
            LEAVE(CUDA_ERROR_INVALID_VALUE);
        f->carveout = value;
    } else {
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    }
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuFuncSetCacheConfig(CUfunction h, int value) {
    ENTER_CTX(c);
    (void)c;
    if (!object_of(h, K_FUNCTION))
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    LEAVE(value >= 0 && value <= 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API CUresult cuFuncGetName(const char **name, CUfunction h) {
    ENTER();
    function *f = object_of(h, K_FUNCTION);
    if (!f || !name)
        LEAVE(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    *name = f->code->name;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuFuncGetModule(CUmodule *out, CUfunction h) {
    ENTER();
    function *f = object_of(h, K_FUNCTION);
    if (!f || !out)
        LEAVE(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    *out = f->mod->handle;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuFuncGetParamInfo(CUfunction h, size_t index, size_t *offset, size_t *size) {
    ENTER();
    function *f = object_of(h, K_FUNCTION);
    if (!f)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (!offset || index >= (size_t)f->code->nparams)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *offset = f->code->param_at[index];
    if (size)
        *size = f->code->param_size[index];
    LEAVE(CUDA_SUCCESS);
}

CUresult check_launch(context *c, function *f, const unsigned grid[3], const unsigned block[3], unsigned shared, bool cooperative) {
    const fn_code *code = f->code;
    if (f->mod->ctx != c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (cooperative)
        return CUDA_ERROR_NOT_SUPPORTED; // blocks run one after the other
    unsigned long threads = (unsigned long)block[0] * block[1] * block[2];
    if (!grid[0] || !grid[1] || !grid[2] || grid[0] > 2147483647u || grid[1] > 65535 || grid[2] > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    if (!block[0] || !block[1] || !block[2] || block[0] > (unsigned)conf.max_threads || block[1] > (unsigned)conf.max_threads || block[2] > 64 ||
        threads > (unsigned long)conf.max_threads)
        return CUDA_ERROR_INVALID_VALUE;
    if (code->reqntid[0])
        for (int i = 0; i < 3; i++)
            if (block[i] != (unsigned)code->reqntid[i])
                return CUDA_ERROR_INVALID_VALUE;
    if (threads > (unsigned long)most_threads(code))
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (code->shared > conf.shared || shared > most_dynamic(f))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult pack_params(function *f, void **params, void **extra, unsigned char **out, size_t *n) {
    const fn_code *code = f->code;
    const void *buffer = NULL;
    size_t size = 0;
    if (params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (i >= 8)
            return CUDA_ERROR_INVALID_VALUE;
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
            memcpy(&size, extra[i + 1], sizeof size);
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (code->params && (extra ? !buffer || size != code->params : !params))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned char *p = calloc(1, code->params + 16u);
    if (!p)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (extra && buffer)
        memcpy(p, buffer, code->params);
    for (int i = 0; params && i < code->nparams; i++) {
        if (!params[i]) {
            free(p);
            return CUDA_ERROR_INVALID_VALUE;
        }
        memcpy(p + code->param_at[i], params[i], code->param_size[i]);
    }
    *out = p;
    *n = code->params;
    return CUDA_SUCCESS;
}

static CUresult launch_on(const char *name, CUfunction h, const unsigned grid[3], const unsigned block[3], unsigned shared, CUstream sh, void **params,
                          void **extra, bool cooperative) {
    context *c;
    CUresult r = enter_context(name, &c), err;
    if (r)
        return leave(r);
    function *f = object_of(h, K_FUNCTION);
    if (!f)
        return leave(CUDA_ERROR_INVALID_HANDLE);
    stream *s = stream_of(sh, c, &err);
    if (!s)
        return leave(err);
    launch l = {.grid = {grid[0], grid[1], grid[2]}, .block = {block[0], block[1], block[2]}, .shared = shared, .fn = f};
    r = check_launch(c, f, grid, block, shared, cooperative);
    if (!r)
        r = pack_params(f, params, extra, &l.params, &l.nparams);
    if (r)
        return leave(r);
    op *o = new_op(OP_LAUNCH, c);
    o->launch = l;
    o->owned = l.params;
    return leave(enqueue(s, o));
}

API CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s,
                            void **params, void **extra) {
    const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    return launch_on(__func__, f, grid, block, shared, s, params, extra, false);
}

API CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                       CUstream s, void **params) {
    const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    return launch_on(__func__, f, grid, block, shared, s, params, NULL, true);
}

API CUresult cuLaunchKernelEx(const CUlaunchConfig *p, CUfunction f, void **params, void **extra) {
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->numAttrs)
        return CUDA_ERROR_NOT_SUPPORTED; // clusters, priorities and the like
    const unsigned grid[3] = {p->gridDimX, p->gridDimY, p->gridDimZ}, block[3] = {p->blockDimX, p->blockDimY, p->blockDimZ};
    return launch_on(__func__, f, grid, block, p->sharedMemBytes, p->hStream, params, extra, false);
}

// active is how many blocks of a size a multiprocessor holds at a time.
static int active(const function *f, int size, size_t dynamic) {
    if (size < 1 || size > most_threads(f->code) || dynamic > most_dynamic(f))
        return 0;
    int warps = (size + 31) / 32, n = 16, by_threads = 2048 / (32 * warps), by_registers = conf.registers / (registers_of(f->code) * 32 * warps);
    size_t shared = f->code->shared + dynamic + 1024, by_shared = (conf.shared_optin + 1024) / shared;
    n = by_threads < n ? by_threads : n;
    n = by_registers < n ? by_registers : n;
    return by_shared < (size_t)n ? (int)by_shared : n;
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction h, int size, size_t dynamic) {
    ENTER_CTX(c);
    (void)c;
    function *f = object_of(h, K_FUNCTION);
    if (!f)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (!n || size < 1)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *n = active(f, size, dynamic);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, CUfunction h, int size, size_t dynamic, unsigned flags) {
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : cuOccupancyMaxActiveBlocksPerMultiprocessor(n, h, size, dynamic);
}

API CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction h, CUoccupancyB2DSize dynamic_for, size_t dynamic, int limit) {
    ENTER_CTX(c);
    (void)c;
    function *f = object_of(h, K_FUNCTION);
    if (!f)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (!grid || !block)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    int most = most_threads(f->code), best = 0;
    if (limit > 0 && limit < most)
        most = limit;
    for (int size = most & ~31 ? most & ~31 : most; size > 0; size -= 32) {
        int n = active(f, size, dynamic_for ? dynamic_for(size) : dynamic);
        if (n * size > best) {
            best = n * size;
            *block = size;
            *grid = n * conf.multiprocessors;
        }
    }
    LEAVE(best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction h, CUoccupancyB2DSize dynamic_for, size_t dynamic, int limit, unsigned flags) {
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : cuOccupancyMaxPotentialBlockSize(grid, block, h, dynamic_for, dynamic, limit);
}
