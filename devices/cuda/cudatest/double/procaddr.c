// cuGetProcAddress, and the calls that say how the library is used.
#include "double.h"
#include <dlfcn.h>
#include <string.h>

// address looks a function up in this library, under the newest version of its
// name that a caller of the given CUDA version knows.
static void *address(const char *symbol, int version) {
    static const struct { const char *suffix; int since; } names[] = {{"_v4", 13000}, {"_v3", 12000}, {"_v2", 3020}, {"", 2000}};
    Dl_info self;
    char name[128];
    if (strncmp(symbol, "cu", 2) || strlen(symbol) > sizeof name - 8 || !dladdr((void *)cuGetErrorName, &self))
        return NULL;
    void *lib = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!lib)
        return NULL;
    void *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
        if (version < names[i].since)
            continue;
        snprintf(name, sizeof name, "%s%s", symbol, names[i].suffix);
        found = dlsym(lib, name);
    }
    dlclose(lib);
    return found;
}

API CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags, int *status) {
    if (!symbol || !fn || flags > 2)
        return CUDA_ERROR_INVALID_VALUE;
    *fn = address(symbol, version);
    if (status)
        *status = *fn ? 0 : 1;
    return *fn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuGetProcAddress(const char *symbol, void **fn, int version, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, fn, version, flags, NULL);
}

API CUresult cuProfilerStart(void) {
    ENTER_CTX(c);
    (void)c;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuProfilerStop(void) {
    ENTER_CTX(c);
    (void)c;
    LEAVE(CUDA_SUCCESS);
}

// cuGetExportTable: tables of functions that NVIDIA's own libraries use among
// themselves. NVRTC asks a libcuda.so.1 that the process has loaded for one,
// and gets by without.
API CUresult cuGetExportTable(const void **table, const void *id) {
    if (!table || !id)
        return CUDA_ERROR_INVALID_VALUE;
    *table = NULL;
    return CUDA_ERROR_NOT_FOUND;
}
