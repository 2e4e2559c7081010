// The frame around a Verilated kernel: it clocks the model and moves words
// between its streams and memory, a whole job in one call. What differs from
// kernel to kernel comes before this text as macros: KERNEL_INPUTS,
// KERNEL_OUTPUTS, KERNEL_CONFIG, KERNEL_IMAGES and the file that includes the
// model's own code.

namespace {

// A piece of a stream: words one behind the other.
struct Segment {
    const uint8_t* at;
    uint64_t words;
};

enum Status : int32_t {
    OK = 0,
    FINISHED = 1,  // $finish
    STOPPED = 2,   // $stop, $error, a failed assertion
    FATAL = 3,     // $fatal has the same form as $stop; this is the model itself
    IDLE = 4,      // no word moved for too long
    OVERFLOWED = 5,  // more words out than there is room for
    FAILED = 6,    // anything else thrown
};

// Job is laid out as in job.go.
struct Job {
    const Segment* segments[8];
    uint64_t segmentCount[8];
    uint64_t total[8];  // words in, by input
    uint8_t* out[4];
    uint64_t room[4];  // words, by output
    const uint32_t* config;  // pairs of address and data
    uint64_t configCount;
    uint64_t maxIdle;
    uint64_t seed;
    uint32_t holdInput;   // of 65536: how often an offered word is held back
    uint32_t holdOutput;  // of 65536: how often the output is not ready
    // Results.
    uint64_t cycles;
    uint64_t stallsIn;    // a word was offered and the kernel was not ready
    uint64_t stallsOut;   // the kernel had a word and the memory was not ready
    uint64_t taken[8];
    uint64_t given[4];
    int32_t status;
    int32_t line;
    int32_t which;  // the stream, for OVERFLOWED
    int32_t logLength;
    char file[128];
    char message[384];
    char log[4096];
};

struct Fault {
    Status status;
    const char* file;
    int line;
    const char* message;
};

// The job that this thread runs, for what the model prints and reports.
thread_local Job* current = nullptr;

void append(const char* text, int n) {
    if (!current) return;
    const int room = static_cast<int>(sizeof(current->log)) - current->logLength;
    if (n > room) n = room;
    if (n > 0) memcpy(current->log + current->logLength, text, n);
    if (n > 0) current->logLength += n;
}

struct Instance {
    VerilatedContext context;
    Vkernel* model = nullptr;
    // The runtime looks for the context in a variable of the thread, which
    // several models share.
    void enter() { Verilated::threadContextp(&context); }
    ~Instance() {
        enter();
        delete model;
    }
};

inline uint32_t next(uint64_t& state) {  // xorshift64*
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return static_cast<uint32_t>((state * 0x2545F4914F6CDD1DULL) >> 48);
}

}  // namespace

// What the model prints is kept with the job: standard output belongs to the
// program.
int tandem_printf(const char* format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    append(text, n < 0 ? 0 : (n < static_cast<int>(sizeof(text)) ? n : static_cast<int>(sizeof(text)) - 1));
    return n;
}

void vl_finish(const char* file, int line, const char*) { throw Fault{FINISHED, file, line, "$finish"}; }
void vl_stop(const char* file, int line, const char*) { throw Fault{STOPPED, file, line, "$stop"}; }
void vl_fatal(const char* file, int line, const char*, const char* message) { throw Fault{FATAL, file, line, message}; }
void vl_warn(const char* file, int line, const char*, const char* message) {
    tandem_printf("%%Warning: %s:%d: %s\n", file, line, message);
}

// Memory images are part of the library. An image is a count of words, the
// number of 32-bit pieces of each, and for each word its address and pieces.
namespace {
struct Image {
    const char* name;
    const uint8_t* data;
};

#define X(name, symbol) {name, symbol},
const Image tandem_images[] = {KERNEL_IMAGES(X){nullptr, nullptr}};
#undef X
}  // namespace

