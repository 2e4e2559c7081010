#include "textflag.h"

// STEP is one step of a group of pixels that are at (zr, zi), as escape takes
// it, and counts it in n for those that are inside. A pixel that is outside
// stays outside, whatever becomes of its z.
#define STEP(MUL, ADD, SUB, CMP, AND, COUNT, cr, zr, zi, inside, n, t, u) \
	MUL  zr, zr, t           \
	MUL  zi, zi, u           \
	MUL  zi, zr, zi          \
	ADD  u, t, zr            \
	CMP  $0x12, Y3, zr, zr   \
	AND  zr, inside, inside  \
	COUNT inside, n, n       \
	ADD  zi, zi, zi          \
	SUB  u, t, t             \
	ADD  Y2, zi, zi          \
	ADD  cr, t, zr

// ESCAPE counts the steps of two groups of pixels of a row; row holds their
// imaginary part and 4.
#define ESCAPE(NAME, LOAD, SPREAD, MUL, ADD, SUB, CMP, AND, OR, MASK, COUNT, SIZE) \
TEXT NAME(SB), NOSPLIT, $0-32           \
	MOVQ n+0(FP), DI                    \
	MOVQ cr+8(FP), SI                   \
	MOVQ row+16(FP), DX                 \
	MOVQ limit+24(FP), CX               \
	LOAD (SI), Y0                       \
	LOAD 32(SI), Y1                     \
	SPREAD (DX), Y2                     \
	SPREAD SIZE(DX), Y3                 \
	VXORPS Y4, Y4, Y4                   \
	VXORPS Y5, Y5, Y5                   \
	VXORPS Y6, Y6, Y6                   \
	VXORPS Y7, Y7, Y7                   \
	VXORPS Y10, Y10, Y10                \
	VXORPS Y11, Y11, Y11                \
	VPCMPEQD Y8, Y8, Y8                 \
	VPCMPEQD Y9, Y9, Y9                 \
	TESTQ CX, CX                        \
	JE   done                           \
loop:                                   \
	STEP(MUL, ADD, SUB, CMP, AND, COUNT, Y0, Y4, Y5, Y8, Y10, Y12, Y13) \
	STEP(MUL, ADD, SUB, CMP, AND, COUNT, Y1, Y6, Y7, Y9, Y11, Y14, Y15) \
	OR   Y8, Y9, Y12                    \
	MASK Y12, AX                        \
	TESTL AX, AX                        \
	JE   done                           \
	DECQ CX                             \
	JNE  loop                           \
done:                                   \
	VMOVDQU Y10, (DI)                   \
	VMOVDQU Y11, 32(DI)                 \
	VZEROUPPER                          \
	RET

// func escapeFloat32(n *[16]int32, cr *[16]float32, row *[2]float32, limit int)
ESCAPE(·escapeFloat32, VMOVUPS, VBROADCASTSS, VMULPS, VADDPS, VSUBPS, VCMPPS, VANDPS, VORPS, VMOVMSKPS, VPSUBD, 4)

// func escapeFloat64(n *[8]int64, cr *[8]float64, row *[2]float64, limit int)
ESCAPE(·escapeFloat64, VMOVUPD, VBROADCASTSD, VMULPD, VADDPD, VSUBPD, VCMPPD, VANDPD, VORPD, VMOVMSKPD, VPSUBQ, 8)
