package main_test

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	tandem "github.com/tandemrun/tandem/runtime"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/all"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/devices/sycl"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

func TestMain(m *testing.M) {
	if opencl.RunProbeChild() || sycl.RunProbeChild() {
		return
	}
	os.Exit(m.Run())
}

// reference is the chain in Go.
func reference(n, rounds int) []uint32 {
	a, b, c := make([]uint32, n*n), make([]uint32, n*n), make([]uint32, n*n)
	for i := range n {
		for j := range n {
			a[i*n+j] = uint32(i*n + j)
			b[i*n+j] = uint32((7*i + 13*j) % 5)
		}
		b[i*n+i] = 3
	}
	for r := range rounds {
		for pass := range 2 {
			for i := range n {
				for j := range n {
					var sum uint32
					for k := range n {
						sum += a[i*n+k] * b[k*n+j]
					}
					c[i*n+j] = sum
				}
			}
			for i := range a {
				a[i] = bits.RotateLeft32(c[i], 5+pass) + uint32(2*r+pass)
			}
		}
	}
	return a
}

func TestChain(t *testing.T) {
	devicetest.CheckGoroutines(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := tandem.Open(ctx, tandem.Config{Drivers: all.Drivers(), Devices: "opencl"})
	devicetest.Require(t, "opencl", err)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	for _, name := range []string{pipeline.FileName, "chain.cl"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range []struct{ n, rounds int }{{64, 4}, {64, 0}, {8, 7}, {40, 3}} {
		set := []string{fmt.Sprintf("n=%d", size.n), fmt.Sprintf("rounds=%d", size.rounds)}
		p, err := pipeline.Load(dir, pipeline.Options{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Tasks(); got != 4*size.rounds {
			t.Errorf("%v: %d tasks, want %d", set, got, 4*size.rounds)
		}
		b, err := p.Build(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Submit(ctx, b.Graph)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		err = b.Buffer("a").Read(ctx, func(mem []byte) error {
			if got, want := devices.View[uint32](mem), reference(size.n, size.rounds); !slices.Equal(got, want) {
				t.Errorf("%v: a begins with %v, want %v", set, got[:4], want[:4])
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	}
}
