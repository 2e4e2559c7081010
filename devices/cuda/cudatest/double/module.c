// Modules: PTX, alone or in a fat binary, and what is in it.
#include "interp.h"
#include <stdlib.h>
#include <string.h>

static module *modules;

// The newest PTX that a driver of a CUDA version takes, times ten.
static int newest_ptx(int version) {
    static const int of12[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
    int major = version / 1000, minor = version % 1000 / 10;
    if (major >= 13)
        return 10 * (major - 4) + minor;
    return major == 12 ? of12[minor > 9 ? 9 : minor] : 70 + (minor > 8 ? 8 : minor);
}

static void drop_module(module *m) {
    for (module **p = &modules; *p; p = &(*p)->next)
        if (*p == m) {
            *p = m->next;
            break;
        }
    for (int i = 0; i < m->nfunctions; i++) {
        drop_handle(m->functions[i]->handle);
        free(m->functions[i]);
    }
    for (int i = 0; i < m->nvars; i++)
        if (m->vars[i].space != SP_SHARED && m->vars[i].address)
            release(m->vars[i].address);
    free(m->functions);
    drop_code(m);
    if (m->handle)
        drop_handle(m->handle);
    free(m);
}

void drop_modules(context *c) {
    for (module *m = modules, *next; m; m = next) {
        next = m->next;
        if (m->ctx == c)
            drop_module(m);
    }
}

static variable *named(module *m, const char *name) {
    for (int i = 0; i < m->nvars; i++)
        if (!strcmp(m->vars[i].name, name))
            return &m->vars[i];
    return NULL;
}

// place_variables gives the variables memory and their first values.
static CUresult place_variables(module *m, char *said, size_t room) {
    for (int i = 0; i < m->nvars; i++) {
        variable *v = &m->vars[i];
        if (v->space == SP_SHARED || v->is_extern)
            continue;
        CUresult r = allocate(m->ctx->dev, m->ctx, v->size ? v->size : 1, R_MODULE, NULL, &v->address);
        if (r) {
            snprintf(said, room, "no memory for the %u bytes of %s", v->size, v->name);
            return r;
        }
        region *g = region_within(v->address);
        memcpy(g->host, v->init, v->size);
    }
    for (int i = 0; i < m->nvars; i++) {
        variable *v = &m->vars[i];
        for (int k = 0; k < v->nfixes; k++) {
            variable *to = named(m, v->fixes[k].symbol);
            if (!to || to->space == SP_SHARED || to->is_extern) {
                snprintf(said, room, "the first value of %s is the address of %s, which is no variable that the double knows", v->name, v->fixes[k].symbol);
                return CUDA_ERROR_INVALID_PTX;
            }
            uint64_t address = to->address + (uint64_t)v->fixes[k].add;
            memcpy(region_within(v->address)->host + v->fixes[k].at, &address, 8);
        }
    }
    return CUDA_SUCCESS;
}

static CUresult load_ptx(context *c, const char *text, size_t size, module **out, char *said, size_t room) {
    module *m = calloc(1, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->ctx = c;
    m->nsites = 1; // the place 0 is nobody's
    m->next = modules;
    modules = m;
    CUresult r = scan_ptx(text, size, m, said, room) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
    if (!r && m->version > newest_ptx(conf.version)) {
        snprintf(said, room, "PTX %d.%d is newer than %d.%d, which CUDA %d.%d takes", m->version / 10, m->version % 10, newest_ptx(conf.version) / 10,
                 newest_ptx(conf.version) % 10, conf.version / 1000, conf.version % 1000 / 10);
        r = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (!r && m->sm > conf.sm) {
        snprintf(said, room, "PTX for sm_%d, the device is sm_%d", m->sm, conf.sm);
        r = CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (!r)
        r = place_variables(m, said, room);
    if (!r && !decode_ptx(text, size, m, said, room))
        r = CUDA_ERROR_INVALID_PTX;
    for (int i = 0; i < m->nfns && !r; i++)
        measure(m->fns[i]);
    if (r) {
        drop_module(m);
        return r;
    }
    m->handle = new_handle(K_MODULE, m);
    *out = m;
    return CUDA_SUCCESS;
}

typedef struct { uint32_t magic; uint16_t version, header; uint64_t size; } fat_header;
typedef struct {
    uint16_t kind, version;
    uint32_t header;
    uint64_t size;
    uint32_t compressed, options;
    uint16_t minor, major;
    uint32_t arch;
} fat_entry;

#define FAT_MAGIC 0xba55ed50u
#define FAT_WRAPPER 0x466243b1u

// load_fat takes the PTX for the newest target that the device has. Machine
// code is not for the double.
static CUresult load_fat(context *c, const char *image, module **out, char *said, size_t room) {
    fat_header h;
    memcpy(&h, image, sizeof h);
    const char *best = NULL;
    size_t best_size = 0;
    uint32_t arch = 0;
    for (uint64_t at = h.header; h.header >= sizeof h && at + sizeof(fat_entry) <= h.header + h.size;) {
        fat_entry e;
        memcpy(&e, image + at, sizeof e);
        if (e.header < sizeof e || e.size > h.size || at + e.header + e.size > h.header + h.size) {
            snprintf(said, room, "a damaged fat binary");
            return CUDA_ERROR_INVALID_IMAGE;
        }
        if (e.kind == 1 && e.arch <= (uint32_t)conf.sm && e.arch >= arch && !(e.compressed && e.compressed != e.size)) {
            best = image + at + e.header;
            best_size = strnlen(best, e.size);
            arch = e.arch;
        }
        at += e.header + e.size;
    }
    if (!best) {
        snprintf(said, room, "no PTX for sm_%d, uncompressed, in the fat binary; the double executes nothing else", conf.sm);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    return load_ptx(c, best, best_size, out, said, room);
}

static CUresult load(context *c, const void *image, module **out, char *said, size_t room) {
    uint32_t magic;
    const char *text = image;
    memcpy(&magic, image, 1);
    if (!memcmp(text, "\177ELF", 4)) {
        snprintf(said, room, "the image is machine code (a cubin); the double executes PTX");
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    memcpy(&magic, image, 4);
    if (magic == FAT_WRAPPER) {
        memcpy(&text, (const char *)image + 8, sizeof text);
        memcpy(&magic, text, 4);
    }
    if (magic == FAT_MAGIC)
        return load_fat(c, text, out, said, room);
    size_t size = strnlen(text, MAX_PTX + 1);
    if (!memmem(text, size, ".version", 8)) {
        snprintf(said, room, "the image is neither PTX nor a fat binary");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    return load_ptx(c, text, size, out, said, room);
}

// The options of a load that the double looks at.
enum { JIT_WALL_TIME = 2, JIT_INFO_LOG = 3, JIT_INFO_SIZE = 4, JIT_ERROR_LOG = 5, JIT_ERROR_SIZE = 6, JIT_OPTIONS = 40 };

static CUresult load_with(const char *name, CUmodule *out, const void *image, unsigned n, const int *options, void **values) {
    context *c;
    CUresult r = enter_context(name, &c);
    char said[1024] = "";
    char *log = NULL, *info = NULL;
    size_t room = 0, info_room = 0;
    module *m = NULL;
    if (r)
        LEAVE(r);
    if (!out || !image || (n && (!options || !values)))
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if ((r = capture_forbids()))
        LEAVE(r);
    for (unsigned i = 0; i < n; i++) {
        switch (options[i]) {
        case JIT_INFO_LOG: info = values[i]; break;
        case JIT_INFO_SIZE: info_room = (unsigned)(uintptr_t)values[i]; break;
        case JIT_ERROR_LOG: log = values[i]; break;
        case JIT_ERROR_SIZE: room = (unsigned)(uintptr_t)values[i]; break;
        }
        if (options[i] < 0 || options[i] > JIT_OPTIONS)
            LEAVE(CUDA_ERROR_INVALID_VALUE);
    }
    int64_t begun = now_ns();
    r = load(c, image, &m, said, sizeof said);
    if (r && r != CUDA_ERROR_OUT_OF_MEMORY)
        complain("%s: %s", name, said);
    size_t wrote = 0;
    if (log && room) {
        snprintf(log, room, "%s%s", r ? "tandem CUDA double: " : "", said);
        wrote = strlen(log);
    }
    if (info && info_room)
        *info = 0;
    for (unsigned i = 0; i < n; i++) {
        float ms = (float)((double)(now_ns() - begun) / 1e6);
        if (options[i] == JIT_ERROR_SIZE)
            values[i] = (void *)(uintptr_t)wrote;
        if (options[i] == JIT_INFO_SIZE)
            values[i] = NULL;
        if (options[i] == JIT_WALL_TIME)
            memcpy(&values[i], &ms, sizeof ms);
    }
    if (!r)
        *out = m->handle;
    LEAVE(r);
}

API CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, int *options, void **values) {
    return load_with(__func__, out, image, n, options, values);
}

API CUresult cuModuleLoadData(CUmodule *out, const void *image) { return load_with(__func__, out, image, 0, NULL, NULL); }
API CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image) { return load_with(__func__, out, image, 0, NULL, NULL); }

API CUresult cuModuleLoad(CUmodule *out, const char *file) {
    FILE *f = file ? fopen(file, "rb") : NULL;
    if (!f)
        return file ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    char *text = calloc(1, MAX_PTX + 1);
    size_t n = text ? fread(text, 1, MAX_PTX, f) : 0;
    fclose(f);
    CUresult r = n < 4 ? CUDA_ERROR_INVALID_IMAGE : load_with(__func__, out, text, 0, NULL, NULL);
    free(text);
    return r;
}

API CUresult cuModuleUnload(CUmodule h) {
    ENTER_CTX(c);
    module *m = object_of(h, K_MODULE);
    if (!m)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (m->ctx != c)
        LEAVE(CUDA_ERROR_INVALID_CONTEXT);
    drop_handle(h);
    m->handle = NULL;
    wait_context(c);
    drop_module(m);
    LEAVE(context_usable(c));
}

static function *function_for(module *m, fn_code *code) {
    for (int i = 0; i < m->nfunctions; i++)
        if (m->functions[i]->code == code)
            return m->functions[i];
    function *f = calloc(1, sizeof *f);
    function **list = realloc(m->functions, (size_t)(m->nfunctions + 1) * sizeof *list);
    if (!f || !list)
        abort();
    m->functions = list;
    m->functions[m->nfunctions++] = f;
    f->mod = m;
    f->code = code;
    f->max_dynamic = -1;
    f->carveout = -1;
    f->handle = new_handle(K_FUNCTION, f);
    return f;
}

API CUresult cuModuleGetFunction(CUfunction *out, CUmodule h, const char *name) {
    ENTER_CTX(c);
    (void)c;
    module *m = object_of(h, K_MODULE);
    if (!m)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (!out || !name)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < m->nfns; i++)
        if (m->fns[i]->entry && m->fns[i]->defined && !strcmp(m->fns[i]->name, name)) {
            *out = function_for(m, m->fns[i])->handle;
            LEAVE(CUDA_SUCCESS);
        }
    LEAVE(CUDA_ERROR_NOT_FOUND);
}

API CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule h) {
    ENTER();
    module *m = object_of(h, K_MODULE);
    if (!m || !n)
        LEAVE(m ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    *n = 0;
    for (int i = 0; i < m->nfns; i++)
        *n += m->fns[i]->entry && m->fns[i]->defined;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned n, CUmodule h) {
    ENTER();
    module *m = object_of(h, K_MODULE);
    if (!m || !out)
        LEAVE(m ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    unsigned k = 0;
    for (int i = 0; i < m->nfns && k < n; i++)
        if (m->fns[i]->entry && m->fns[i]->defined)
            out[k++] = function_for(m, m->fns[i])->handle;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *size, CUmodule h, const char *name) {
    ENTER_CTX(c);
    (void)c;
    module *m = object_of(h, K_MODULE);
    if (!m)
        LEAVE(CUDA_ERROR_INVALID_HANDLE);
    if (!name || (!p && !size))
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    variable *v = named(m, name);
    if (!v || v->space == SP_SHARED || v->is_extern)
        LEAVE(CUDA_ERROR_NOT_FOUND);
    if (p)
        *p = v->address;
    if (size)
        *size = v->size;
    LEAVE(CUDA_SUCCESS);
}

// Modules are loaded at once: mode 1, eager.
API CUresult cuModuleGetLoadingMode(int *mode) {
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = 1;
    return CUDA_SUCCESS;
}