static void tandem_readmem(bool, int bits, QData depth, int first, const std::string& name, void* memory, QData start,
                           QData end) {
    for (const Image& image : tandem_images) {
        if (!image.name || name != image.name) continue;
        uint64_t count, pieces;
        memcpy(&count, image.data, 8);
        memcpy(&pieces, image.data + 8, 8);
        const uint8_t* at = image.data + 16;
        uint64_t inside = 0;
        for (uint64_t i = 0; i < count; ++i, at += 8 + 4 * pieces) {
            uint64_t address;
            memcpy(&address, at, 8);
            if (start != 0 && i == 0 && address == 0) address = start;  // the call says where the file begins
            const uint64_t entry = address - static_cast<uint64_t>(first);
            if (entry >= depth || address > end) throw Fault{FATAL, image.name, 0, "the image has words outside of the memory"};
            uint32_t word[32] = {0};
            memcpy(word, at + 8, 4 * (pieces < 32 ? pieces : 32));
            if (bits < 32) word[0] &= (1u << bits) - 1;
            if (bits <= 8) {
                static_cast<CData*>(memory)[entry] = static_cast<CData>(word[0]);
            } else if (bits <= 16) {
                static_cast<SData*>(memory)[entry] = static_cast<SData>(word[0]);
            } else if (bits <= 32) {
                static_cast<IData*>(memory)[entry] = word[0];
            } else if (bits <= 64) {
                QData wide = (static_cast<QData>(word[1]) << 32) | word[0];
                if (bits < 64) wide &= (1ULL << bits) - 1;
                static_cast<QData*>(memory)[entry] = wide;
            } else {
                const int words = (bits + 31) / 32;
                if (words > 32) throw Fault{FATAL, image.name, 0, "words of more than 1024 bits"};
                if (bits % 32) word[words - 1] &= (1u << (bits % 32)) - 1;
                memcpy(static_cast<EData*>(memory) + entry * words, word, 4 * words);
            }
            ++inside;
        }
        if (start == 0 && end == ~0ULL && inside < depth) throw Fault{FATAL, image.name, 0, "the image has fewer words than the memory"};
        return;
    }
    throw Fault{FATAL, "", 0, "the kernel reads a memory image that its source does not name"};
}

#define VL_READMEM_N tandem_readmem
#include "model.h"
#undef VL_READMEM_N

