#include "textflag.h"

// Folds over rows of 32 elements into 32 lanes; n counts rows. Each lane takes
// its elements in their order.

// FOUR keeps 32 lanes of four bytes in four registers.
#define FOUR(NAME, LOAD, STEP)    \
TEXT NAME(SB), NOSPLIT, $0-24     \
	MOVQ s+0(FP), DI              \
	MOVQ x+8(FP), SI              \
	MOVQ n+16(FP), CX             \
	VMOVUPS (DI), Y0              \
	VMOVUPS 32(DI), Y1            \
	VMOVUPS 64(DI), Y2            \
	VMOVUPS 96(DI), Y3            \
	TESTQ CX, CX                  \
	JE   done                     \
loop:                             \
	LOAD (SI), Y4                 \
	LOAD 32(SI), Y5               \
	LOAD 64(SI), Y6               \
	LOAD 96(SI), Y7               \
	STEP(Y4, Y0, Y8, Y12)         \
	STEP(Y5, Y1, Y9, Y13)         \
	STEP(Y6, Y2, Y10, Y14)        \
	STEP(Y7, Y3, Y11, Y15)        \
	ADDQ $128, SI                 \
	DECQ CX                       \
	JNE  loop                     \
done:                             \
	VMOVUPS Y0, (DI)              \
	VMOVUPS Y1, 32(DI)            \
	VMOVUPS Y2, 64(DI)            \
	VMOVUPS Y3, 96(DI)            \
	VZEROUPPER                    \
	RET

// ORDERED is FOUR for comparisons of numbers without a NaN; where there is one,
// it says so and leaves the lanes as they were. Finding a NaN in two registers
// takes one comparison, keeping it in its lane two operations for each.
#define ORDERED(NAME, STEP)       \
TEXT NAME(SB), NOSPLIT, $0-25     \
	MOVQ s+0(FP), DI              \
	MOVQ x+8(FP), SI              \
	MOVQ n+16(FP), CX             \
	VMOVUPS (DI), Y0              \
	VMOVUPS 32(DI), Y1            \
	VMOVUPS 64(DI), Y2            \
	VMOVUPS 96(DI), Y3            \
	VXORPS Y10, Y10, Y10          \
	VXORPS Y11, Y11, Y11          \
	TESTQ CX, CX                  \
	JE   done                     \
loop:                             \
	VMOVUPS (SI), Y4              \
	VMOVUPS 32(SI), Y5            \
	VMOVUPS 64(SI), Y6            \
	VMOVUPS 96(SI), Y7            \
	STEP Y0, Y4, Y0               \
	STEP Y1, Y5, Y1               \
	STEP Y2, Y6, Y2               \
	STEP Y3, Y7, Y3               \
	VCMPPS $3, Y4, Y5, Y8         \
	VCMPPS $3, Y6, Y7, Y9         \
	VORPS Y8, Y10, Y10            \
	VORPS Y9, Y11, Y11            \
	ADDQ $128, SI                 \
	DECQ CX                       \
	JNE  loop                     \
	VORPS Y10, Y11, Y11           \
	VMOVMSKPS Y11, AX             \
	TESTL AX, AX                  \
	JNE  odd                      \
	VMOVUPS Y0, (DI)              \
	VMOVUPS Y1, 32(DI)            \
	VMOVUPS Y2, 64(DI)            \
	VMOVUPS Y3, 96(DI)            \
done:                             \
	MOVB $1, ok+24(FP)            \
	VZEROUPPER                    \
	RET                           \
odd:                              \
	MOVB $0, ok+24(FP)            \
	VZEROUPPER                    \
	RET

// EIGHT keeps 32 lanes of eight bytes in eight registers. Elements are SIZE
// bytes for four of them.
#define EIGHT(NAME, LOAD, SIZE, STEP)   \
TEXT NAME(SB), NOSPLIT, $0-24           \
	MOVQ s+0(FP), DI                    \
	MOVQ x+8(FP), SI                    \
	MOVQ n+16(FP), CX                   \
	VMOVUPD (DI), Y0                    \
	VMOVUPD 32(DI), Y1                  \
	VMOVUPD 64(DI), Y2                  \
	VMOVUPD 96(DI), Y3                  \
	VMOVUPD 128(DI), Y4                 \
	VMOVUPD 160(DI), Y5                 \
	VMOVUPD 192(DI), Y6                 \
	VMOVUPD 224(DI), Y7                 \
	TESTQ CX, CX                        \
	JE   done                           \
loop:                                   \
	LOAD (0*SIZE)(SI), Y8               \
	LOAD (1*SIZE)(SI), Y9               \
	STEP(Y8, Y0, Y10, Y12)              \
	STEP(Y9, Y1, Y11, Y13)              \
	LOAD (2*SIZE)(SI), Y8               \
	LOAD (3*SIZE)(SI), Y9               \
	STEP(Y8, Y2, Y10, Y12)              \
	STEP(Y9, Y3, Y11, Y13)              \
	LOAD (4*SIZE)(SI), Y8               \
	LOAD (5*SIZE)(SI), Y9               \
	STEP(Y8, Y4, Y10, Y12)              \
	STEP(Y9, Y5, Y11, Y13)              \
	LOAD (6*SIZE)(SI), Y8               \
	LOAD (7*SIZE)(SI), Y9               \
	STEP(Y8, Y6, Y10, Y12)              \
	STEP(Y9, Y7, Y11, Y13)              \
	ADDQ $(8*SIZE), SI                  \
	DECQ CX                             \
	JNE  loop                           \
