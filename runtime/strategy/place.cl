// Puts a panel of columns into its place in a matrix. T is an unsigned integer
// of the element's size: the bits are copied as they are.
kernel void columns_place(global const T *part, global T *whole, const int first, const int width, const int n) {
    int x = get_global_id(0), y = get_global_id(1);
    whole[(size_t)y * n + first + x] = part[(size_t)y * width + x];
}
