// Package partitioner decides who does what: which device runs each task of a
// graph, which parts of a task run on several, and when.
//
// It is pure: a [Problem] and a seed in, a [Plan] out, no clock, no I/O, no
// goroutine. [HEFT] makes a plan greedily, [Improve] searches for a better one,
// [Online] places tasks one at a time as they come, [Shares], [Fractions] and
// [Chunks] divide one ND-range. All of them use one set of cost terms, written
// down with their units in docs/cost-model.md: what a task runs for ([Estimate]),
// when its inputs can have arrived on the device's memory node (links), and
// when the device is free (timelines). [Plan.Validate] checks a plan against
// its problem without trusting whoever made it.
//
// Times are durations since the beginning of the run. The subpackage costmodel
// predicts run times from samples; graphgen generates problems to compare
// schedulers on.
package partitioner
