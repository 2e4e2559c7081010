// Command matmul multiplies matrices in tiles: a graph of small products whose
// order follows from the tiles they share. Every tile of the result is a buffer
// of its own, so products of different tiles run side by side on whatever
// devices there are.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/kernels/library"
	tandem "github.com/tandemrun/tandem/runtime"
)

const (
	n    = 512 // rows and columns
	tile = 128
	t    = n / tile
)

// matrix is a square matrix in tiles.
type matrix [t][t]*tandem.Slice[float32]

// newMatrix fills a matrix from a function of row and column.
func newMatrix(ctx context.Context, s *tandem.Session, f func(i, j int) float32) (m matrix, err error) {
	for bi := range t {
		for bj := range t {
			m[bi][bj] = tandem.NewSlice[float32](s, tile, tile)
			err = m[bi][bj].Update(ctx, func(v []float32) error {
				for i := range tile {
					for j := range tile {
						v[i*tile+j] = f(bi*tile+i, bj*tile+j)
					}
				}
				return nil
			})
			if err != nil {
				return m, err
			}
		}
	}
	return m, nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers()})
	if err != nil {
		return err
	}
	defer s.Close()
	// Small integers in float32: the result is exact whatever the order.
	a, err := newMatrix(ctx, s, func(i, j int) float32 { return float32((i + 2*j) % 5) })
	if err != nil {
		return err
	}
	b, err := newMatrix(ctx, s, func(i, j int) float32 { return float32((3*i + j) % 7) })
	if err != nil {
		return err
	}
	c, err := newMatrix(ctx, s, func(i, j int) float32 { return 0 })
	if err != nil {
		return err
	}
	g := tandem.NewGraph().Named("matmul")
	for i := range t {
		for j := range t {
			for k := range t {
				// C[i,j] = 1·A[i,k]·B[k,j] + 1·C[i,j]
				g.Add(library.LinalgGemm, tandem.Named("alpha", 1), tandem.Named("beta", 1),
					tandem.Named("a", a[i][k]), tandem.Named("b", b[k][j]), tandem.Named("c", c[i][j])).
					Named(fmt.Sprintf("c%d%d+=a%d%d*b%d%d", i, j, i, k, k, j))
			}
		}
	}
	if err := s.Run(ctx, g); err != nil {
		return err
	}
	trace := float32(0)
	for i := range t {
		err := c[i][i].Read(ctx, func(v []float32) error {
			for d := range tile {
				trace += v[d*tile+d]
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d products of %dx%d tiles, trace %.0f\n", g.Len(), tile, tile, trace)
	return nil
}
