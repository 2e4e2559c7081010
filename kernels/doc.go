// Package kernels says what can be computed: a [Kernel] is a name, a signature,
// one or more variants (Go, OpenCL C, …) and hints for the cost model.
//
// A Kernel is a blueprint: it knows no device. [Bind] joins it with arguments
// to a [Call], checks every one of them and fills in what follows from the
// others; the runtime turns calls into tasks. Package kernels/clc reads kernels
// from OpenCL C sources, package kernels/library holds the built-in ones.
package kernels