done:                                   \
	VMOVUPD Y0, (DI)                    \
	VMOVUPD Y1, 32(DI)                  \
	VMOVUPD Y2, 64(DI)                  \
	VMOVUPD Y3, 96(DI)                  \
	VMOVUPD Y4, 128(DI)                 \
	VMOVUPD Y5, 160(DI)                 \
	VMOVUPD Y6, 192(DI)                 \
	VMOVUPD Y7, 224(DI)                 \
	VZEROUPPER                          \
	RET

// The steps join v with lane a; t and m are free.
#define SUM32(v, a, t, m) VADDPS v, a, a
#define SUM64(v, a, t, m) VADDPD v, a, a
#define SUMQ(v, a, t, m) VPADDQ v, a, a

// The least of v and a: where they are equal a, and v where it is NaN.
#define MIN32(v, a, t, m) \
	VMINPS a, v, t       \
	VCMPPS $3, v, v, m   \
	VBLENDVPS m, v, t, a
#define MAX32(v, a, t, m) \
	VMAXPS a, v, t       \
	VCMPPS $3, v, v, m   \
	VBLENDVPS m, v, t, a
#define MIN64(v, a, t, m) \
	VMINPD a, v, t       \
	VCMPPD $3, v, v, m   \
	VBLENDVPD m, v, t, a
#define MAX64(v, a, t, m) \
	VMAXPD a, v, t       \
	VCMPPD $3, v, v, m   \
	VBLENDVPD m, v, t, a
#define MINI(v, a, t, m) VPMINSD v, a, a
#define MAXI(v, a, t, m) VPMAXSD v, a, a

FOUR(·sumFloat32, VMOVUPS, SUM32)
FOUR(·minFloat32, VMOVUPS, MIN32)
FOUR(·maxFloat32, VMOVUPS, MAX32)
ORDERED(·minFloat32Ordered, VMINPS)
ORDERED(·maxFloat32Ordered, VMAXPS)
FOUR(·minInt32, VMOVDQU, MINI)
FOUR(·maxInt32, VMOVDQU, MAXI)
EIGHT(·sumFloat64, VMOVUPD, 32, SUM64)
EIGHT(·minFloat64, VMOVUPD, 32, MIN64)
EIGHT(·maxFloat64, VMOVUPD, 32, MAX64)
EIGHT(·sumInt32, VPMOVSXDQ, 16, SUMQ)
EIGHT(·sumInt64, VMOVDQU, 32, SUMQ)

// func dotFloat32(s, x, y *float32, n int)
TEXT ·dotFloat32(SB), NOSPLIT, $0-32
	MOVQ s+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	TESTQ CX, CX
	JE   done

loop:
	VMOVUPS (SI), Y4
	VMOVUPS 32(SI), Y5
	VMOVUPS 64(SI), Y6
	VMOVUPS 96(SI), Y7
	VMULPS (DX), Y4, Y4
	VMULPS 32(DX), Y5, Y5
	VMULPS 64(DX), Y6, Y6
	VMULPS 96(DX), Y7, Y7
	VADDPS Y4, Y0, Y0
	VADDPS Y5, Y1, Y1
	VADDPS Y6, Y2, Y2
	VADDPS Y7, Y3, Y3
	ADDQ $128, SI
	ADDQ $128, DX
	DECQ CX
	JNE  loop

done:
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VZEROUPPER
	RET

// DOT8 adds two products of four elements each to two lanes.
#define DOT8(LOAD, MUL, ADD, at, next, a, b) \
	LOAD at(SI), Y8                          \
	LOAD next(SI), Y9                        \
	LOAD at(DX), Y10                         \
	LOAD next(DX), Y11                       \
	MUL  Y10, Y8, Y8                         \
	MUL  Y11, Y9, Y9                         \
	ADD  Y8, a, a                            \
	ADD  Y9, b, b

#define DOT(NAME, LOAD, SIZE, MUL, ADD) \
TEXT NAME(SB), NOSPLIT, $0-32           \
	MOVQ s+0(FP), DI                    \
	MOVQ x+8(FP), SI                    \
	MOVQ y+16(FP), DX                   \
	MOVQ n+24(FP), CX                   \
	VMOVUPD (DI), Y0                    \
	VMOVUPD 32(DI), Y1                  \
	VMOVUPD 64(DI), Y2                  \
	VMOVUPD 96(DI), Y3                  \
	VMOVUPD 128(DI), Y4                 \
	VMOVUPD 160(DI), Y5                 \
	VMOVUPD 192(DI), Y6                 \
	VMOVUPD 224(DI), Y7                 \
	TESTQ CX, CX                        \
	JE   done                           \
loop:                                   \
	DOT8(LOAD, MUL, ADD, (0*SIZE), (1*SIZE), Y0, Y1) \
	DOT8(LOAD, MUL, ADD, (2*SIZE), (3*SIZE), Y2, Y3) \
	DOT8(LOAD, MUL, ADD, (4*SIZE), (5*SIZE), Y4, Y5) \
	DOT8(LOAD, MUL, ADD, (6*SIZE), (7*SIZE), Y6, Y7) \
	ADDQ $(8*SIZE), SI                  \
	ADDQ $(8*SIZE), DX                  \
	DECQ CX                             \
	JNE  loop                           \
done:                                   \
	VMOVUPD Y0, (DI)                    \
	VMOVUPD Y1, 32(DI)                  \
	VMOVUPD Y2, 64(DI)                  \
	VMOVUPD Y3, 96(DI)                  \
	VMOVUPD Y4, 128(DI)                 \
	VMOVUPD Y5, 160(DI)                 \
	VMOVUPD Y6, 192(DI)                 \
	VMOVUPD Y7, 224(DI)                 \
	VZEROUPPER                          \
	RET

DOT(·dotFloat64, VMOVUPD, 32, VMULPD, VADDPD)

// The elements are sign-extended to 64 bits, so their product is exact.
DOT(·dotInt32, VPMOVSXDQ, 16, VPMULDQ, VPADDQ)
