// Package library holds the built-in kernels: vectors, pictures, linear
// algebra and a few textbook computations. [All] lists them, [Lookup] finds
// one by name ("image.blur"), and Go programs name the variables directly
// (library.ImageBlur).
//
// Every kernel has a Go variant and an OpenCL C variant. Both do the same
// operations in the same order, none of them fused, and use neither division
// nor a library function whose result a device may choose: what they compute
// is the same bit for bit on every device, and on every division of the work
// over devices. The one exception is a device that flushes subnormal numbers
// to zero (below 1.2e-38 for float32), and the bits of a NaN beyond its being
// one.
//
// A name without a suffix works on float32 (pictures: uint8); ".f64" and ".i32"
// mark the same kernel for float64 and int32. Arrays are row-major; a length of
// 0 is legal everywhere unless a kernel says otherwise. Sizes and the ND-range
// follow from the shapes, so a caller gives arrays and numbers only. Some kernels
// give a work-item several elements; their Band says which.
//
// The kernels are immutable and safe for concurrent use. The variables are
// never assigned again after initialisation; do not assign to them.
package library
