#include "textflag.h"

// Loops over the bytes of pictures.

// Of three bytes r, g and b of four pixels, r g g b of each; gray4 likewise of
// four bytes.
DATA gray3<>+0(SB)/8, $0x0504040302010100
DATA gray3<>+8(SB)/8, $0x0b0a0a0908070706
DATA gray3<>+16(SB)/8, $0x0504040302010100
DATA gray3<>+24(SB)/8, $0x0b0a0a0908070706
GLOBL gray3<>(SB), RODATA|NOPTR, $32

DATA gray4<>+0(SB)/8, $0x0605050402010100
DATA gray4<>+8(SB)/8, $0x0e0d0d0c0a090908
DATA gray4<>+16(SB)/8, $0x0605050402010100
DATA gray4<>+24(SB)/8, $0x0e0d0d0c0a090908
GLOBL gray4<>(SB), RODATA|NOPTR, $32

// Where eight quarters belong that two packings within halves have mixed.
DATA quarters<>+0(SB)/8, $0x0000000400000000
DATA quarters<>+8(SB)/8, $0x0000000500000001
DATA quarters<>+16(SB)/8, $0x0000000600000002
DATA quarters<>+24(SB)/8, $0x0000000700000003
GLOBL quarters<>(SB), RODATA|NOPTR, $32

// Weights 77, 51, 99 and 29: those of r, g, b are 77, 150 and 29, and 150 does
// not fit in a signed byte. A sum of two products is at most 255·128.
#define GRAY_WEIGHTS $0x1d63334d

// HALVES loads four pixels of three bytes into each half of y.
#define HALVES(at, x, y)             \
	VMOVDQU at(SI), x                \
	VINSERTI128 $1, (at+12)(SI), y, y

// WHOLE loads eight pixels of four bytes.
#define WHOLE(at, x, y) VMOVDQU at(SI), y

// LUMA leaves the gray values of eight pixels of y in words of four bytes.
#define LUMA(y)             \
	VPSHUFB Y12, y, y       \
	VPMADDUBSW Y13, y, y    \
	VPMADDWD Y14, y, y      \
	VPADDD Y15, y, y        \
	VPSRLD $8, y, y

// GRAY is 32 pixels a time; n counts them.
#define GRAY(NAME, PLACES, LOAD, SIZE) \
TEXT NAME(SB), NOSPLIT, $0-24          \
	MOVQ dst+0(FP), DI                 \
	MOVQ src+8(FP), SI                 \
	MOVQ n+16(FP), CX                  \
	VMOVDQU PLACES<>(SB), Y12          \
	MOVL GRAY_WEIGHTS, AX              \
	VMOVD AX, X13                      \
	VPBROADCASTD X13, Y13              \
	MOVL $0x00010001, AX               \
	VMOVD AX, X14                      \
	VPBROADCASTD X14, Y14              \
	MOVL $128, AX                      \
	VMOVD AX, X15                      \
	VPBROADCASTD X15, Y15              \
	VMOVDQU quarters<>(SB), Y11        \
	TESTQ CX, CX                       \
	JE   done                          \
loop:                                  \
	LOAD((0*SIZE), X0, Y0)             \
	LOAD((8*SIZE), X1, Y1)             \
	LOAD((16*SIZE), X2, Y2)            \
	LOAD((24*SIZE), X3, Y3)            \
	LUMA(Y0)                           \
	LUMA(Y1)                           \
	LUMA(Y2)                           \
	LUMA(Y3)                           \
	VPACKUSDW Y1, Y0, Y0               \
	VPACKUSDW Y3, Y2, Y2               \
	VPACKUSWB Y2, Y0, Y0               \
	VPERMD Y0, Y11, Y0                 \
	VMOVDQU Y0, (DI)                   \
	ADDQ $(32*SIZE), SI                \
	ADDQ $32, DI                       \
	DECQ CX                            \
	JNE  loop                          \
done:                                  \
	VZEROUPPER                         \
	RET

GRAY(·grayThree, gray3, HALVES, 3)
GRAY(·grayFour, gray4, WHOLE, 4)

// func blurColumns(sums *uint16, r0, r1, r2, r3, r4 *byte, n int)
// Sums weighted 1 4 6 4 1 of 16 columns a time; n counts them.
TEXT ·blurColumns(SB), NOSPLIT, $0-56
	MOVQ sums+0(FP), DI
	MOVQ r0+8(FP), R8
	MOVQ r1+16(FP), R9
	MOVQ r2+24(FP), R10
	MOVQ r3+32(FP), R11
	MOVQ r4+40(FP), R12
	MOVQ n+48(FP), CX
	XORQ AX, AX
	TESTQ CX, CX
	JE   done