namespace {

void report(Job* job, const Fault& f) {
    job->status = f.status;
    job->line = f.line;
    snprintf(job->file, sizeof(job->file), "%s", f.file ? f.file : "");
    snprintf(job->message, sizeof(job->message), "%s", f.message ? f.message : "");
}

struct Input {
    const Segment* segment;
    const uint8_t* at;
    uint64_t left;       // words of the segment
    uint64_t remaining;  // words of the job
    bool valid;
};

struct Output {
    uint8_t* at;
    uint64_t room;
    bool done;
};

template <bool Stalls>
void stream(Instance* instance, Job* job) {
    Vkernel* const m = instance->model;
    Input in[8] = {};
    Output out[4] = {};
    uint64_t state = job->seed | 1;
    uint64_t idle = 0;
    uint64_t cycles = 0, stallsIn = 0, stallsOut = 0;
    int open = 0;
#define X(i, p, bytes, last) \
    in[i].segment = job->segments[i]; \
    in[i].at = job->segmentCount[i] ? in[i].segment->at : nullptr; \
    in[i].left = job->segmentCount[i] ? in[i].segment->words : 0; \
    in[i].remaining = job->total[i];
    KERNEL_INPUTS(X)
#undef X
#define X(i, p, bytes) \
    out[i].at = job->out[i]; \
    out[i].room = job->room[i]; \
    ++open;
    KERNEL_OUTPUTS(X)
#undef X
    while (open) {
#define LAST1(p, v) m->p##_tlast = v
#define LAST0(p, v)
#define X(i, p, bytes, last) \
    if (!in[i].valid && in[i].remaining && !(Stalls && (next(state) & 0xffff) < job->holdInput)) { \
        while (!in[i].left) { \
            ++in[i].segment; \
            in[i].at = in[i].segment->at; \
            in[i].left = in[i].segment->words; \
        } \
        memcpy(&m->p##_tdata, in[i].at, bytes); \
        m->p##_tvalid = 1; \
        LAST##last(p, in[i].remaining == 1); \
        in[i].valid = true; \
    }
        KERNEL_INPUTS(X)
#undef X
#define X(i, p, bytes) m->p##_tready = !out[i].done && !(Stalls && (next(state) & 0xffff) < job->holdOutput);
        KERNEL_OUTPUTS(X)
#undef X
        m->aclk = 0;
        m->eval();
        bool moved = false;
        bool takes[8];
#define X(i, p, bytes, last) \
    takes[i] = in[i].valid && m->p##_tready; \
    moved |= takes[i]; \
    stallsIn += in[i].valid && !m->p##_tready;
        KERNEL_INPUTS(X)
#undef X
#define X(i, p, bytes) \
    if (m->p##_tvalid && !out[i].done) { \
        if (m->p##_tready) { \
            if (!out[i].room) { \
                job->which = i; \
                job->status = OVERFLOWED; \
                open = 0; \
                break; \
            } \
            memcpy(out[i].at, &m->p##_tdata, bytes); \
            out[i].at += bytes; \
            --out[i].room; \
            moved = true; \
            if (m->p##_tlast) { \
                out[i].done = true; \
                --open; \
            } \
        } else { \
            ++stallsOut; \
        } \
    }
        KERNEL_OUTPUTS(X)
#undef X
        m->aclk = 1;
        m->eval();
        ++cycles;
#define X(i, p, bytes, last) \
    if (takes[i]) { \
        in[i].at += bytes; \
        --in[i].left; \
        --in[i].remaining; \
        in[i].valid = false; \
        m->p##_tvalid = 0; \
    }
        KERNEL_INPUTS(X)
#undef X
        instance->context.timeInc(1);
        if (moved) {
            idle = 0;
        } else if (++idle > job->maxIdle) {
            job->status = IDLE;
            break;
        }
    }
#define X(i, p, bytes, last) job->taken[i] = job->total[i] - in[i].remaining;
    KERNEL_INPUTS(X)
#undef X
#define X(i, p, bytes) job->given[i] = job->room[i] - out[i].room;
    KERNEL_OUTPUTS(X)
#undef X
    job->cycles = cycles;
    job->stallsIn = stallsIn;
    job->stallsOut = stallsOut;
}

inline void tick(Instance* instance) {
    instance->model->aclk = 0;
    instance->model->eval();
    instance->model->aclk = 1;
    instance->model->eval();
    instance->context.timeInc(1);
}

// quiet takes every stream back.
void quiet(Vkernel* m) {
#define X(i, p, bytes, last) m->p##_tvalid = 0;
    KERNEL_INPUTS(X)
#undef X
#define X(i, p, bytes) m->p##_tready = 0;
    KERNEL_OUTPUTS(X)
#undef X
}

void run(Instance* instance, Job* job) {
    Vkernel* const m = instance->model;
    quiet(m);
    m->aresetn = 0;
    for (int i = 0; i < 5; ++i) tick(instance);
    m->aresetn = 1;
    tick(instance);
#if KERNEL_CONFIG
    for (uint64_t i = 0; i < job->configCount; ++i) {
        m->cfg_we = 1;
        m->cfg_addr = job->config[2 * i];
        m->cfg_data = job->config[2 * i + 1];
        tick(instance);
        m->cfg_we = 0;
    }
#endif
    if (job->holdInput || job->holdOutput) {
        stream<true>(instance, job);
    } else {
        stream<false>(instance, job);
    }
}

template <typename F>
void guarded(Job* job, F f) {
    current = job;
    job->status = OK;
    job->logLength = 0;
    try {
        f();
    } catch (const Fault& fault) {
        report(job, fault);
    } catch (const std::exception& e) {
        report(job, Fault{FAILED, "", 0, e.what()});
    } catch (...) {
        report(job, Fault{FAILED, "", 0, "an unknown exception"});
    }
    current = nullptr;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// tandem_new makes a model. reset says what bits without a value are: 0, 1, or
// 2: random by seed. It returns null after a fault, which job holds.
EXPORT void* tandem_new(Job* job, int64_t reset, int64_t seed) {
    Instance* instance = nullptr;
    guarded(job, [&] {
        std::unique_ptr<Instance> made(new Instance);
        made->enter();
        made->context.threads(1);
        made->context.randReset(static_cast<int>(reset));
        made->context.randSeed(static_cast<int>(seed));
        made->model = new Vkernel(&made->context, "");
        made->model->aclk = 0;
        made->model->aresetn = 0;
        quiet(made->model);
#if KERNEL_CONFIG
        made->model->cfg_we = 0;
#endif
        made->model->eval();
        instance = made.release();
    });
    return instance;
}

// tandem_run runs a job and returns its status.
EXPORT int64_t tandem_run(void* instance, Job* job) {
    static_cast<Instance*>(instance)->enter();
    guarded(job, [&] { run(static_cast<Instance*>(instance), job); });
    return job->status;
}

EXPORT void tandem_free(void* instance) { delete static_cast<Instance*>(instance); }

// tandem_job_size lets the caller check that both sides agree on the layout.
EXPORT int64_t tandem_job_size(void) { return sizeof(Job); }
