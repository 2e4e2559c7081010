// What every function does first: is the library initialised, is a rule set
// against this call, is a usable context current.
#include "double.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t G = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t progress = PTHREAD_COND_INITIALIZER;
bool inited;

#define MAX_FUNCTIONS 512
static struct { char name[64]; long n; } counts[MAX_FUNCTIONS];
static int ncounts;

void complain(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "tandem CUDA double: %s\n", text);
}

// stem is the name without the version that the binary interface adds.
static void stem(const char *name, char out[64]) {
    size_t n = strlen(name);
    if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v')
        n -= 3;
    if (n > 63)
        n = 63;
    memcpy(out, name, n);
    out[n] = 0;
}

static long *counter(const char *name) {
    char s[64];
    stem(name, s);
    for (int i = 0; i < ncounts; i++)
        if (!strcmp(counts[i].name, s))
            return &counts[i].n;
    if (ncounts == MAX_FUNCTIONS)
        abort();
    strcpy(counts[ncounts].name, s);
    counts[ncounts].n = 0;
    return &counts[ncounts++].n;
}

long calls_of(const char *name) { return *counter(name); }

CUresult rule_for(const char *name) {
    char s[64];
    long n = ++*counter(name);
    if (!conf.nrules)
        return CUDA_SUCCESS;
    stem(name, s);
    for (int i = 0; i < conf.nrules; i++) {
        const rule *r = &conf.rules[i];
        if (!strcmp(r->name, s) && (n == r->first || (r->onwards && n > r->first)))
            return r->code;
    }
    return CUDA_SUCCESS;
}

CUresult enter(const char *name) {
    pthread_mutex_lock(&G);
    if (!inited)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (in_callback)
        return CUDA_ERROR_NOT_PERMITTED;
    return rule_for(name);
}

CUresult enter_context(const char *name, context **c) {
    CUresult r = enter(name);
    if (r)
        return r;
    *c = current();
    if (!*c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if ((*c)->gone)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    device *d = (*c)->dev;
    d->calls++;
    for (int i = 0; i < conf.nlosses; i++)
        if (conf.losses[i].device == d->number && d->calls >= conf.losses[i].call && !d->lost)
            lose(d, conf.losses[i].code);
    return context_usable(*c);
}

CUresult leave(CUresult r) {
    pthread_mutex_unlock(&G);
    return r;
}

// The two functions below are not CUDA's: tests of programs that hold the
// double loaded change its rules and read its counters through them.

// tandemDoubleSet replaces the rules (fail=, lose=) and starts all counters of
// calls anew; other settings in text are refused with INVALID_VALUE.
API CUresult tandemDoubleSet(const char *text) {
    char said[256];
    settings s = conf;
    pthread_mutex_lock(&G);
    s.nrules = s.nlosses = 0;
    if (!parse_settings(text ? text : "", &s, said, sizeof said)) {
        complain("tandemDoubleSet: %s", said);
        return leave(CUDA_ERROR_INVALID_VALUE);
    }
    memcpy(conf.rules, s.rules, sizeof conf.rules);
    memcpy(conf.losses, s.losses, sizeof conf.losses);
    conf.nrules = s.nrules;
    conf.nlosses = s.nlosses;
    conf.steps = s.steps;
    ncounts = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        devs[i].calls = 0;
    return leave(CUDA_SUCCESS);
}

// tandemDoubleCount is how often a function was called (its name without
// _v2), how many kernels ran ("kernel"), how many objects are live ("live
// contexts", streams, events, modules, graphs, execs, pools), how many bytes
// ("live device memory", "live pinned memory"), and -1 for another name.
API long tandemDoubleCount(const char *what) {
    static const struct { const char *name; kind k; } kinds[] = {
        {"live contexts", K_CONTEXT}, {"live streams", K_STREAM}, {"live events", K_EVENT}, {"live modules", K_MODULE},
        {"live graphs", K_GRAPH}, {"live execs", K_EXEC}, {"live pools", K_POOL}};
    long n = -1;
    if (!what)
        return -1;
    pthread_mutex_lock(&G);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(what, kinds[i].name))
            n = live_handles(kinds[i].k);
    if (!strcmp(what, "live device memory")) {
        n = 0;
        for (int i = 0; i < MAX_DEVICES; i++)
            n += (long)devs[i].used;
    } else if (!strcmp(what, "live pinned memory")) {
        n = (long)pinned_bytes();
    } else if (!strncmp(what, "cu", 2) || !strcmp(what, "kernel")) {
        n = calls_of(what);
    }
    pthread_mutex_unlock(&G);
    return n;
}
