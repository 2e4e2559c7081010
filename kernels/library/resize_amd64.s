#include "textflag.h"

// NEIGHBOURS leaves eight bytes of a row and their right neighbours, in turn,
// in the words of y; the places of the bytes are in (R10), in registers of
// eight bytes. R12 holds the channels.
#define NEIGHBOURS(row, x, y)          \
	MOVQ (R10), AX                     \
	MOVQ 8(R10), BX                    \
	VPXOR x, x, x                      \
	VPINSRB $0, (row)(AX*1), x, x      \
	VPINSRB $2, (row)(BX*1), x, x      \
	ADDQ R12, AX                       \
	ADDQ R12, BX                       \
	VPINSRB $1, (row)(AX*1), x, x      \
	VPINSRB $3, (row)(BX*1), x, x      \
	MOVQ 16(R10), AX                   \
	MOVQ 24(R10), BX                   \
	VPINSRB $4, (row)(AX*1), x, x      \
	VPINSRB $6, (row)(BX*1), x, x      \
	ADDQ R12, AX                       \
	ADDQ R12, BX                       \
	VPINSRB $5, (row)(AX*1), x, x      \
	VPINSRB $7, (row)(BX*1), x, x      \
	MOVQ 32(R10), AX                   \
	MOVQ 40(R10), BX                   \
	VPINSRB $8, (row)(AX*1), x, x      \
	VPINSRB $10, (row)(BX*1), x, x     \
	ADDQ R12, AX                       \
	ADDQ R12, BX                       \
	VPINSRB $9, (row)(AX*1), x, x      \
	VPINSRB $11, (row)(BX*1), x, x     \
	MOVQ 48(R10), AX                   \
	MOVQ 56(R10), BX                   \
	VPINSRB $12, (row)(AX*1), x, x     \
	VPINSRB $14, (row)(BX*1), x, x     \
	ADDQ R12, AX                       \
	ADDQ R12, BX                       \
	VPINSRB $13, (row)(AX*1), x, x     \
	VPINSRB $15, (row)(BX*1), x, x     \
	VPMOVZXBW x, y

// ADJACENT is NEIGHBOURS for one channel: both bytes are read at once.
#define ADJACENT(row, x, y)            \
	MOVQ (R10), AX                     \
	MOVQ 8(R10), BX                    \
	VPXOR x, x, x                      \
	VPINSRW $0, (row)(AX*1), x, x      \
	VPINSRW $1, (row)(BX*1), x, x      \
	MOVQ 16(R10), AX                   \
	MOVQ 24(R10), BX                   \
	VPINSRW $2, (row)(AX*1), x, x      \
	VPINSRW $3, (row)(BX*1), x, x      \
	MOVQ 32(R10), AX                   \
	MOVQ 40(R10), BX                   \
	VPINSRW $4, (row)(AX*1), x, x      \
	VPINSRW $5, (row)(BX*1), x, x      \
	MOVQ 48(R10), AX                   \
	MOVQ 56(R10), BX                   \
	VPINSRW $6, (row)(AX*1), x, x      \
	VPINSRW $7, (row)(BX*1), x, x      \
	VPMOVZXBW x, y

// RESIZE computes eight bytes of a row a time between rows top and low of the
// source; n counts eights. at are the places of the left neighbours, weights
// those of the left and the right ones, each 16 bits. All sums fit in 31 bits:
// 255·2048·2048 + 2^21.
#define RESIZE(NAME, PAIRS) \
TEXT NAME(SB), NOSPLIT, $0-64          \
	MOVQ dst+0(FP), DI                 \
	MOVQ top+8(FP), R8                 \
	MOVQ low+16(FP), R9                \
	MOVQ at+24(FP), R10                \
	MOVQ weights+32(FP), R11           \
	MOVQ channels+40(FP), R12          \
	MOVQ wy+48(FP), AX                 \
	MOVQ n+56(FP), CX                  \
	VMOVD AX, X15                      \
	VPBROADCASTD X15, Y15              \
	MOVL $2048, BX                     \
	SUBL AX, BX                        \
	VMOVD BX, X14                      \
	VPBROADCASTD X14, Y14              \
	MOVL $(1<<21), AX                  \
	VMOVD AX, X13                      \
	VPBROADCASTD X13, Y13              \
	TESTQ CX, CX                       \
	JE   done                          \
loop:                                  \
	PAIRS(R8, X0, Y0)                  \
	PAIRS(R9, X1, Y1)                  \
	VPMADDWD (R11), Y0, Y0             \
	VPMADDWD (R11), Y1, Y1             \
	VPMULLD Y14, Y0, Y0                \
	VPMULLD Y15, Y1, Y1                \
	VPADDD Y13, Y0, Y0                 \
	VPADDD Y1, Y0, Y0                  \
	VPSRLD $22, Y0, Y0                 \
	VEXTRACTI128 $1, Y0, X1            \
	VPACKUSDW X1, X0, X0               \
	VPACKUSWB X0, X0, X0               \
	VMOVQ X0, (DI)                     \
	ADDQ $8, DI                        \
	ADDQ $64, R10                      \
	ADDQ $32, R11                      \
	DECQ CX                            \
	JNE  loop                          \
done:                                  \
	VZEROUPPER                         \
	RET

RESIZE(·resizeOne, ADJACENT)
RESIZE(·resizeMany, NEIGHBOURS)
