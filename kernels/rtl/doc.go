// Package rtl reads kernels from Verilog sources: a module with AXI4-Stream
// ports becomes a kernels.Kernel, whose parameters follow from its ports and
// annotations (docs/fpga.md). Ports are read with yosys; nothing is built.
package rtl
