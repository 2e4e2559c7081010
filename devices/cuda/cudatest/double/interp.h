// The interpreter's types. A warp's 32 work-items execute an instruction
// together: each instruction is one call of a loop over 32 lanes. A register
// is a row of 32 values in the warp's frame, and its name is its offset there.
#ifndef TANDEM_CUDA_INTERP_H
#define TANDEM_CUDA_INTERP_H

#include "double.h"
#include <setjmp.h>

#define LANES 32
#define FULL 0xffffffffu

// Bounds on what is read: PTX comes from files.
#define MAX_PTX ((size_t)64 << 20)
#define MAX_INSNS (1 << 20)
#define MAX_REGISTERS (1 << 18)
#define MAX_VARIABLE ((size_t)64 << 20)
#define MAX_PARAMS 32764 // bytes
#define MAX_DEPTH 32     // of nested calls

// Where generic addresses of the spaces without one of their own lie; no
// allocation is up there.
#define SHARED_WINDOW 0x0a00000000000000u
#define LOCAL_WINDOW 0x0b00000000000000u
#define PARAM_WINDOW 0x0c00000000000000u
#define WINDOW_MASK 0xff00000000000000u

typedef enum { T_NONE, T_B8, T_U8, T_S8, T_B16, T_U16, T_S16, T_F16, T_BF16, T_B32, T_U32, T_S32, T_F32, T_F16X2, T_BF16X2, T_B64, T_U64, T_S64, T_F64, T_PRED, T_B128 } type;

typedef enum { SP_GENERIC, SP_GLOBAL, SP_CONST, SP_SHARED, SP_LOCAL, SP_PARAM } space;

typedef enum { RN, RZ, RM, RP, RNI, RZI, RMI, RPI, RNA, RND_NONE } rounding;

typedef struct warp warp;
typedef struct insn insn;
typedef void (*lane_fn)(warp *w, const insn *in);

// What the warp's loop does itself, besides calling fn.
typedef enum { C_NONE, C_BRA, C_BRX, C_CALL, C_RET, C_EXIT, C_BAR, C_SYNC, C_TRAP } control;

enum { I_LEADER = 1, I_NEGATED = 2, I_SAT = 4, I_FTZ = 8, I_UNIFORM = 16, I_SHIFTED = 32, I_NOT = 64 }; // NEGATED is the guard's, NOT an operand's

struct insn {
    lane_fn fn;
    uint32_t d, a, b, c, e;  // registers: destination and sources
    uint32_t d2;             // second destination
    uint32_t pred;           // executes where it is true; 0: everywhere
    uint32_t line;
    uint32_t target;         // of a branch; of a call: index of its record
    uint8_t control, flags, n, space;
    uint8_t dt, st;          // types
    uint8_t dw, sw;          // bytes of a lane of the registers
    uint8_t op, round, cmp, bop;
    uint32_t site;           // number of a place that touches memory
    int64_t imm;             // offset of an address, or a number
    uint32_t v[8];           // registers of a vector
};

typedef struct fn_code fn_code;

// A formal or actual parameter of a function that is not a kernel: n bytes of
// each lane, in the frame.
typedef struct {
    uint32_t at, size;
} parcel;

typedef struct {
    fn_code *callee; // NULL: one of the functions below
    enum { B_NONE, B_VPRINTF, B_ASSERT } builtin;
    parcel ret, args[64];
    int nargs;
} call_record;

enum { S_TIDX, S_TIDY, S_TIDZ, S_NTIDX, S_NTIDY, S_NTIDZ, S_CTAX, S_CTAY, S_CTAZ, S_NCTAX, S_NCTAY, S_NCTAZ, S_LANE, S_WARP, S_NWARP,
       S_SM, S_NSM, S_GRIDLO, S_LT, S_LE, S_EQ, S_GE, S_GT, S_DYNSHARED, S_TOTALSHARED, S_COUNT };

typedef struct {
    uint64_t bits;
    uint32_t at;
    uint8_t width;
    enum { CONST_VALUE, CONST_LOCAL, CONST_DYNAMIC } of; // a number; an offset into the frame's local or the dynamic shared memory
} constant;

struct fn_code {
    char *name;
    bool entry, defined;
    insn *code;
    int n, room;
    uint32_t frame;           // bytes of a warp's registers
    uint32_t special[S_COUNT]; // registers that hold special values, 0: none
    constant *consts;
    int nconsts, constroom;
    call_record *calls;
    int ncalls;
    uint32_t *tables;         // targets of indexed branches
    int ntables;
    parcel ret, formals[64];
    int nformals;
    // Of a kernel.
    uint32_t *param_at, *param_size;
    int nparams;
    uint32_t params;          // bytes
    uint32_t local;           // bytes of a work-item
    uint32_t shared;          // static, bytes
    size_t body;              // where its text begins, 0: it has none
    int body_line;
    int reqntid[3], maxntid[3];
    bool barrier;             // it or what it calls has one
    // Of it and everything that it calls.
    uint32_t frames, locals;
    bool recursive, visiting, measured;
    int registers;            // as many as the PTX names, for cuFuncGetAttribute
    int ptx_version, sm;
};

