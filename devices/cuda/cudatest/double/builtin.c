// Functions that PTX calls and the driver provides: vprintf and __assertfail.
#include "interp.h"
#include <stdlib.h>
#include <string.h>

// bytes copies n bytes that a work-item sees at a generic address.
static bool bytes(warp *w, const insn *in, int lane, uint64_t address, void *out, unsigned n) {
    insn read = *in;
    read.site = 0; // the place that no load has
    for (unsigned i = 0; i < n; i++) {
        ((char *)out)[i] = *reach(w, &read, address + i, 1, SP_GENERIC, lane, false);
        if (w->fault)
            return false;
    }
    return true;
}

static bool text(warp *w, const insn *in, int lane, uint64_t address, char *out, size_t room) {
    for (size_t i = 0; i < room; i++) {
        if (!bytes(w, in, lane, address + i, out + i, 1))
            return false;
        if (!out[i])
            return true;
    }
    out[room - 1] = 0;
    return true;
}

typedef struct {
    warp *w;
    const insn *in;
    int lane;
    uint64_t next;
} arguments;

static bool argument(arguments *a, unsigned size, uint64_t *v) {
    a->next = (a->next + size - 1) & ~(uint64_t)(size - 1);
    *v = 0;
    bool ok = bytes(a->w, a->in, a->lane, a->next, v, size);
    a->next += size;
    return ok;
}

// one prints a conversion: spec is all of it, as in %-8.3llx.
static int one(arguments *a, const char *spec, size_t n, char *out, size_t room) {
    char format[64], s[1024];
    char conversion = spec[n - 1];
    uint64_t v;
    size_t k = 0;
    int longs = 0;
    for (size_t i = 0; i < n - 1 && k < 40; i++) {
        if (spec[i] == 'l' || spec[i] == 'z' || spec[i] == 'j' || spec[i] == 't')
            longs++;
        else if (spec[i] == '*') {
            if (!argument(a, 4, &v))
                return -1;
            k += (size_t)snprintf(format + k, sizeof format - k, "%d", (int)v);
        } else if (spec[i] != 'h')
            format[k++] = spec[i];
    }
    format[k] = 0;
    switch (conversion) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
        if (!argument(a, longs ? 8 : 4, &v))
            return -1;
        snprintf(format + k, sizeof format - k, "ll%c", conversion);
        if (!longs && (conversion == 'd' || conversion == 'i'))
            v = (uint64_t)(int64_t)(int32_t)v;
        return snprintf(out, room, format, (long long)v);
    case 'c':
        if (!argument(a, 4, &v))
            return -1;
        snprintf(format + k, sizeof format - k, "c");
        return snprintf(out, room, format, (int)v);
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A': {
        double d;
        if (!argument(a, 8, &v))
            return -1;
        memcpy(&d, &v, 8);
        snprintf(format + k, sizeof format - k, "%c", conversion);
        return snprintf(out, room, format, d);
    }
    case 's':
        if (!argument(a, 8, &v) || !text(a->w, a->in, a->lane, v, s, sizeof s))
            return -1;
        snprintf(format + k, sizeof format - k, "s");
        return snprintf(out, room, format, s);
    case 'p':
        if (!argument(a, 8, &v))
            return -1;
        return snprintf(out, room, "0x%llx", (unsigned long long)v);
    }
    return snprintf(out, room, "%.*s", (int)n, spec);
}

static void append(grid *g, const char *p, size_t n) {
    pthread_mutex_lock(&g->lock);
    size_t limit = g->ctx->limit_printf;
    if (g->nprinted + n <= limit) {
        if (g->nprinted + n > g->printed_room) {
            size_t room = 2 * (g->nprinted + n);
            char *q = realloc(g->printed, room);
            if (q) {
                g->printed = q;
                g->printed_room = room;
            }
        }
        if (g->nprinted + n <= g->printed_room) {
            memcpy(g->printed + g->nprinted, p, n);
            g->nprinted += n;
        }
    }
    pthread_mutex_unlock(&g->lock);
}

// print writes what one work-item prints as a whole.
static void print(warp *w, const insn *in, int lane, uint64_t format, uint64_t args) {
    char f[1024], out[4096];
    size_t n = 0;
    arguments a = {w, in, lane, args};
    if (!text(w, in, lane, format, f, sizeof f))
        return;
    for (const char *p = f; *p && n + 1 < sizeof out;) {
        if (*p != '%' || p[1] == '%') {
            out[n++] = *p;
            p += *p == '%' ? 2 : 1;
            continue;
        }
        size_t length = 1 + strspn(p + 1, "-+ #0123456789.*hlzjt");
        if (!p[length] || length > 38)
            break;
        int k = one(&a, p, length + 1, out + n, sizeof out - n);
        if (k < 0)
            return;
        n += (size_t)k < sizeof out - n ? (size_t)k : sizeof out - n - 1;
        p += length + 1;
    }
    append(w->grid, out, n);
}

static uint64_t parcel_word(const warp *w, parcel p, int lane) {
    uint64_t v = 0;
    memcpy(&v, w->regs + p.at + (uint32_t)lane * p.size, p.size < 8 ? p.size : 8);
    return v;
}

void call_builtin(warp *w, const insn *in, const call_record *c, uint32_t mask) {
    int first = __builtin_ctz(mask);
    if (c->builtin == B_ASSERT) {
        char message[256] = "", file[128] = "";
        if (c->nargs > 0)
            text(w, in, first, parcel_word(w, c->args[0], first), message, sizeof message);
        if (c->nargs > 1)
            text(w, in, first, parcel_word(w, c->args[1], first), file, sizeof file);
        fault(w, in, first, CUDA_ERROR_ASSERT, "%s:%u: assertion `%s` failed", file, c->nargs > 2 ? (unsigned)parcel_word(w, c->args[2], first) : 0, message);
        return;
    }
    if (c->nargs != 2) {
        fault(w, in, first, CUDA_ERROR_LAUNCH_FAILED, "vprintf with %d arguments", c->nargs);
        return;
    }
    for (uint32_t m = mask; m && !w->fault; m &= m - 1) {
        int lane = __builtin_ctz(m);
        print(w, in, lane, parcel_word(w, c->args[0], lane), parcel_word(w, c->args[1], lane));
        if (c->ret.size)
            memset(w->regs + c->ret.at + (uint32_t)lane * c->ret.size, 0, c->ret.size);
    }
}