loop:
	VPMOVZXBW (R8)(AX*1), Y0
	VPMOVZXBW (R12)(AX*1), Y4
	VPMOVZXBW (R9)(AX*1), Y1
	VPMOVZXBW (R11)(AX*1), Y3
	VPMOVZXBW (R10)(AX*1), Y2
	VPADDW Y4, Y0, Y0
	VPADDW Y3, Y1, Y1
	VPADDW Y2, Y1, Y1
	VPSLLW $2, Y1, Y1
	VPADDW Y2, Y2, Y2
	VPADDW Y1, Y0, Y0
	VPADDW Y2, Y0, Y0
	VMOVDQU Y0, (DI)(AX*2)
	ADDQ $16, AX
	DECQ CX
	JNE  loop

done:
	VZEROUPPER
	RET

// func blurRow(dst *byte, sums *uint16, channels, n int)
// 32 sums weighted 1 4 6 4 1 of column sums, channels places apart; n counts
// those. The first column sum is the first byte's leftmost.
#define WEIGHTED(at, a, b)        \
	VMOVDQU at(R9), a             \
	VMOVDQU at(R10), b            \
	VPADDW at(R11), a, a          \
	VPADDW b, a, a                \
	VPSLLW $2, a, a               \
	VPADDW b, b, b                \
	VPADDW b, a, a                \
	VPADDW at(R8), a, a           \
	VPADDW at(R12), a, a          \
	VPADDW Y15, a, a              \
	VPSRLW $8, a, a

TEXT ·blurRow(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ sums+8(FP), R8
	MOVQ channels+16(FP), AX
	MOVQ n+24(FP), CX
	LEAQ (R8)(AX*2), R9
	LEAQ (R9)(AX*2), R10
	LEAQ (R10)(AX*2), R11
	LEAQ (R11)(AX*2), R12
	MOVL $0x00800080, DX
	VMOVD DX, X15
	VPBROADCASTD X15, Y15
	TESTQ CX, CX
	JE   done

loop:
	WEIGHTED(0, Y0, Y1)
	WEIGHTED(32, Y2, Y3)
	VPACKUSWB Y2, Y0, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $64, R8
	ADDQ $64, R9
	ADDQ $64, R10
	ADDQ $64, R11
	ADDQ $64, R12
	ADDQ $32, DI
	DECQ CX
	JNE  loop

done:
	VZEROUPPER
	RET

// GRADIENT leaves the roots of the squares of 16 gradients plus a quarter, cut
// to whole numbers, in words of two bytes in Y0. The rows are those of the
// left neighbours.
#define GRADIENT(at)              \
	VPMOVZXBW at(R8), Y0          \
	VPMOVZXBW (at+1)(R8), Y1      \
	VPMOVZXBW (at+2)(R8), Y2      \
	VPMOVZXBW at(R10), Y3         \
	VPMOVZXBW (at+1)(R10), Y4     \
	VPMOVZXBW (at+2)(R10), Y5     \
	VPMOVZXBW at(R9), Y6          \
	VPMOVZXBW (at+2)(R9), Y7      \
	VPSUBW Y6, Y7, Y7             \
	VPADDW Y7, Y7, Y7             \
	VPSUBW Y1, Y4, Y4             \
	VPADDW Y4, Y4, Y4             \
	VPSUBW Y0, Y3, Y1             \
	VPSUBW Y2, Y5, Y6             \
	VPADDW Y1, Y4, Y4             \
	VPADDW Y6, Y4, Y4             \
	VPADDW Y2, Y5, Y5             \
	VPADDW Y0, Y3, Y3             \
	VPADDW Y5, Y7, Y7             \
	VPSUBW Y3, Y7, Y7             \
	VPUNPCKLWD Y4, Y7, Y0         \
	VPUNPCKHWD Y4, Y7, Y1         \
	VPMADDWD Y0, Y0, Y0           \
	VPMADDWD Y1, Y1, Y1           \
	VCVTDQ2PS Y0, Y0              \
	VCVTDQ2PS Y1, Y1              \
	VADDPS Y15, Y0, Y0            \
	VADDPS Y15, Y1, Y1            \
	VSQRTPS Y0, Y0                \
	VSQRTPS Y1, Y1                \
	VCVTTPS2DQ Y0, Y0             \
	VCVTTPS2DQ Y1, Y1             \
	VPACKSSDW Y1, Y0, Y0

// func sobelPixels(dst, top, mid, low *byte, n int)
// 32 pixels a time; n counts those. top, mid and low begin one pixel before the
// first of dst. Packing with saturation makes 255 of all above.
TEXT ·sobelPixels(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ top+8(FP), R8
	MOVQ mid+16(FP), R9
	MOVQ low+24(FP), R10
	MOVQ n+32(FP), CX
	MOVL $0x3e800000, AX // a quarter
	VMOVD AX, X15
	VBROADCASTSS X15, Y15
	TESTQ CX, CX
	JE   done

loop:
	GRADIENT(0)
	VMOVDQA Y0, Y8
	GRADIENT(16)
	VPACKUSWB Y0, Y8, Y0
	VPERMQ $0xd8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ $32, DI
	ADDQ $32, R8
	ADDQ $32, R9
	ADDQ $32, R10
	DECQ CX
	JNE  loop

done:
	VZEROUPPER
	RET
