// Package builtin holds kernels in Verilog, each with a Go variant that gives
// the same bytes: integer saxpy, the steps of an edge detector, a 3×3
// convolution, a histogram, CRC-32, an FIR filter and a fixed-point
// matrix-vector product.
//
// Those of them that have a counterpart among the built-in kernels of package
// library take the same arguments in the same order; [Extend] adds the Verilog
// variant to a kernel of that package.
package builtin
