// Package tandem runs task graphs on every processor in the machine.
//
// A [Session] holds open devices. A [Graph] says what to compute and which
// buffers each task reads and writes; dependencies follow from that. Submit
// plans where each task, or each part of one, runs, moves the bytes while
// other work computes, and returns a [Run] to wait for.
//
// Inside this module the standard package runtime is imported as goruntime.
package tandem
