// Package clc reads OpenCL C sources: which kernels a file holds, what their
// parameters are, what they need of a device, and which elements of each array
// a range of work-items touches.
//
// [Load], [Entries] and [Parse] return kernels with one OpenCL C variant each.
// The text of its source is self-contained: includes are put in place behind
// #line directives and the caller's macros stand at the top, so that a device's
// compiler needs no file and its messages name the user's files and lines.
//
// # What is read
//
// Preprocessing and declarations are read as OpenCL C 1.2 defines them, with
// what 2.0 adds where it is common. Columns count bytes. A kernel that cannot
// be bound to arguments (an image, a pipe, a size_t by value) is an [Error]
// that names the parameter; the other kernels of the file stay usable.
//
// The preprocessor is the package's own. The one of modernc.org/cc/v4 asks the
// host's C compiler for its macros, cannot bound what a macro expands to, does
// not know which conditional decided over a token, and drops the text that has
// to be handed on; what is left of it is smaller than what would go around it.
//
// # Access modes
//
// A pointer to const or __constant is [kernels.Read]. Every other one is
// [kernels.ReadWrite], refined to [kernels.Write] only where the body never
// reads the array and stores one whole element p[id+c] in each work-item,
// unconditionally, in a kernel without a return.
//
// # Bands
//
// The access mapping of an array (kernels.Param.Band) comes from an abstract
// interpretation of the body: every integer is an affine function of the
// global ids with integer coefficients and an interval of constants, or
// unknown. It runs when a call is known, so sizes and integer arguments are
// numbers. Arithmetic is modulo the width of its C type and checked where a
// wrap-around would show. Guards narrow the ids they compare, loops with
// recognisable bounds give intervals, helper functions are followed, pointers
// are followed through variables, sums and casts. Everything else is unknown,
// and an array indexed by something unknown has no band: where it is read, all
// of it is needed; where it is written, the kernel has a NoSplit reason.
//
// What the compiler of a device predefines (cl_khr_fp64, __OPENCL_VERSION__, …)
// can change what a kernel does. A kernel that depends on it has no bands.
package clc
