#include "textflag.h"

// The functions of elementary.go for eight numbers at a time, and what is made
// of them. Operations and their order are the same; none is fused.

// Constants, each eight times.
#define SPREAD(at, v) \
	DATA elementary<>+(at+0)(SB)/4, v  \
	DATA elementary<>+(at+4)(SB)/4, v  \
	DATA elementary<>+(at+8)(SB)/4, v  \
	DATA elementary<>+(at+12)(SB)/4, v \
	DATA elementary<>+(at+16)(SB)/4, v \
	DATA elementary<>+(at+20)(SB)/4, v \
	DATA elementary<>+(at+24)(SB)/4, v \
	DATA elementary<>+(at+28)(SB)/4, v

#define ROOT_GUESS elementary<>+0(SB)
#define RECIPROCAL_GUESS elementary<>+32(SB)
#define HALF elementary<>+64(SB)
#define ONE_AND_A_HALF elementary<>+96(SB)
#define ONE elementary<>+128(SB)
#define TWO elementary<>+160(SB)
#define LEAST_SPREAD elementary<>+192(SB)
#define EXP_LEAST elementary<>+224(SB)
#define EXP_MOST elementary<>+256(SB)
#define LOG2_E elementary<>+288(SB)
#define ROUNDER elementary<>+320(SB)
#define EXPONENT elementary<>+352(SB)
#define LN2_HIGH elementary<>+384(SB)
#define LN2_LOW elementary<>+416(SB)
#define EXP0 elementary<>+448(SB)
#define EXP1 elementary<>+480(SB)
#define EXP2 elementary<>+512(SB)
#define EXP3 elementary<>+544(SB)
#define EXP4 elementary<>+576(SB)
#define EXP5 elementary<>+608(SB)
#define ROOT_HALF elementary<>+640(SB)
#define MANTISSA elementary<>+672(SB)
#define LOG0 elementary<>+704(SB)
#define LOG1 elementary<>+736(SB)
#define LOG2 elementary<>+768(SB)
#define LOG3 elementary<>+800(SB)
#define LOG4 elementary<>+832(SB)
#define LOG5 elementary<>+864(SB)
#define LOG6 elementary<>+896(SB)
#define LOG7 elementary<>+928(SB)
#define LOG8 elementary<>+960(SB)
#define MAGNITUDE elementary<>+992(SB)
#define MINUS_HALF elementary<>+1024(SB)
#define TAIL_SCALE elementary<>+1056(SB)
#define TAIL0 elementary<>+1088(SB)
#define TAIL1 elementary<>+1120(SB)
#define TAIL2 elementary<>+1152(SB)
#define TAIL3 elementary<>+1184(SB)
#define TAIL4 elementary<>+1216(SB)
#define DENSITY elementary<>+1248(SB)
#define NOT_A_NUMBER elementary<>+1280(SB)
#define NOTHING elementary<>+1312(SB)

SPREAD(0, $0x5f375a86)
SPREAD(32, $0x7ef311c7)
SPREAD(64, $(0.5))
SPREAD(96, $(1.5))
SPREAD(128, $(1.0))
SPREAD(160, $(2.0))
SPREAD(192, $(1e-6))
SPREAD(224, $(-87.0))
SPREAD(256, $(88.0))
SPREAD(288, $(1.44269504))
SPREAD(320, $(12582912.0))
SPREAD(352, $(12583039.0))
SPREAD(384, $(0.693359375))
SPREAD(416, $(-2.12194440e-4))
SPREAD(448, $(1.9875691500e-4))
SPREAD(480, $(1.3981999507e-3))
SPREAD(512, $(8.3334519073e-3))
SPREAD(544, $(4.1665795894e-2))
SPREAD(576, $(1.6666665459e-1))
SPREAD(608, $(5.0000001201e-1))
SPREAD(640, $0x3f3504f3)
SPREAD(672, $0x007fffff)
SPREAD(704, $(7.0376836292e-2))
SPREAD(736, $(-1.1514610310e-1))
SPREAD(768, $(1.1676998740e-1))
SPREAD(800, $(-1.2420140846e-1))
SPREAD(832, $(1.4249322787e-1))
SPREAD(864, $(-1.6668057665e-1))
SPREAD(896, $(2.0000714765e-1))
SPREAD(928, $(-2.4999993993e-1))
SPREAD(960, $(3.3333331174e-1))
SPREAD(992, $0x7fffffff)
SPREAD(1024, $(-0.5))
SPREAD(1056, $(0.2316419))
SPREAD(1088, $(1.330274429))
SPREAD(1120, $(-1.821255978))
SPREAD(1152, $(1.781477937))
SPREAD(1184, $(-0.356563782))
SPREAD(1216, $(0.319381530))
SPREAD(1248, $(0.398942280))
SPREAD(1280, $0x7fc00000)
SPREAD(1312, $(0.0))
GLOBL elementary<>(SB), RODATA|NOPTR, $1344

