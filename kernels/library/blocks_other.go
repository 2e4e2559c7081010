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

func grayBlocks(_, _ []byte, _ int) int { return 0 }

func sobelBlocks(_, _, _, _ []byte) bool { return false }

func blurBlocks(_ *[5][]byte, _ []byte, _, _, _ int, _ *blurBuffer) bool { return false }

func priceBlocks(_, _, _, _, _ []float32, _, _ float32) int { return 0 }

func attractions(_ *eightBodies, _ [][4]float32, _ float32) bool { return false }

func escapeRow[T real](_ []uint16, _, _ T, _ int, _ T, _ int) bool { return false }

func resizeBlocks(_, _, _ []byte, _ *places, _, _ int) int { return 0 }
