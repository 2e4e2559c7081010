// What the files of loops over lanes share. They are compiled with vector
// instructions where the processor has them.
#ifndef TANDEM_CUDA_LANES_H
#define TANDEM_CUDA_LANES_H

#include "interp.h"
#include <math.h>
#include <string.h>

#define NAME(name) lane_##name
#define DEFINE(name) void NAME(name)(warp *w, const insn *in)

#define AT(T, r) ((T *)(w->regs + (r)))
#define ROWS(D, A) D *d = AT(D, in->d); const A *a = AT(A, in->a)
#define ROWS2(D, A, B) ROWS(D, A); const B *b = AT(B, in->b)
#define ROWS3(D, A, B, C) ROWS2(D, A, B); const C *c = AT(C, in->c)

// EACH does something for every lane i that executes. Two rows of registers
// are the same or apart, so lanes never depend on each other (ivdep).
#define EACH(...)                                                  \
    do {                                                           \
        if (w->mask == FULL) {                                     \
            _Pragma("GCC ivdep") for (int i = 0; i < LANES; i++) { \
                __VA_ARGS__;                                       \
            }                                                      \
        } else {                                                   \
            for (uint32_t m_ = w->mask; m_; m_ &= m_ - 1) {        \
                int i = __builtin_ctz(m_);                         \
                __VA_ARGS__;                                       \
            }                                                      \
        }                                                          \
    } while (0)

// SLOW is EACH without the copy for the compiler to vectorise.
#define SLOW(...)                                       \
    do {                                                \
        for (uint32_t m_ = w->mask; m_; m_ &= m_ - 1) { \
            int i = __builtin_ctz(m_);                  \
            __VA_ARGS__;                                \
        }                                               \
    } while (0)

// bits_of packs a row of predicates into 32 bits. A predicate is bit 0 of its
// byte; lanes that never wrote theirs have anything in the others.
static inline uint32_t bits_of(const char *regs, uint32_t at) {
    uint32_t out = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t v;
        memcpy(&v, regs + at + 8 * i, 8);
        v &= 0x0101010101010101u;
        out |= (uint32_t)((v * 0x0102040810204080u) >> 56) << (8 * i);
    }
    return out;
}

static inline float float_of(uint32_t v) { float f; memcpy(&f, &v, 4); return f; }
static inline uint32_t bits32(float f) { uint32_t v; memcpy(&v, &f, 4); return v; }
static inline double double_of(uint64_t v) { double f; memcpy(&f, &v, 8); return f; }
static inline uint64_t bits64(double f) { uint64_t v; memcpy(&v, &f, 8); return v; }

// half.c
float half_to_float(uint16_t h);
uint16_t float_to_half(float f, rounding r);
uint16_t double_to_half(double d, rounding r);
uint16_t double_to_bfloat(double d, rounding r);

#endif
