// Package pipeline reads pipeline files: task graphs written down in YAML.
//
// [Load] reads a file and checks everything that can be checked without
// hardware: keys, types, names, shapes, kernels and their arguments, the order
// of steps, the headers of input files and the places of output files. All that
// is wrong is reported at once, each with line and column. [Pipeline.Build]
// makes buffers and a graph of it for a session, and [Built.WriteOutputs]
// writes the results once the graph has run.
//
// # The file
//
//	version: 1
//	vars: {n: 1024, alpha: 1.5}
//	buffers:
//	  x: {file: x.npy}                                # dtype and shape come from the file
//	  y: {dtype: float32, shape: [n], out: y.npy}     # written at the end
//	  t: {dtype: float32, shape: [n, 3*n], fill: 0}   # temporary
//	steps:
//	  - id: scale
//	    kernel: {file: k.cl, entry: scale}
//	    global: [n]
//	    local: [64]
//	    args: [{buf: x, mode: r}, {buf: y, mode: rw}, {val: alpha, type: float}, {local_bytes: 256}]
//	  - for: {k: [0, n]}
//	    steps: [...]
//	  - kernel: image.sobel
//	    args: {src: photo, dst: edges}
//	    after: [scale]
//
// [Schema] has every key with a description. Paths are relative to the folder
// of the file. Unknown and repeated keys are faults, and so is text where a
// number belongs: "64" in quotes is text. A single number stands for a list of
// one in global and local. Aliases and merge keys of YAML work within bounds.
//
// # Expressions
//
// Where a number is wanted, an expression over variables and loop variables may
// stand: + - * / % **, comparisons (which give 1 or 0), and, or, not,
// c ? a : b, and the functions abs ceil ceildiv cos exp float floor idiv log
// log2 max min pow round sin sqrt tan tanh; pi, inf and nan are constants.
// Whole numbers are exact in 64 bits, and a result that does not fit is a fault.
// A quotient that comes out even stays whole, every other is a float; idiv
// rounds down and ceildiv up. A number with a fraction is refused where a whole
// one is needed. A variable may be an expression over the variables before it.
//
// A fill may use i, j and k, the indices in the first, second and third
// dimension of the shape. It is compiled once and evaluated for every element:
// about 20 ns for an index, 50 ns for i*j/n and 150 ns with two functions, so
// half a second for ten million elements of i*j/n. A constant fill costs no
// more than writing the memory.
//
// # Arguments
//
// An argument in full is {buf: x, mode: rw}, {val: 2, type: float},
// {local_bytes: 256}, {bytes: file, type: t} or {struct: [{id: 7, type: int}]}.
// In short it is the name of a buffer, a number, or an expression. mode and
// type may be left out where the kernel tells them, and are checked against it.
//
// # Order
//
// Steps follow each other through the buffers they share, in the order of the
// file; after adds more, also to later steps. In a loop, after means the same
// iteration; from outside a loop it means every iteration. The steps of a loop
// are named step[k=3]. A ring is a fault that spells it out.
package pipeline