// A site's last translation.
typedef struct {
    uint64_t lo, span; // addresses lo to lo+span hold all of the access
    char *host;
} site;

typedef struct {
    uint32_t pc, mask;
    bool blocked;     // waits for other lanes of its warp
    int barrier;      // waits at one, -1: does not
    const insn *reduce; // gets the barrier's result
    uint32_t predicate;
} group;

typedef struct {
    const fn_code *fn;
    uint32_t at;       // of the registers in the warp's stack
    uint32_t mask;     // lanes that called
    uint32_t back;     // where the caller goes on
    uint32_t local;    // of the local memory in a lane's stack
    const call_record *call;
    group groups[LANES];
    int n;
} frame;

typedef struct block block;
typedef struct grid grid;
typedef struct worker worker;

struct warp {
    char *regs;        // of the topmost frame
    uint32_t mask;     // lanes that execute
    uint32_t pc;
    site *sites;
    block *blk;
    grid *grid;
    worker *wk;
    char *stack;       // registers of all frames
    size_t stack_size;
    char *local;       // lane i's local memory begins at local + i*local_size
    uint32_t local_size, local_base;
    uint32_t live;     // lanes that have not exited
    int number;        // in the block
    int depth;
    bool done, waiting, fault;
    long forced;       // instructions for which the lowest group has to wait
    long steps, loops;
    uint8_t cc[LANES]; // carries
    frame frames[MAX_DEPTH];
};

struct block {
    unsigned id[3];
    char *shared;
    uint32_t shared_size;
    int threads, nwarps, exited;
    int arrived[16];
    int want[16];
    uint32_t popc[16], andor[16];
    warp *warps;
};

// A grid is one launch.
struct grid {
    const launch *launch;
    const fn_code *fn;
    module *mod;
    context *ctx;
    device *dev;
    uint64_t blocks, next; // next is taken atomically
    grid *queued;          // of grids that have work for helpers
    int helpers;
    unsigned threads;
    uint32_t shared;
    bool failed;           // atomically
    CUresult code;
    char said[512];
    pthread_mutex_t lock;  // of code, said and printed
    char *printed;
    size_t nprinted, printed_room;
};

typedef struct variable {
    char *name;
    space space;
    uint64_t address; // device address, or offset in shared memory
    uint32_t size, align;
    bool is_extern;
    unsigned char *init;
    struct { uint32_t at; char *symbol; int64_t add; bool generic; } *fixes;
    int nfixes;
} variable;

struct module {
    CUmodule handle;
    context *ctx;
    fn_code **fns;
    int nfns;
    variable *vars;
    int nvars, varroom;
    int version, sm;
    uint32_t shared_top; // of module-scope shared variables
    uint32_t extern_shared;
    uint64_t memory;     // of the variables
    function **functions;
    int nfunctions;
    module *next;
    int nsites;
};

struct function {
    CUfunction handle;
    module *mod;
    fn_code *code;
    int max_dynamic, carveout;
};

// Reading PTX: first what the module declares, then, with the variables at
// their addresses (module.c), the instructions. False: said has why not, with
// the line. What was read so far is the caller's to drop either way.
bool scan_ptx(const char *text, size_t size, module *m, char *said, size_t room);
bool decode_ptx(const char *text, size_t size, module *m, char *said, size_t room);
void drop_code(module *m);
void measure(fn_code *f); // frames and local memory of f and all that it calls

// lanes
typedef enum {
#define LANE(name) L_##name,
#include "lanes_list.h"
#undef LANE
    L_COUNT
} lane;
extern const lane_fn lane_table[L_COUNT];

// memory of a work-item
char *reach(warp *w, const insn *in, uint64_t address, unsigned size, space s, int lane, bool writes);
void fault(warp *w, const insn *in, int lane, CUresult code, const char *format, ...) __attribute__((format(printf, 5, 6)));

// warp.c
typedef enum { W_DONE, W_WAITING, W_FAULT } outcome;
void start_frame(warp *w, const frame *f, bool everything);
outcome run_warp(warp *w);
void release_barriers(block *b, bool *progress);

// builtin.c
void call_builtin(warp *w, const insn *in, const call_record *c, uint32_t mask);

// A worker is what a thread interprets with; they are kept for later launches.
struct worker {
    worker *next;
    site *sites;
    size_t nsites;
    char *stack, *local, *shared;
    size_t stack_size, local_size, shared_size;
    warp *warps;
    int nwarps;
};

#endif
