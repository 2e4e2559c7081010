//go:build !amd64

package library

// Other processors have the loops in Go only: nothing is done here, and the
// loops do all of it.

func addBlocks[T number](_, _, _ []T, _ bool) int { return 0 }

func scaleBlocks[T number](_, _ []T, _ T, _ bool) int { return 0 }

func saxpyBlocks[T number](_, _ []T, _ T) int { return 0 }

func thresholdBlocks(_, _ []byte, _ byte) int { return 0 }

func sumRows[T, A number](_, _ []T, _ *[lanes]A) int { return 0 }

func dotRows[T, A number](_, _ []T, _ *[lanes]A) int { return 0 }

func minRows[T number](_, _ []T, _ *[lanes]T) int { return 0 }

func maxRows[T number](_, _ []T, _ *[lanes]T) int { return 0 }

func tileWide() bool { return false }

func gemmTile[T real](_, _ []T, _ int, _ []T, _ int) {
	panic("library: there is no tile in assembly here")
}

func fourRowsTimes[T real](_ []T, _ int, _ []T) (s [4][8]T, ok bool) { return s, false }

func jacobiBlocks[T real](_, _, _, _ []T) int { return 0 }
