// Package verilog reads FPGA kernels: what ports a module has, which streams
// and registers they make, and which parameters of a kernel those are.
//
// A kernel is a Verilog module with AXI4-Stream ports. The text is scanned
// here for what yosys does not tell (annotations, memory images) and for what
// a kernel must not contain; ports, widths, parameters and memory sizes come
// from yosys. docs/fpga.md describes the convention.
package verilog
