// Package ragged carries out ND-ranges whose local size does not divide their
// global size, and launches that are parts of a larger ND-range, on devices
// that can do neither: it cuts a range into boxes that can be launched as they
// are, so that every work-item runs exactly once, and it knows from a kernel's
// source whether the kernel could tell the difference.
package ragged
