package blas

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// Gemm computes c = alpha·a·b + beta·c, or with b transposed where bT is set. a
// has m rows and k columns, c m rows and n columns; rows begin lda, ldb and ldc
// elements apart. c must not overlap the others. A size that does not fit the
// memory given is devices.ErrInvalid and nothing is computed.
func Gemm[T Real](l *Library, bT bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) error {
	right := matrix[T]{"b", b, k, n, ldb}
	letter := "N"
	if bT {
		right.rows, right.columns, letter = n, k, "T"
	}
	// cᵀ = bᵀ·aᵀ, and what is transposed is column-major.
	call := invocation[T]{function: "gemm", letters: letter + "N", ints: []int{n, m, k}, scaled: true, alpha: alpha, added: true, beta: beta,
		matrices: []matrix[T]{right, {"a", a, m, k, lda}, {"c", c, m, n, ldc}}}
	_, err := call.run(l)
	return err
}

// Syrk computes the lower half, diagonal included, of c = alpha·a·aᵀ + beta·c,
// where a has n rows and k columns. The rest of c stays as it is.
func Syrk[T Real](l *Library, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int) error {
	call := invocation[T]{function: "syrk", letters: "UT", ints: []int{n, k}, scaled: true, alpha: alpha, added: true, beta: beta,
		matrices: []matrix[T]{{"a", a, n, k, lda}, {"c", c, n, n, ldc}}}
	_, err := call.run(l)
	return err
}

// Trsm solves x·aᵀ = b for x, which takes the place of b. a is lower
// triangular of n rows, what lies above its diagonal is not looked at; b has m
// rows and n columns.
func Trsm[T Real](l *Library, m, n int, a []T, lda int, b []T, ldb int) error {
	call := invocation[T]{function: "trsm", letters: "LUTN", ints: []int{n, m}, scaled: true, alpha: 1,
		matrices: []matrix[T]{{"a", a, n, n, lda}, {"b", b, m, n, ldb}}}
	_, err := call.run(l)
	return err
}

// Potrf computes the lower Cholesky factor of a positive definite matrix of n
// rows in its place. Only the lower half is read and written. A matrix that is
// not positive definite is a *NotDefiniteError, and a is spoilt.
func Potrf[T Real](l *Library, n int, a []T, lda int) error {
	call := invocation[T]{function: "potrf", letters: "U", ints: []int{n}, matrices: []matrix[T]{{"a", a, n, n, lda}}, info: true}
	info, err := call.run(l)
	switch {
	case err != nil:
		return err
	case info < 0:
		return fmt.Errorf("blas: potrf: argument %d is wrong: %w", -info, devices.ErrInvalid)
	case info > 0:
		return &NotDefiniteError{Row: int(info) - 1}
	}
	return nil
}

// NotDefiniteError says that a matrix is not positive definite: the square of
// the factor's diagonal would not be positive in this row.
type NotDefiniteError struct {
	Row int // from 0
}

func (e *NotDefiniteError) Error() string {
	return fmt.Sprintf("blas: potrf: the matrix is not positive definite: its leading minor of %d rows is not positive: %v", e.Row+1, devices.ErrInvalid)
}

// Unwrap gives devices.ErrInvalid.
func (e *NotDefiniteError) Unwrap() error { return devices.ErrInvalid }
