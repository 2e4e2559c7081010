// The largest of each block of numbers, and where it is.
kernel void longest(global const uint *steps, global uint *most, global uint *where, const uint block) {
    const uint b = get_global_id(0);
    uint best = b * block;
    for (uint i = best + 1; i < (b + 1) * block; i++)
        if (steps[i] > steps[best])
            best = i;
    most[b] = steps[best];
    where[b] = best;
}
