/* shade makes a gray tone of a number of steps: slow points are light. */
__kernel void shade(__global const int *escape, __global uchar *shade) {
  size_t i = get_global_id(0);
  shade[i] = convert_uchar_sat(escape[i] * 4);
}
