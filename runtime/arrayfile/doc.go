// Package arrayfile reads and writes arrays in files: NumPy's .npy and .npz,
// pictures (.png, .jpg, .pgm, .ppm), .csv tables and .raw bytes. The format
// follows from the file's extension.
//
// An array is a [Header] and its elements as bytes: row-major, without gaps,
// in the byte order of the host. Files are read straight into memory that the
// caller provides, and written beside their place and then renamed, so that a
// file is either the old one or the whole new one.
//
// Files are input from elsewhere and nothing that they claim is believed: a
// size is checked against the length of the file before memory is asked for,
// no header is ever evaluated, and objects are never unpickled.
//
// The functions may be called from several goroutines; two writes of one path
// at the same time leave one of the two files, whole. Paths are used as they
// are given: resolving a relative one against something other than the working
// directory is the caller's part.
package arrayfile