// RECIPROCAL is y = 1/x; t is free, as are the last arguments of the others.
#define REFINE_RECIPROCAL(x, y, t) \
	VMULPS y, x, t                 \
	VMOVUPS TWO, Y11               \
	VSUBPS t, Y11, t               \
	VMULPS t, y, y

#define RECIPROCAL(x, y, t)     \
	VMOVDQU RECIPROCAL_GUESS, y \
	VPSUBD x, y, y              \
	REFINE_RECIPROCAL(x, y, t)  \
	REFINE_RECIPROCAL(x, y, t)  \
	REFINE_RECIPROCAL(x, y, t)

// ROOT is y = √x; h is half of x.
#define REFINE_ROOT(y, h, t)      \
	VMULPS y, h, t                \
	VMULPS y, t, t                \
	VMOVUPS ONE_AND_A_HALF, Y11   \
	VSUBPS t, Y11, t              \
	VMULPS t, y, y

#define ROOT(x, y, h, t)      \
	VMULPS HALF, x, h         \
	VPSRLD $1, x, t           \
	VMOVDQU ROOT_GUESS, y     \
	VPSUBD t, y, y            \
	REFINE_ROOT(y, h, t)      \
	REFINE_ROOT(y, h, t)      \
	REFINE_ROOT(y, h, t)      \
	VMULPS y, x, y

// TERM is p = p·x + c.
#define TERM(p, x, c) \
	VMULPS x, p, p    \
	VADDPS c, p, p

// EXPONENTIAL is p = e^x; x is lost.
#define EXPONENTIAL(x, p, n, t)   \
	VMOVUPS EXP_LEAST, t          \
	VMAXPS x, t, x                \
	VMOVUPS EXP_MOST, t           \
	VMINPS x, t, x                \
	VMULPS LOG2_E, x, n           \
	VADDPS ROUNDER, n, n          \
	VSUBPS ROUNDER, n, n          \
	VMULPS LN2_HIGH, n, t         \
	VSUBPS t, x, x                \
	VMULPS LN2_LOW, n, t          \
	VSUBPS t, x, x                \
	VMOVUPS EXP0, p               \
	TERM(p, x, EXP1)              \
	TERM(p, x, EXP2)              \
	TERM(p, x, EXP3)              \
	TERM(p, x, EXP4)              \
	TERM(p, x, EXP5)              \
	VMULPS x, x, t                \
	TERM(p, t, x)                 \
	VADDPS ONE, p, p              \
	VADDPS EXPONENT, n, n         \
	VPSLLD $23, n, n              \
	VMULPS n, p, p

// LOGARITHM is p = ln x; x is lost.
#define LOGARITHM(x, p, n, t)     \
	VPSUBD ROOT_HALF, x, x        \
	VPSRAD $23, x, n              \
	VCVTDQ2PS n, n                \
	VPAND MANTISSA, x, x          \
	VPADDD ROOT_HALF, x, x        \
	VSUBPS ONE, x, x              \
	VMOVUPS LOG0, p               \
	TERM(p, x, LOG1)              \
	TERM(p, x, LOG2)              \
	TERM(p, x, LOG3)              \
	TERM(p, x, LOG4)              \
	TERM(p, x, LOG5)              \
	TERM(p, x, LOG6)              \
	TERM(p, x, LOG7)              \
	TERM(p, x, LOG8)              \
	VMULPS x, p, p                \
	VMULPS x, x, t                \
	VMULPS t, p, p                \
	VMULPS HALF, t, t             \
	VMULPS LN2_LOW, n, Y11        \
	VADDPS Y11, p, p              \
	VSUBPS t, p, p                \
	VADDPS p, x, p                \
	VMULPS LN2_HIGH, n, n         \
	VADDPS n, p, p

// TAIL is r = the normal distribution function of -|d|.
#define TAIL(d, r, k, e, n, t)    \
	VANDPS MAGNITUDE, d, e        \
	VMULPS TAIL_SCALE, e, n       \
	VADDPS ONE, n, n              \
	RECIPROCAL(n, k, t)           \
	VMULPS MINUS_HALF, e, t       \
	VMULPS e, t, e                \
	EXPONENTIAL(e, r, n, t)       \
	VMULPS DENSITY, r, r          \
	VMOVUPS TAIL0, t              \
	TERM(t, k, TAIL1)             \
	TERM(t, k, TAIL2)             \
	TERM(t, k, TAIL3)             \
	TERM(t, k, TAIL4)             \
	VMULPS k, t, t                \
	VMULPS r, t, r

// SIDES leaves 1-t and t in t and above, exchanged where d is not above 0.
#define SIDES(d, t, above, rest, m)  \
	VMOVUPS ONE, rest                \
	VSUBPS t, rest, rest             \
	VCMPPS $0x1e, NOTHING, d, m      \
	VBLENDVPS m, t, rest, above      \
	VBLENDVPS m, rest, t, t

