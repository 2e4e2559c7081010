package strategy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
	tandem "github.com/tandemrun/tandem/runtime"
)

// TestPlace puts panels of 3, 1 and 5 columns side by side, in Go and in OpenCL
// C, bits that are no numbers among them.
func TestPlace(t *testing.T) {
	for _, d := range []devices.Driver{cpu.Driver{}, &opencl.Driver{}} {
		t.Run(d.Name(), func(t *testing.T) {
			s, err := tandem.Open(t.Context(), tandem.Config{Drivers: []devices.Driver{d}})
			if d.Name() == "opencl" {
				devicetest.Require(t, "opencl", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			on := s.Devices()[0].ID
			t.Run("float32", func(t *testing.T) { place(t, s, on, math.Float32bits, math.Float32frombits(0x7fa12345)) })
			t.Run("float64", func(t *testing.T) { place(t, s, on, math.Float64bits, math.Float64frombits(0x7ff4123456789abc)) })
		})
	}
}

func place[T Real, U uint32 | uint64](t *testing.T, s *tandem.Session, on string, bits func(T) U, odd T) {
	const rows, n = 7, 9
	want := make([]T, rows*n)
	for i := range want {
		want[i] = T(i)
	}
	want[13] = odd
	whole := tandem.NewSlice[T](s, rows, n)
	g := tandem.NewGraph()
	first := 0
	for _, w := range []int{3, 1, 5} {
		part := tandem.NewSlice[T](s, rows, w)
		err := part.Update(t.Context(), func(v []T) error {
			for i := range v {
				v[i] = want[i/w*n+first+i%w]
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		g.Add(placeOf[T](), part, whole, first).On(on)
		first += w
	}
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	got, err := whole.Values(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b T) bool { return bits(a) == bits(b) }
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("the whole is\n%v, want\n%v", fmt.Sprint(got), fmt.Sprint(want))
	}
	g = tandem.NewGraph()
	g.Add(placeOf[T](), tandem.NewSlice[T](s, rows, 4), whole, 6)
	if g.Err() == nil {
		t.Error("4 columns from 6 on of 9: no fault")
	}
}
