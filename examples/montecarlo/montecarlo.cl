/* One work-item throws `throws` darts at the unit square and counts those that
   hit the quarter circle. Its random numbers follow from its global id alone,
   so the counts are the same on every device and on any division of the range. */
__kernel void darts(__global uint *hits, uint throws)
{
    uint i = get_global_id(0);
    uint state = i * 2654435761u + 1u;
    uint inside = 0;
    for (uint k = 0; k < throws; k++) {
        state ^= state << 13; state ^= state >> 17; state ^= state << 5;
        uint x = state & 0xffffu;
        state ^= state << 13; state ^= state >> 17; state ^= state << 5;
        uint y = state & 0xffffu;
        inside += (x * x >> 1) + (y * y >> 1) < 0x80000000u;
    }
    hits[i] = inside;
}
