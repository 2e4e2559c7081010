// Package devices is the contract between tandem and what can compute: CPUs,
// GPUs and FPGAs behind one small set of interfaces.
//
// A [Driver] finds devices and opens them. A [Device] allocates [Buffer]s,
// compiles [Program]s and makes [Queue]s. A Queue is in order: enqueueing
// returns at once, and the work starts after everything enqueued before it on
// the same queue and after every [Event] of its wait list. Abilities that not
// every device has are the small interfaces of abilities.go, found with [As].
//
// The package holds types only: no goroutine, no dlopen, no third party.
// Drivers live in the folders below it, each with the same file names;
// docs/writing-a-driver.md walks through one.
package devices
