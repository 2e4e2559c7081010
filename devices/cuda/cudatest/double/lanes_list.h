// Read several times, with LANE saying what for.
// Every loop over lanes, by name: lanes*.c define them, decode*.c choose.
#define INTS(op) LANE(op##16) LANE(op##32) LANE(op##64)
#define COMPARE(op) LANE(op##_u16) LANE(op##_s16) LANE(op##_u32) LANE(op##_s32) LANE(op##_u64) LANE(op##_s64)
#define FCOMPARE(op) LANE(op##_f32) LANE(op##_f64)
#define FLOATS(op) LANE(op##f32) LANE(op##f64)
// lanes_int.c
INTS(mov) INTS(add) INTS(sub) INTS(mul) INTS(and) INTS(or) INTS(xor) INTS(not) INTS(cnot) INTS(neg) INTS(abs)
INTS(shl) INTS(shru) INTS(shrs) INTS(divu) INTS(divs) INTS(remu) INTS(rems) INTS(minu) INTS(mins) INTS(maxu) INTS(maxs)
INTS(mulhiu) INTS(mulhis) INTS(madlo) INTS(madhiu) INTS(madhis) INTS(sel)
LANE(mulwideu16) LANE(mulwides16) LANE(mulwideu32) LANE(mulwides32)
LANE(madwideu16) LANE(madwides16) LANE(madwideu32) LANE(madwides32)
LANE(addsat32) LANE(subsat32) LANE(addc32) LANE(addc64) LANE(subc32) LANE(subc64) LANE(madc32) LANE(madc64)
LANE(popc32) LANE(popc64) LANE(clz32) LANE(clz64) LANE(brev32) LANE(brev64) LANE(bfind) LANE(bfe) LANE(bfi32) LANE(bfi64)
LANE(prmt) LANE(shf) LANE(lop3) LANE(dp4a) LANE(dp2a) LANE(sad) LANE(mul24) LANE(slct)
LANE(pack) LANE(unpack)
LANE(movp) LANE(andp) LANE(orp) LANE(xorp) LANE(notp)
// lanes_float.c
FLOATS(add) FLOATS(sub) FLOATS(mul) FLOATS(fma) FLOATS(div) FLOATS(min) FLOATS(max) FLOATS(abs) FLOATS(neg) FLOATS(sqrt) FLOATS(copysign)
FLOATS(any) LANE(f16op) LANE(f16x2op) LANE(testp)
// lanes_compare.c
COMPARE(eq) COMPARE(ne) COMPARE(lt) COMPARE(le) COMPARE(gt) COMPARE(ge)
FCOMPARE(eq) FCOMPARE(ne) FCOMPARE(lt) FCOMPARE(le) FCOMPARE(gt) FCOMPARE(ge)
FCOMPARE(equ) FCOMPARE(neu) FCOMPARE(ltu) FCOMPARE(leu) FCOMPARE(gtu) FCOMPARE(geu) FCOMPARE(num) FCOMPARE(nan)
LANE(setany)
// lanes_convert.c
LANE(cvt) LANE(cvt_u32_u64) LANE(cvt_s32_s64) LANE(cvt_64_32) LANE(cvt_u16_32) LANE(cvt_s16_32) LANE(cvt_32_16) LANE(cvt_u8_u32)
LANE(cvt_s32_f32) LANE(cvt_u32_f32) LANE(cvt_f32_s32) LANE(cvt_f32_f64) LANE(cvt_f64_f32) LANE(cvt_pack)
// lanes_memory.c
LANE(ld8) LANE(ld16) LANE(ld32) LANE(ld64) LANE(ldany) LANE(st8) LANE(st16) LANE(st32) LANE(st64) LANE(stany)
LANE(ldvec) LANE(stvec) LANE(ldparam) LANE(ldparcel) LANE(stparcel) LANE(atom) LANE(cvta) LANE(isspacep)
// lanes_warp.c
LANE(shfl) LANE(vote) LANE(activemask) LANE(match) LANE(redux) LANE(clock) LANE(elect) LANE(nop)
#undef INTS
#undef COMPARE
#undef FCOMPARE
#undef FLOATS
