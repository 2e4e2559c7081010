// Handles: numbers that are given out once. A destroyed one is never mistaken
// for a later one, and none can be followed to memory.
#include "double.h"
#include <stdlib.h>

typedef struct {
    uint64_t h; // 0: free, 1: was used
    kind k;
    void *object;
} slot;

static slot *slots;
static size_t nslots, filled;
static uint64_t serial = 0x7c0d00000000;
static long live[K_KINDS];

static size_t place(uint64_t h) { return (h >> 4) * 0x9e3779b97f4a7c15u >> 20; }

static void grow(void) {
    size_t n = nslots ? nslots * 2 : 256;
    slot *old = slots;
    slots = calloc(n, sizeof *slots);
    if (!slots)
        abort();
    size_t count = nslots;
    nslots = n;
    filled = 0;
    for (size_t i = 0; i < count; i++) {
        if (old[i].h <= 1)
            continue;
        size_t p = place(old[i].h) & (n - 1);
        while (slots[p].h)
            p = (p + 1) & (n - 1);
        slots[p] = old[i];
        filled++;
    }
    free(old);
}

handle new_handle(kind k, void *object) {
    if (2 * filled >= nslots)
        grow();
    uint64_t h = serial += 16;
    size_t p = place(h) & (nslots - 1);
    while (slots[p].h > 1)
        p = (p + 1) & (nslots - 1);
    if (!slots[p].h)
        filled++;
    slots[p] = (slot){h, k, object};
    live[k]++;
    return (handle)h;
}

static slot *find(handle h) {
    uint64_t v = (uint64_t)h;
    if (v <= 1 || !nslots)
        return NULL;
    for (size_t p = place(v) & (nslots - 1); slots[p].h; p = (p + 1) & (nslots - 1))
        if (slots[p].h == v)
            return &slots[p];
    return NULL;
}

void *object_of(handle h, kind k) {
    slot *s = find(h);
    return s && s->k == k ? s->object : NULL;
}

void drop_handle(handle h) {
    slot *s = find(h);
    if (!s)
        return;
    live[s->k]--;
    *s = (slot){1, K_NONE, NULL};
}

long live_handles(kind k) { return live[k]; }
