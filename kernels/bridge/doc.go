// Package bridge turns OpenCL C into CUDA C, so that the same source reaches
// NVIDIA's GPUs through NVRTC.
//
// [Translate] reads a source with package clc, rewrites the tokens that mean
// something else in CUDA C, and puts a header before them that defines the
// types and functions of OpenCL C. What it cannot map is refused by name, with
// line and column, in [Program.Refused]: the kernels that need it, and no
// other. Messages of NVRTC name the user's files and lines. docs/bridge.md has
// the differences that remain.
//
// # How a kernel is launched
//
// For an OpenCL C kernel K the program has an entry [Kernel.Symbol], "cl_K",
// with the kernel's parameters and one more:
//
//   - a __global or __constant pointer is a 64-bit device address, 0 for none;
//   - a __local pointer is a uint32: where its memory begins in the dynamic
//     shared memory of the launch, in bytes. Lay the local arguments out one
//     behind the other, each at a multiple of [LocalAlign], and launch with
//     the sum as the size of the dynamic shared memory ([LocalOffsets] does);
//   - a value is its bytes, as kernels.Type lays them out;
//   - the hidden last parameter is a [Range] by value, [RangeBytes] long and
//     aligned to 8, from which all work-item functions answer.
//
// The block size is the local size, and the grid covers the global size,
// rounded up: threads behind the end leave at once, so that every work-item of
// any global size runs exactly once, and get_local_size answers for the last
// group what is left, as OpenCL 2.0 has it for non-uniform groups. (Threads that left do
// not count at a barrier on compute capability 7.0 and later.) A grid that is too large for the
// device is launched in parts, [Range.From]. A launch that is part of a larger
// ND-range needs no other program: the Range says where it lies.
package bridge
