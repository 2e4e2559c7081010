// The double's own types. Everything but the interpreter is guarded by one
// lock, G: a test double wants to be right before it is fast.
#ifndef TANDEM_CUDA_DOUBLE_H
#define TANDEM_CUDA_DOUBLE_H

#include "cuda_abi.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define MAX_DEVICES 16
#define MAX_RULES 32

// A rule makes calls of one function, or executions of one kind, fail.
typedef struct {
    char name[64]; // of the API function without its _v2, or "kernel" for executions
    long first;    // the first call that fails, from 1
    bool onwards;  // and every one after it
    CUresult code;
} rule;

// A loss takes a device away at a call.
typedef struct {
    int device; // as the machine counts, not as CUDA_VISIBLE_DEVICES does
    long call;  // counted over all API calls that are made with a context of the device
    CUresult code;
} loss;

typedef struct {
    int devices, sm, version, multiprocessors, engines;
    int workers; // threads that interpret one kernel
    size_t memory, memlock, shared, shared_optin, max_alloc;
    int max_threads, registers; // per block
    bool integrated, peer, pools, managed, uva, registering;
    long steps; // instructions that a warp may execute in a launch; 0: no limit
    rule rules[MAX_RULES];
    int nrules;
    loss losses[MAX_DEVICES];
    int nlosses;
} settings;

extern settings conf;
void read_settings(void);
bool parse_settings(const char *text, settings *s, char *said, size_t size);

typedef struct context context;
typedef struct stream stream;
typedef struct event event;
typedef struct graph graph;
typedef struct module module;
typedef struct function function;
typedef struct pool pool;
typedef struct op op;
typedef struct capture capture;

typedef enum { K_NONE, K_CONTEXT, K_STREAM, K_EVENT, K_MODULE, K_FUNCTION, K_GRAPH, K_EXEC, K_NODE, K_POOL, K_LINK, K_KINDS } kind;

typedef struct device {
    int number; // in the machine
    context *primary;
    int retained;
    unsigned primary_flags;
    uint64_t arena; // first address of its memory: reserved, never readable
    char *backing;  // where the bytes are
    size_t used;
    size_t reserved; // used, and what pools hold on to
    CUresult lost;
    long calls;
    pool *default_pool, *current_pool;
} device;

struct context {
    CUcontext handle;
    device *dev;
    bool primary, gone;
    unsigned flags;
    CUresult sticky;     // the error that ended it
    stream *null_stream;
    stream *streams;     // all, the null stream among them
    uint32_t peers;      // devices whose memory its kernels may touch
    size_t limit_stack, limit_printf, limit_heap;
};

// A region is a range of device addresses that something lies at.
typedef enum { R_DEVICE, R_PINNED, R_REGISTERED, R_MANAGED, R_MODULE } region_kind;
typedef struct {
    uint64_t lo, hi;
    char *host; // where address lo is for the host
    region_kind kind;
    device *dev;
    context *ctx;
    pool *pool;
    bool freeing; // cuMemFreeAsync was called
    unsigned flags;
    uint64_t id;
} region;

struct pool {
    CUmemoryPool handle;
    device *dev;
    bool is_default;
    uint64_t threshold, used, used_high, reserved, reserved_high, max;
    uint32_t access; // devices besides its own
    int attributes[4];
};

typedef enum { OP_COPY, OP_FILL, OP_LAUNCH, OP_RECORD, OP_WAIT, OP_HOST, OP_CALLBACK, OP_FREE, OP_GRAPH, OP_EMPTY, OP_WRITE, OP_AWAIT } op_kind;

typedef struct { // box of bytes
    char *host;
    size_t pitch, slice;
} plane;

typedef struct {
    unsigned grid[3], block[3], shared;
    bool cooperative;
    function *fn;
    unsigned char *params;
    size_t nparams;
} launch;

typedef struct graph_ops {
    op **ops;
    int n, references;
} graph_ops;

struct after {
    CUstream stream;
    uint64_t seq;
};

struct op {
    op_kind kind;
    op *next;
    context *ctx;
    uint64_t seq;
    struct after *after; // streams that have to have come so far first
    int nafter;
    void *owned;       // freed with the op
    union {
        struct { plane dst, src; size_t width, height, depth; } copy;
        struct { plane dst; uint32_t value; int size; size_t width, height; } fill;
        launch launch;
        struct { event *ev; uint64_t ticket; } event;
        struct { CUhostFn fn; void *data; } host;
        struct { CUstreamCallback fn; void *data; CUstream stream; } callback;
        struct { uint64_t address; } free;
        struct { graph_ops *ops; } graph;
        struct { char *at; uint64_t value; int size; unsigned flags; } word;
    };
    // As a node of a graph.
    CUgraphNode node;
    op **needs;
    int nneeds;
};

