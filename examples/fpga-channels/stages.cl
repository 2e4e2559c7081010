// Three kernels that run at the same time, each with a single work-item: a
// number goes from one to the next through a channel as soon as it is there.
#pragma OPENCL EXTENSION cl_intel_channels : enable

#define TAPS 8

// A channel holds so many numbers before its writer has to wait.
channel int samples __attribute__((depth(1024)));
channel int means __attribute__((depth(1024)));

// feed reads the array.
__attribute__((max_global_work_dim(0)))
__kernel void feed(__global const int *restrict x, int n) {
  for (int i = 0; i < n; i++)
    write_channel_intel(samples, x[i]);
}

// smooth sends the mean of the last eight numbers for each one that comes in. It
// touches no memory: the numbers are in a shift register.
__attribute__((max_global_work_dim(0)))
__kernel void smooth(int n) {
  int window[TAPS];
  for (int k = 0; k < TAPS; k++)
    window[k] = 0;
  int sum = 0;
  for (int i = 0; i < n; i++) {
    int x = read_channel_intel(samples);
    sum += x - window[TAPS - 1];
    for (int k = TAPS - 1; k > 0; k--)
      window[k] = window[k - 1];
    window[0] = x;
    write_channel_intel(means, sum / TAPS);
  }
}

// drain writes the array, and how many of the means were at least level.
__attribute__((max_global_work_dim(0)))
__kernel void drain(__global int *restrict y, __global int *restrict count, int level, int n) {
  int above = 0;
  for (int i = 0; i < n; i++) {
    int mean = read_channel_intel(means);
    above += mean >= level;
    y[i] = mean;
  }
  count[0] = above;
}
