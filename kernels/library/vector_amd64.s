#include "textflag.h"

// Loops over whole blocks of 128 bytes; n counts blocks. Every element is
// rounded as the loops in Go round it.

// TWO is z = x OP y.
#define TWO(NAME, LOAD, OP, STORE) \
TEXT NAME(SB), NOSPLIT, $0-32      \
	MOVQ z+0(FP), DI               \
	MOVQ x+8(FP), SI               \
	MOVQ y+16(FP), DX              \
	MOVQ n+24(FP), CX              \
	TESTQ CX, CX                   \
	JE   done                      \
loop:                              \
	LOAD (SI), Y0                  \
	LOAD 32(SI), Y1                \
	LOAD 64(SI), Y2                \
	LOAD 96(SI), Y3                \
	OP   (DX), Y0, Y0              \
	OP   32(DX), Y1, Y1            \
	OP   64(DX), Y2, Y2            \
	OP   96(DX), Y3, Y3            \
	STORE Y0, (DI)                 \
	STORE Y1, 32(DI)               \
	STORE Y2, 64(DI)               \
	STORE Y3, 96(DI)               \
	ADDQ $128, SI                  \
	ADDQ $128, DX                  \
	ADDQ $128, DI                  \
	DECQ CX                        \
	JNE  loop                      \
	SFENCE                         \
done:                              \
	VZEROUPPER                     \
	RET

TWO(·addFloat32, VMOVUPS, VADDPS, VMOVUPS)
TWO(·addFloat64, VMOVUPD, VADDPD, VMOVUPD)
TWO(·addInt32, VMOVDQU, VPADDD, VMOVDQU)
TWO(·addFloat32Past, VMOVUPS, VADDPS, VMOVNTPS)
TWO(·addFloat64Past, VMOVUPD, VADDPD, VMOVNTPD)
TWO(·addInt32Past, VMOVDQU, VPADDD, VMOVNTDQ)

// ONE is y = f OP x.
#define ONE(NAME, SPREAD, OP, STORE) \
TEXT NAME(SB), NOSPLIT, $0-32        \
	MOVQ y+0(FP), DI                 \
	MOVQ x+8(FP), SI                 \
	MOVQ f+16(FP), DX                \
	MOVQ n+24(FP), CX                \
	SPREAD (DX), Y4                  \
	TESTQ CX, CX                     \
	JE   done                        \
loop:                                \
	OP   (SI), Y4, Y0                \
	OP   32(SI), Y4, Y1              \
	OP   64(SI), Y4, Y2              \
	OP   96(SI), Y4, Y3              \
	STORE Y0, (DI)                   \
	STORE Y1, 32(DI)                 \
	STORE Y2, 64(DI)                 \
	STORE Y3, 96(DI)                 \
	ADDQ $128, SI                    \
	ADDQ $128, DI                    \
	DECQ CX                          \
	JNE  loop                        \
	SFENCE                           \
done:                                \
	VZEROUPPER                       \
	RET

ONE(·scaleFloat32, VBROADCASTSS, VMULPS, VMOVUPS)
ONE(·scaleFloat64, VBROADCASTSD, VMULPD, VMOVUPD)
ONE(·scaleInt32, VPBROADCASTD, VPMULLD, VMOVDQU)
ONE(·scaleFloat32Past, VBROADCASTSS, VMULPS, VMOVNTPS)
ONE(·scaleFloat64Past, VBROADCASTSD, VMULPD, VMOVNTPD)
ONE(·scaleInt32Past, VPBROADCASTD, VPMULLD, VMOVNTDQ)

// UPDATE is y = (f MUL x) ADD y, each rounded.
#define UPDATE(NAME, SPREAD, MUL, ADD, STORE) \
TEXT NAME(SB), NOSPLIT, $0-32                 \
	MOVQ y+0(FP), DI                          \
	MOVQ x+8(FP), SI                          \
	MOVQ f+16(FP), DX                         \
	MOVQ n+24(FP), CX                         \
	SPREAD (DX), Y4                           \
	TESTQ CX, CX                              \
	JE   done                                 \
loop:                                         \
	MUL  (SI), Y4, Y0                         \
	MUL  32(SI), Y4, Y1                       \
	MUL  64(SI), Y4, Y2                       \
	MUL  96(SI), Y4, Y3                       \
	ADD  (DI), Y0, Y0                         \
	ADD  32(DI), Y1, Y1                       \
	ADD  64(DI), Y2, Y2                       \
	ADD  96(DI), Y3, Y3                       \
	STORE Y0, (DI)                            \
	STORE Y1, 32(DI)                          \
	STORE Y2, 64(DI)                          \
	STORE Y3, 96(DI)                          \
	ADDQ $128, SI                             \
	ADDQ $128, DI                             \
	DECQ CX                                   \
	JNE  loop                                 \
done:                                         \
	VZEROUPPER                                \
	RET

UPDATE(·saxpyFloat32, VBROADCASTSS, VMULPS, VADDPS, VMOVUPS)
UPDATE(·saxpyFloat64, VBROADCASTSD, VMULPD, VADDPD, VMOVUPD)
UPDATE(·saxpyInt32, VPBROADCASTD, VPMULLD, VPADDD, VMOVDQU)

// func thresholdBytes(dst, src *byte, level byte, n int)
// 255 where src is at least level: where the greater of both is src.
TEXT ·thresholdBytes(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	VPBROADCASTB level+16(FP), Y4
	MOVQ n+24(FP), CX
	TESTQ CX, CX
	JE   done

loop:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	VPMAXUB Y0, Y4, Y5
	VPMAXUB Y1, Y4, Y6
	VPMAXUB Y2, Y4, Y7
	VPMAXUB Y3, Y4, Y8
	VPCMPEQB Y0, Y5, Y0
	VPCMPEQB Y1, Y6, Y1
	VPCMPEQB Y2, Y7, Y2
	VPCMPEQB Y3, Y8, Y3
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ $128, SI
	ADDQ $128, DI
	DECQ CX
	JNE  loop

done:
	VZEROUPPER
	RET
