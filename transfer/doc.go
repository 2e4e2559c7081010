// Package transfer knows where the bytes are. A [Tracker] holds, for each byte
// range of one buffer, which memory nodes have a valid replica and which
// operations must be over before the range may be read or written; it turns
// "this operation reads bytes [lo, hi) on that node" into the copies that are
// missing, and only those. [Memory] owns the replicas of buffers on one device.
//
// Tracking is symbolic: it happens when operations are put in order, not when
// they run, so it needs no lock against the devices and can be tested against
// a byte-by-byte model.
package transfer
