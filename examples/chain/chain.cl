/* The two kernels of a matrix chain: a product in integers modulo 2^32, and a
   step that mixes the result with what was there before. */

#define CELLS TILE * TILE

__kernel void product(__global const uint *a, __global const uint *b, __global uint *c, int n)
{
    __local uint left[CELLS], right[CELLS];
    int x = get_global_id(0), y = get_global_id(1);
    int lx = get_local_id(0), ly = get_local_id(1);
    uint sum = 0;
    for (int from = 0; from < n; from += TILE) {
        left[ly * TILE + lx] = a[y * n + from + lx];
        right[ly * TILE + lx] = b[(from + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum += left[ly * TILE + k] * right[k * TILE + lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}

/* a = (c rotated left by shift) + round, in place of the old a */
__kernel void stir(__global const uint *c, __global uint *a, uint shift, uint round)
{
    size_t i = get_global_id(0);
    a[i] = rotate(c[i], shift) + round;
}
