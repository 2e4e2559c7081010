#include "textflag.h"

// GEMM adds the products of four rows of a and a packed panel of 64-byte rows
// to four rows of sums; depth counts the panel's rows. Every product and every
// sum is rounded.
#define GEMM(NAME, LOAD, SPREAD, MUL, ADD, SIZE) \
TEXT NAME(SB), NOSPLIT, $0-40                    \
	MOVQ s+0(FP), DI                             \
	MOVQ a+8(FP), R8                             \
	MOVQ stride+16(FP), AX                       \
	MOVQ panel+24(FP), SI                        \
	MOVQ depth+32(FP), CX                        \
	LEAQ (R8)(AX*1), R9                          \
	LEAQ (R9)(AX*1), R10                         \
	LEAQ (R10)(AX*1), R11                        \
	LOAD (DI), Y0                                \
	LOAD 32(DI), Y1                              \
	LOAD 64(DI), Y2                              \
	LOAD 96(DI), Y3                              \
	LOAD 128(DI), Y4                             \
	LOAD 160(DI), Y5                             \
	LOAD 192(DI), Y6                             \
	LOAD 224(DI), Y7                             \
	TESTQ CX, CX                                 \
	JE   done                                    \
loop:                                            \
	LOAD (SI), Y8                                \
	LOAD 32(SI), Y9                              \
	SPREAD (R8), Y10                             \
	SPREAD (R9), Y11                             \
	MUL  Y8, Y10, Y12                            \
	MUL  Y9, Y10, Y13                            \
	MUL  Y8, Y11, Y14                            \
	MUL  Y9, Y11, Y15                            \
	ADD  Y12, Y0, Y0                             \
	ADD  Y13, Y1, Y1                             \
	ADD  Y14, Y2, Y2                             \
	ADD  Y15, Y3, Y3                             \
	SPREAD (R10), Y10                            \
	SPREAD (R11), Y11                            \
	MUL  Y8, Y10, Y12                            \
	MUL  Y9, Y10, Y13                            \
	MUL  Y8, Y11, Y14                            \
	MUL  Y9, Y11, Y15                            \
	ADD  Y12, Y4, Y4                             \
	ADD  Y13, Y5, Y5                             \
	ADD  Y14, Y6, Y6                             \
	ADD  Y15, Y7, Y7                             \
	ADDQ $64, SI                                 \
	ADDQ $SIZE, R8                               \
	ADDQ $SIZE, R9                               \
	ADDQ $SIZE, R10                              \
	ADDQ $SIZE, R11                              \
	DECQ CX                                      \
	JNE  loop                                    \
done:                                            \
	LOAD Y0, (DI)                                \
	LOAD Y1, 32(DI)                              \
	LOAD Y2, 64(DI)                              \
	LOAD Y3, 96(DI)                              \
	LOAD Y4, 128(DI)                             \
	LOAD Y5, 160(DI)                             \
	LOAD Y6, 192(DI)                             \
	LOAD Y7, 224(DI)                             \
	VZEROUPPER                                   \
	RET

GEMM(·gemmFloat32, VMOVUPS, VBROADCASTSS, VMULPS, VADDPS, 4)
GEMM(·gemmFloat64, VMOVUPD, VBROADCASTSD, VMULPD, VADDPD, 8)