// func priceEight(call, put, spot, strike, years *float32, n int, volatility, growth, minusRate float32)
// Eight options a time; n counts those.
TEXT ·priceEight(SB), NOSPLIT, $0-60
	MOVQ call+0(FP), DI
	MOVQ put+8(FP), SI
	MOVQ spot+16(FP), R8
	MOVQ strike+24(FP), R9
	MOVQ years+32(FP), R10
	MOVQ n+40(FP), CX
	VBROADCASTSS volatility+48(FP), Y15
	VBROADCASTSS growth+52(FP), Y14
	VBROADCASTSS minusRate+56(FP), Y13
	XORQ AX, AX
	TESTQ CX, CX
	JE   done

loop:
	VMOVUPS (R10)(AX*1), Y0
	ROOT(Y0, Y1, Y2, Y3)
	VMULPS Y15, Y1, Y1
	VMOVUPS LEAST_SPREAD, Y2
	VMAXPS Y1, Y2, Y1         // the spread
	VMULPS Y14, Y0, Y2        // the drift
	VMULPS Y13, Y0, Y4
	EXPONENTIAL(Y4, Y3, Y5, Y6)
	VMOVUPS (R9)(AX*1), Y5
	VMULPS Y5, Y3, Y3         // paid
	RECIPROCAL(Y5, Y4, Y6)
	VMULPS (R8)(AX*1), Y4, Y4
	LOGARITHM(Y4, Y5, Y6, Y7)
	VADDPS Y2, Y5, Y5
	RECIPROCAL(Y1, Y6, Y7)
	VMULPS Y6, Y5, Y4         // d1
	VSUBPS Y1, Y4, Y5         // d2
	TAIL(Y4, Y1, Y7, Y8, Y9, Y10)
	TAIL(Y5, Y2, Y7, Y8, Y9, Y10)
	SIDES(Y4, Y1, Y6, Y8, Y9)
	SIDES(Y5, Y2, Y7, Y8, Y9)
	VMOVUPS (R8)(AX*1), Y8
	VMULPS Y1, Y8, Y1
	VMULPS Y6, Y8, Y6
	VMULPS Y2, Y3, Y2
	VMULPS Y7, Y3, Y7
	VSUBPS Y2, Y1, Y1         // call
	VSUBPS Y6, Y7, Y2         // put

	// NaN where an argument is none to price.
	VCMPPS $0x1e, NOTHING, Y8, Y4
	VMOVUPS (R9)(AX*1), Y5
	VCMPPS $0x1e, NOTHING, Y5, Y5
	VCMPPS $0x1d, NOTHING, Y0, Y6
	VANDPS Y5, Y4, Y4
	VANDPS Y6, Y4, Y4
	VMOVUPS NOT_A_NUMBER, Y7
	VBLENDVPS Y4, Y1, Y7, Y1
	VBLENDVPS Y4, Y2, Y7, Y2
	VMOVUPS Y1, (DI)(AX*1)
	VMOVUPS Y2, (SI)(AX*1)
	ADDQ $32, AX
	DECQ CX
	JNE  loop

done:
	VZEROUPPER
	RET

// func attractEight(b *eightBodies, pos *[4]float32, n int, soft float32)
TEXT ·attractEight(SB), NOSPLIT, $0-28
	MOVQ b+0(FP), DI
	MOVQ pos+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS soft+24(FP), Y6
	VMOVUPS ONE_AND_A_HALF, Y7
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	TESTQ CX, CX
	JE   done

#define REFINE          \
	VMULPS Y13, Y12, Y14 \
	VMULPS Y13, Y14, Y14 \
	VSUBPS Y14, Y7, Y14  \
	VMULPS Y14, Y13, Y13

loop:
	VBROADCASTSS (SI), Y8
	VBROADCASTSS 4(SI), Y9
	VBROADCASTSS 8(SI), Y10
	VSUBPS Y0, Y8, Y8
	VSUBPS Y1, Y9, Y9
	VSUBPS Y2, Y10, Y10
	VMULPS Y8, Y8, Y11
	VMULPS Y9, Y9, Y12
	VMULPS Y10, Y10, Y13
	VADDPS Y12, Y11, Y11
	VADDPS Y13, Y11, Y11
	VADDPS Y6, Y11, Y11
	VMULPS HALF, Y11, Y12
	VMOVDQU ROOT_GUESS, Y13
	VPSRLD $1, Y11, Y14
	VPSUBD Y14, Y13, Y13
	REFINE
	REFINE
	REFINE
	VCMPPS $0x1e, NOTHING, Y11, Y11
	VANDPS Y11, Y13, Y13
	VBROADCASTSS 12(SI), Y14
	VMULPS Y13, Y14, Y14
	VMULPS Y13, Y14, Y14
	VMULPS Y13, Y14, Y14
	VMULPS Y14, Y8, Y8
	VMULPS Y14, Y9, Y9
	VMULPS Y14, Y10, Y10
	VADDPS Y8, Y3, Y3
	VADDPS Y9, Y4, Y4
	VADDPS Y10, Y5, Y5
	ADDQ $16, SI
	DECQ CX
	JNE  loop

done:
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VZEROUPPER
	RET
