// Package costmodel predicts how long a kernel variant runs on a device.
//
// A [Model] learns from [Sample]s, one series for each [Key], and answers with
// the best it has: the history of calls of the same size, else a fit over the
// sizes it has seen, else a roofline from the work that the call states and the
// rates of the device ([Machine]). Every answer has a spread that grows with
// what it does not know. The equations are in docs/cost-model.md.
//
// The package is pure: it reads no clock and no file. Package
// runtime/modelstore keeps models between runs.
package costmodel