struct stream {
    CUstream handle;
    context *ctx;
    stream *sibling; // next of the context
    bool blocking;   // waits for the null stream, and it for this
    int priority;
    op *head, *tail;
    uint64_t issued, done;
    pthread_cond_t work;
    pthread_t thread;
    bool started, closing;
    uint64_t mark; // what someone waits for in wait_context
    capture *cap;
    op **last; // in a capture: the nodes that the next one needs
    int nlast;
};

struct event {
    CUevent handle;
    context *ctx;
    unsigned flags;
    uint64_t issued, done; // tickets of records
    CUresult result;
    int64_t time_ns;
    bool recorded;
    bool destroyed;
    int references;
    capture *cap; // recorded in a capture
    op **captured;
    int ncaptured;
};

struct capture {
    graph *graph;
    stream *origin;
    int mode;
    bool invalid;
    pthread_t thread;
    int references;
    capture *next;
};

struct graph {
    CUgraph handle;
    op **nodes;
    int n, cap;
};

typedef struct {
    CUgraphExec handle;
    graph_ops *ops;
    CUgraphNode *names; // node of the graph that each op came from
    context *ctx;
} exec;

extern pthread_mutex_t G;
extern pthread_cond_t progress; // something ended
extern device devs[MAX_DEVICES];
extern int visible[MAX_DEVICES], nvisible;
extern bool inited;

// object.c: handles are numbers that are used once, so that one that was
// destroyed is never mistaken for a later one.
handle new_handle(kind k, void *object);
void *object_of(handle h, kind k);
void drop_handle(handle h);
long live_handles(kind k);

// call.c: what every function does first.
CUresult enter(const char *name);                 // initialised, and no rule against it; locks G
CUresult enter_context(const char *name, context **c); // and a usable context is current; locks G
CUresult leave(CUresult r);                       // unlocks G
long calls_of(const char *name);
CUresult rule_for(const char *name);              // counts a call under G
#define ENTER() do { CUresult e_ = enter(__func__); if (e_) return leave(e_); } while (0)
#define ENTER_CTX(c) context *c; do { CUresult e_ = enter_context(__func__, &c); if (e_) return leave(e_); } while (0)
#define LEAVE(r) return leave(r)

// context.c
context *current(void);
extern _Thread_local bool in_callback; // this thread runs a host function: no CUDA calls
CUresult context_usable(context *c);
void poison(context *c, CUresult code);
void lose(device *d, CUresult code);
device *device_at(CUdevice d);

// memory.c
CUresult reserve(device *d);
region *find_region(uint64_t address, size_t size);
region *region_within(uint64_t address); // any that holds the address
CUresult allocate(device *d, context *c, size_t size, region_kind k, pool *p, uint64_t *address);
CUresult release(uint64_t address);
bool translate(uint64_t address, uint64_t *lo, uint64_t *hi, char **host, device **dev, region_kind *k);
bool is_pinned(const void *p, size_t size);
int region_count(region_kind k);
void release_context_memory(context *c);
size_t pinned_bytes(void);

// stream.c
stream *stream_of(CUstream h, context *c, CUresult *err);
stream *new_stream(context *c, bool blocking, int priority);
void destroy_streams(context *c);
op *new_op(op_kind k, context *c);
void free_op(op *o);
CUresult enqueue(stream *s, op *o);       // or captures it
CUresult enqueue_and_wait(stream *s, op *o);
CUresult wait_stream(stream *s);
CUresult wait_context(context *c);
CUresult execute(op *o, stream *s);       // called without G
int64_t now_ns(void);

// event.c
void event_done(event *e, uint64_t ticket, CUresult r);
void event_unref(event *e);

// capture.c
CUresult capture_op(stream *s, op *o);
CUresult capture_implicit(context *c);    // for work on the null stream
CUresult capture_forbids(void);           // G held: an unsafe call while a capture is under way
CUresult capture_wait(stream *s, event *e);
CUresult capture_record(stream *s, event *e);
op *copy_op(const op *o);

// graph.c
void add_node(graph *g, op *o);
void drop_graph(graph *g);
void unref_ops(graph_ops *g);

// module.c and the interpreter
CUresult run_launch(const launch *l, context *c, char *said, size_t size);
CUresult pack_params(function *f, void **params, void **extra, unsigned char **out, size_t *n);
CUresult check_launch(context *c, function *f, const unsigned grid[3], const unsigned block[3], unsigned shared, bool cooperative);
void drop_modules(context *c);

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *error_name(CUresult r);
CUresult cuGetErrorName(CUresult error, const char **text);

#endif
