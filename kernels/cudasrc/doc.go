// Package cudasrc reads kernels in CUDA C: the functions of a file that are
// __global__, with their parameters. Headers of the user's own are put in place
// behind #line directives and macros stand at the top, so that the text is all
// that NVRTC needs; an include in angle brackets that is in none of the folders
// is left to NVRTC.
//
// Conditionals and macros are read as NVRTC reads them, with __CUDACC__ and
// __CUDACC_RTC__ set and without __CUDA_ARCH__. Typedefs, using declarations and
// structs of plain members are understood; what cannot be passed by a host
// program (references, textures, pointers to pointers) is an error that names
// the parameter.
//
// Kernels need no extern "C": their names are those of C++, with namespaces. A
// name with two kernels that differ in their parameters is refused with the
// list of both. Of a template, the instances that the source makes are kernels:
// "template __global__ void scale<float>(float *, float);" makes scale<float>.
//
// Dynamic shared memory, "extern __shared__ float tile[];", has no parameter in
// CUDA C; a kernel that uses it has a last parameter of kind kernels.Local with
// the array's name, whose size a job gives in bytes.
package cudasrc
