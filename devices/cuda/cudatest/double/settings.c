// What the double is told by TANDEM_CUDA_DOUBLE.
#include "double.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

settings conf;

static const settings defaults = {
    .devices = 1, .sm = 80, .version = 13050, .multiprocessors = 4, .engines = 2, .workers = 2,
    .memory = (size_t)1 << 30, .memlock = SIZE_MAX, .shared = 48 << 10, .shared_optin = 99 << 10, .max_alloc = SIZE_MAX,
    .max_threads = 1024, .registers = 65536,
    .peer = true, .pools = true, .managed = true, .uva = true, .registering = true,
};

static bool whole(const char *s, long *v) {
    char *end;
    errno = 0;
    *v = strtol(s, &end, 10);
    return end != s && !*end && !errno && *v >= 0;
}

static bool bytes(const char *s, size_t *v) {
    static const struct { const char *unit; unsigned shift; } units[] = {
        {"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
    char *end;
    errno = 0;
    if (*s < '0' || *s > '9')
        return false;
    unsigned long long n = strtoull(s, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].unit) && !errno && n <= SIZE_MAX >> units[i].shift) {
            *v = (size_t)n << units[i].shift;
            return true;
        }
    return false;
}

static bool onoff(const char *s, bool *v) {
    *v = !strcmp(s, "on");
    return *v || !strcmp(s, "off");
}

// counted reads NAME:N, NAME:N+, NAME:N:CODE and NAME:N+:CODE.
static bool counted(char *s, char *name, size_t size, long *n, bool *onwards, CUresult *code) {
    char *colon = strchr(s, ':');
    if (!colon || colon == s || (size_t)(colon - s) >= size)
        return false;
    memcpy(name, s, (size_t)(colon - s));
    name[colon - s] = 0;
    char *count = colon + 1, *second = strchr(count, ':');
    if (second) {
        *second = 0;
        long c;
        if (!whole(second + 1, &c) || c < 1 || c > 999)
            return false;
        *code = (CUresult)c;
    }
    size_t length = strlen(count);
    if (length && count[length - 1] == '+') {
        *onwards = true;
        count[length - 1] = 0;
    }
    return whole(count, n) && *n >= 1;
}

static bool add_rule(char *value, settings *s) {
    rule r = {.code = CUDA_ERROR_OUT_OF_MEMORY};
    if (s->nrules == MAX_RULES)
        return false;
    if (!strncmp(value, "kernel:", 7))
        r.code = CUDA_ERROR_ILLEGAL_ADDRESS;
    if (!counted(value, r.name, sizeof r.name, &r.first, &r.onwards, &r.code))
        return false;
    s->rules[s->nrules++] = r;
    return true;
}

static bool add_loss(char *value, settings *s) {
    loss l = {.code = CUDA_ERROR_LAUNCH_FAILED};
    char number[16];
    bool onwards = false;
    long n;
    if (s->nlosses == MAX_DEVICES || !counted(value, number, sizeof number, &l.call, &onwards, &l.code) || onwards ||
        !whole(number, &n) || n >= MAX_DEVICES)
        return false;
    l.device = (int)n;
    s->losses[s->nlosses++] = l;
    return true;
}

bool parse_settings(const char *text, settings *s, char *said, size_t size) {
    const struct { const char *key; int *v; long low, high; } ints[] = {
        {"devices", &s->devices, 0, MAX_DEVICES}, {"sm", &s->sm, 50, 129}, {"version", &s->version, 11000, 19000},
        {"multiprocessors", &s->multiprocessors, 1, 1024}, {"engines", &s->engines, 0, 8}, {"workers", &s->workers, 1, 64},
        {"threads", &s->max_threads, 32, 1024}, {"registers", &s->registers, 1024, 65536}};
    const struct { const char *key; size_t *v; } sizes[] = {
        {"memory", &s->memory}, {"memlock", &s->memlock}, {"shared", &s->shared}, {"shared_optin", &s->shared_optin}, {"max_alloc", &s->max_alloc}};
    const struct { const char *key; bool *v; } switches[] = {
        {"integrated", &s->integrated}, {"peer", &s->peer}, {"pools", &s->pools}, {"managed", &s->managed},
        {"unified", &s->uva}, {"register", &s->registering}};
    char *copy = strdup(text), *save = NULL;
    bool ok = copy != NULL;
    for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word && ok; word = strtok_r(NULL, ",", &save)) {
        char *value = strchr(word, '=');
        bool known = false;
        if (value)
            *value++ = 0;
        else
            value = "";
        for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
            if (!strcmp(word, ints[i].key)) {
                long v;
                known = true;
                ok = whole(value, &v) && v >= ints[i].low && v <= ints[i].high;
                if (ok)
                    *ints[i].v = (int)v;
            }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (!strcmp(word, sizes[i].key)) {
                known = true;
                ok = bytes(value, sizes[i].v);
            }
        for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
            if (!strcmp(word, switches[i].key)) {
                known = true;
                ok = onoff(value, switches[i].v);
            }
        if (!strcmp(word, "fail")) {
            known = true;
            ok = add_rule(value, s);
        } else if (!strcmp(word, "lose")) {
            known = true;
            ok = add_loss(value, s);
        } else if (!strcmp(word, "steps")) {
            known = true;
            ok = whole(value, &s->steps);
        }
        if (!known || !ok) {
            snprintf(said, size, "%s=%s: %s", word, value, known ? "not a value for it" : "no such setting");
            ok = false;
        }
    }
    free(copy);
    if (ok && s->memory > (size_t)64 << 30) {
        snprintf(said, size, "memory: %zu bytes are more than 64 GiB", s->memory);
        ok = false;
    }
    if (ok && s->memory < (size_t)2 << 20) {
        snprintf(said, size, "memory: %zu bytes are less than 2 MiB", s->memory);
        ok = false;
    }
    return ok;
}

// read_settings fills conf. A setting that cannot be read stops the program:
// a test that believes it runs under a fault and does not proves nothing.
void read_settings(void) {
    char said[256];
    const char *text = getenv("TANDEM_CUDA_DOUBLE");
    conf = defaults;
    if (text && !parse_settings(text, &conf, said, sizeof said)) {
        complain("TANDEM_CUDA_DOUBLE: %s", said);
        abort();
    }
}
