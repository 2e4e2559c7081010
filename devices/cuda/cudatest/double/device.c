// Devices: which there are, which CUDA_VISIBLE_DEVICES shows, and what they say of themselves.
#include "double.h"
#include <stdlib.h>
#include <string.h>

device devs[MAX_DEVICES];
int visible[MAX_DEVICES], nvisible;

static CUuuid uuid_of(int number) {
    CUuuid u = {{'t', 'a', 'n', 'd', 'e', 'm', 0x40, 0xd0, 0x80, 'b', 'l', 'e', 0, 0, 0, (unsigned char)number}};
    return u;
}

// uuid_text writes GPU- and the UUID in the form that nvidia-smi prints.
static void uuid_text(int number, char out[48]) {
    CUuuid u = uuid_of(number);
    char *p = out + sprintf(out, "GPU-");
    for (int i = 0; i < 16; i++)
        p += sprintf(p, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u.bytes[i]);
}

// match is the device that a word of CUDA_VISIBLE_DEVICES names, or -1: a
// number, or a prefix of one UUID only.
static int match(const char *word) {
    char *end;
    long n = strtol(word, &end, 10);
    if (end != word && !*end)
        return n >= 0 && n < conf.devices ? (int)n : -1;
    if (strncmp(word, "GPU-", 4))
        return -1;
    int found = -1;
    for (int i = 0; i < conf.devices; i++) {
        char text[48];
        uuid_text(i, text);
        if (strncmp(text, word, strlen(word)))
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

// show_devices fills visible: the devices up to the first word that names
// none; none at all where one is named twice.
static void show_devices(void) {
    const char *env = getenv("CUDA_VISIBLE_DEVICES");
    nvisible = 0;
    if (!env) {
        for (int i = 0; i < conf.devices; i++)
            visible[nvisible++] = i;
        return;
    }
    char *copy = strdup(env), *save = NULL;
    bool seen[MAX_DEVICES] = {false};
    for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word; word = strtok_r(NULL, ",", &save)) {
        while (*word == ' ')
            word++;
        int d = match(word);
        if (d < 0)
            break;
        if (seen[d]) {
            nvisible = 0;
            break;
        }
        seen[d] = true;
        visible[nvisible++] = d;
    }
    free(copy);
}

API CUresult cuInit(unsigned flags) {
    pthread_mutex_lock(&G);
    if (flags)
        return leave(CUDA_ERROR_INVALID_VALUE);
    if (!inited) {
        read_settings();
        show_devices();
        for (int i = 0; i < conf.devices; i++)
            devs[i].number = i;
    }
    CUresult r = rule_for("cuInit");
    if (r)
        return leave(r);
    if (!nvisible)
        return leave(CUDA_ERROR_NO_DEVICE);
    if (!inited)
        for (int i = 0; i < nvisible; i++)
            if ((r = reserve(&devs[visible[i]])))
                return leave(r);
    inited = true;
    return leave(CUDA_SUCCESS);
}

// cuDriverGetVersion works before cuInit.
API CUresult cuDriverGetVersion(int *version) {
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&G);
    if (!inited)
        read_settings();
    *version = conf.version;
    return leave(CUDA_SUCCESS);
}

device *device_at(CUdevice d) { return d >= 0 && d < nvisible ? &devs[visible[d]] : NULL; }

API CUresult cuDeviceGetCount(int *count) {
    ENTER();
    if (!count)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    *count = nvisible;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDeviceGet(CUdevice *dev, int ordinal) {
    ENTER();
    if (!dev)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!device_at(ordinal))
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    *dev = ordinal;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDeviceGetName(char *name, int size, CUdevice dev) {
    ENTER();
    device *d = device_at(dev);
    if (!name || size < 1)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    snprintf(name, (size_t)size, "tandem CUDA test double");
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev) {
    ENTER();
    device *d = device_at(dev);
    if (!uuid)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    *uuid = uuid_of(d->number);
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev) { return cuDeviceGetUuid_v2(uuid, dev); }

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev) {
    ENTER();
    if (!bytes)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!device_at(dev))
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    *bytes = conf.memory;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev) {
    ENTER();
    if (!major || !minor)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!device_at(dev))
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    *major = conf.sm / 10;
    *minor = conf.sm % 10;
    LEAVE(CUDA_SUCCESS);
}

// The PCI domain is one that no machine has: the double is never taken for a
// face of a real device.
static const int domain = 0xffff;
static int bus(const device *d) { return 0xd0 + d->number; }

API CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice dev) {
    ENTER();
    device *d = device_at(dev);
    if (!text || size < 13)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    snprintf(text, (size_t)size, "%04X:%02X:00.0", domain, bus(d));
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *text) {
    ENTER();
    unsigned dom, b, slot;
    if (!dev || !text || sscanf(text, "%x:%x:%x", &dom, &b, &slot) != 3)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < nvisible; i++)
        if ((int)dom == domain && (int)b == bus(&devs[visible[i]]) && !slot) {
            *dev = i;
            LEAVE(CUDA_SUCCESS);
        }
    LEAVE(CUDA_ERROR_INVALID_DEVICE);
}

static bool attribute(const device *d, int name, int *v) {
    const struct { int name, value; } values[] = {
        {1, conf.max_threads},                                  // threads per block
        {2, conf.max_threads}, {3, conf.max_threads}, {4, 64},  // block dimensions
        {5, 2147483647}, {6, 65535}, {7, 65535},                // grid dimensions
        {8, (int)conf.shared},                                  // shared memory per block
        {9, 65536},                                             // constant memory
        {10, 32},                                               // warp size
        {11, 2147483647},                                       // pitch
        {12, conf.registers},                                   // registers per block
        {13, 1000000},                                          // clock, kHz
        {14, 512},                                              // texture alignment
        {15, conf.engines > 0},                                 // copies overlap kernels
        {16, conf.multiprocessors}, {17, 0},                    // kernels have no time limit
        {18, conf.integrated}, {19, 1},                         // host memory can be mapped
        {20, 0},                                                // compute mode: default
        {30, 512}, {31, 1},                                     // surface alignment, kernels run at the same time
        {32, 0}, {33, bus(d)}, {34, 0}, {35, 0},                // ECC, PCI bus and device, TCC
        {36, 1000000}, {37, 64},                                // memory clock and bus width
        {38, 1 << 20},                                          // L2
        {39, 2048}, {40, conf.engines}, {41, conf.uva}, {50, domain}, {51, 32},
        {75, conf.sm / 10}, {76, conf.sm % 10}, {78, 1}, {79, 1}, {80, 1},
        {81, (int)conf.shared_optin + 1024}, {82, conf.registers}, {83, conf.managed}, {84, 0}, {85, 0},
        {86, 0}, {87, 2}, {88, 0}, {89, 0}, {90, 1},
        {91, 1},                                                // registered memory has its host address
        {92, 1}, {93, 1}, {94, 0}, {95, 0}, {96, 0},
        {97, (int)conf.shared_optin}, {98, 0}, {99, conf.registering}, {100, 0}, {101, 0}, {102, 0}, {103, 0}, {104, 0}, {105, 0},
        {106, 16}, {107, 0}, {108, 0}, {109, 0}, {110, 0}, {111, 1024}, {112, 0}, {113, 0}, {114, 0},
        {115, conf.pools}, {116, 0}, {117, 0}, {118, 0}, {119, 0}, {120, 0}, {121, 0}, {122, 1}, {123, 0}, {124, 0}, {125, 0}, {126, 1},
        {127, 0}, {128, 0}, {129, 0}, {130, 0}, {131, -1}, {132, 0}, {133, 0}, {134, -1},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].name == name) {
            *v = values[i].value;
            return true;
        }
    // Sizes of textures and surfaces, which the double has none of.
    *v = 0;
    return name >= 1 && name <= 143;
}

API CUresult cuDeviceGetAttribute(int *value, int name, CUdevice dev) {
    ENTER();
    device *d = device_at(dev);
    if (!value)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!d)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    LEAVE(attribute(d, name, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer) {
    ENTER();
    if (!can)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!device_at(dev) || !device_at(peer))
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    *can = conf.peer && dev != peer;
    LEAVE(CUDA_SUCCESS);
}

API CUresult cuDeviceGetP2PAttribute(int *value, int name, CUdevice a, CUdevice b) {
    ENTER();
    if (!value || name < 1 || name > 5)
        LEAVE(CUDA_ERROR_INVALID_VALUE);
    if (!device_at(a) || !device_at(b) || a == b)
        LEAVE(CUDA_ERROR_INVALID_DEVICE);
    *value = name == 2 && conf.peer; // rank 0, access, no native atomics
    LEAVE(CUDA_SUCCESS);
}