// func gemvFloat32(s, a *float32, stride int, x *float32, n int)
// Eight lanes of each of four rows; n counts eights of elements.
TEXT ·gemvFloat32(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ a+8(FP), R8
	MOVQ stride+16(FP), AX
	MOVQ x+24(FP), SI
	MOVQ n+32(FP), CX
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	TESTQ CX, CX
	JE   done

loop:
	VMOVUPS (SI), Y8
	VMULPS (R8), Y8, Y4
	VMULPS (R9), Y8, Y5
	VMULPS (R10), Y8, Y6
	VMULPS (R11), Y8, Y7
	VADDPS Y4, Y0, Y0
	VADDPS Y5, Y1, Y1
	VADDPS Y6, Y2, Y2
	VADDPS Y7, Y3, Y3
	ADDQ $32, SI
	ADDQ $32, R8
	ADDQ $32, R9
	ADDQ $32, R10
	ADDQ $32, R11
	DECQ CX
	JNE  loop

done:
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VZEROUPPER
	RET

// func gemvFloat64(s, a *float64, stride int, x *float64, n int)
TEXT ·gemvFloat64(SB), NOSPLIT, $0-40
	MOVQ s+0(FP), DI
	MOVQ a+8(FP), R8
	MOVQ stride+16(FP), AX
	MOVQ x+24(FP), SI
	MOVQ n+32(FP), CX
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7
	TESTQ CX, CX
	JE   done

loop:
	VMOVUPD (SI), Y8
	VMOVUPD 32(SI), Y9
	VMULPD (R8), Y8, Y10
	VMULPD 32(R8), Y9, Y11
	VMULPD (R9), Y8, Y12
	VMULPD 32(R9), Y9, Y13
	VADDPD Y10, Y0, Y0
	VADDPD Y11, Y1, Y1
	VADDPD Y12, Y2, Y2
	VADDPD Y13, Y3, Y3
	VMULPD (R10), Y8, Y10
	VMULPD 32(R10), Y9, Y11
	VMULPD (R11), Y8, Y12
	VMULPD 32(R11), Y9, Y13
	VADDPD Y10, Y4, Y4
	VADDPD Y11, Y5, Y5
	VADDPD Y12, Y6, Y6
	VADDPD Y13, Y7, Y7
	ADDQ $64, SI
	ADDQ $64, R8
	ADDQ $64, R9
	ADDQ $64, R10
	ADDQ $64, R11
	DECQ CX
	JNE  loop

done:
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VMOVUPD Y4, 128(DI)
	VMOVUPD Y5, 160(DI)
	VMOVUPD Y6, 192(DI)
	VMOVUPD Y7, 224(DI)
	VZEROUPPER
	RET

// JACOBI is out = ((((mid[1] + above) + below) + mid[0]) + mid[2])·fifth; n
// counts 64 bytes.
#define JACOBI(NAME, LOAD, SPREAD, ADD, MUL, SIZE) \
TEXT NAME(SB), NOSPLIT, $0-48                      \
	MOVQ out+0(FP), DI                             \
	MOVQ above+8(FP), R8                           \
	MOVQ mid+16(FP), R9                            \
	MOVQ below+24(FP), R10                         \
	MOVQ fifth+32(FP), AX                          \
	MOVQ n+40(FP), CX                              \
	SPREAD (AX), Y4                                \
	TESTQ CX, CX                                   \
	JE   done                                      \
loop:                                              \
	LOAD SIZE(R9), Y0                              \
	LOAD (SIZE+32)(R9), Y1                         \
	ADD  (R8), Y0, Y0                              \
	ADD  32(R8), Y1, Y1                            \
	ADD  (R10), Y0, Y0                             \
	ADD  32(R10), Y1, Y1                           \
	ADD  (R9), Y0, Y0                              \
	ADD  32(R9), Y1, Y1                            \
	ADD  (2*SIZE)(R9), Y0, Y0                      \
	ADD  (2*SIZE+32)(R9), Y1, Y1                   \
	MUL  Y4, Y0, Y0                                \
	MUL  Y4, Y1, Y1                                \
	LOAD Y0, (DI)                                  \
	LOAD Y1, 32(DI)                                \
	ADDQ $64, DI                                   \
	ADDQ $64, R8                                   \
	ADDQ $64, R9                                   \
	ADDQ $64, R10                                  \
	DECQ CX                                        \
	JNE  loop                                      \
done:                                              \
	VZEROUPPER                                     \
	RET

JACOBI(·jacobiFloat32, VMOVUPS, VBROADCASTSS, VADDPS, VMULPS, 4)
JACOBI(·jacobiFloat64, VMOVUPD, VBROADCASTSD, VADDPD, VMULPD, 8)
