package tandem_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// TestAboveFourGiB has arrays of more than 4 GiB, of which tasks touch bytes on
// both sides of that mark, on the host's own pages and in another memory. Only
// those bytes move, and only their pages exist.
func TestAboveFourGiB(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("no such arrays with 32 bits")
	}
	const n, mark = 5 << 30 / 4, 4 << 30 / 4
	s := open(t, tandem.Config{Drivers: []devices.Driver{cpu.Driver{Workers: 1}, discrete{Driver: cpu.Driver{Workers: 1}, n: 1, pinned: 16 << 20}}})
	x, y := tandem.NewSlice[int32](s, n), tandem.NewSlice[int32](s, n)
	if err := x.Update(t.Context(), func(v []int32) error {
		for i := mark - 1000; i < mark+1000; i++ {
			v[i] = int32(i - mark)
		}
		v[n-1] = 77
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	at := func(lo, hi int) devices.NDRange {
		r := tandem.Range(hi - lo)
		r.Offset[0], r.Whole[0] = lo, n
		return r
	}
	g := tandem.NewGraph()
	g.AddRange(double, at(mark-300, mark+300), x, y).On("discrete:0")
	g.AddRange(double, at(n-1, n), x, y).On("discrete:0")
	g.AddRange(add, at(mark-100, mark+100), x, y).On("cpu")
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := y.Read(t.Context(), func(v []int32) error {
		for i := mark - 400; i < mark+400; i++ {
			want := int32(0)
			if d := i - mark; d >= -300 && d < 300 {
				want = int32(2 * d)
				if d >= -100 && d < 100 {
					want += int32(d)
				}
			}
			if v[i] != want {
				t.Errorf("element %d is %d, want %d", i, v[i], want)
			}
		}
		if v[n-1] != 154 || v[0] != 0 {
			t.Errorf("the last element is %d, the first %d, want 154 and 0", v[n-1], v[0])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := s.Stats()[1]; d.BytesH2D != 601*4 || d.BytesD2H != 601*4 {
		t.Errorf("%d bytes up and %d down, want %d each", d.BytesH2D, d.BytesD2H, 601*4)
	}
}

// smallOpenCL is an OpenCL device that takes no large buffers; own: and says
// that it has memory of its own.
type smallOpenCL struct {
	*opencl.Driver
	most int64
	own  bool
}

func (d smallOpenCL) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	dev, err := d.Driver.Open(ctx, ordinal)
	return smallDevice{dev, d}, err
}

type smallDevice struct {
	devices.Device
	d smallOpenCL
}

func (d smallDevice) Unwrap() devices.Device { return d.Device }

func (d smallDevice) Info() devices.Info {
	i := d.Device.Info()
	i.MaxAlloc = d.d.most
	if d.d.own {
		i.UnifiedMemory, i.HostCoherent = false, false
	}
	return i
}

// TestWindowsOpenCL runs a kernel in OpenCL C on windows: of the host's pages,
// and in buffers of the device that are filled by way of its pinned memory.
func TestWindowsOpenCL(t *testing.T) {
	driver := &opencl.Driver{}
	if b := driver.Probe(t.Context()); !b.Available {
		devicetest.Require(t, "opencl", b.Reason)
	}
	k := &kernels.Kernel{Name: "blend", Params: []kernels.Param{param("x", kernels.Read), param("y", kernels.ReadWrite)},
		Variants: []kernels.Variant{{Language: devices.LangOpenCL, Entry: "blend", Source: &devices.Source{Name: "blend.cl", Language: devices.LangOpenCL,
			Text: []byte("__kernel void blend(__global const int *restrict x, __global int *y) {\n  size_t i = get_global_id(0);\n  y[i] += 3 * x[i] + (int)i + (int)get_global_size(0);\n}\n")}}},
		Infer: add.Infer}
	for name, d := range map[string]smallOpenCL{"host's pages": {driver, 256 << 10, false}, "own memory": {driver, 256 << 10, true}} {
		t.Run(name, func(t *testing.T) {
			launches := make(chan struct{}, 1000)
			s := open(t, tandem.Config{Drivers: []devices.Driver{d}, Devices: "opencl:0",
				Observer: tandem.Observer{Launched: func(tandem.LaunchEvent) { launches <- struct{}{} }}})
			const n = 300_001
			x, y := tandem.NewSlice[int32](s, n), tandem.NewSlice[int32](s, n)
			fill := func(v []int32) error {
				for i := range v {
					v[i] = int32(i % 1000)
				}
				return nil
			}
			if err := errors.Join(x.Update(t.Context(), fill), y.Update(t.Context(), fill)); err != nil {
				t.Fatal(err)
			}
			g := tandem.NewGraph()
			g.Add(k, x, y)
			if err := s.Run(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			for i, v := range values(t, y) {
				if want := int32(4*(i%1000) + i + n); v != want {
					t.Fatalf("y[%d] = %d, want %d", i, v, want)
				}
			}
			st := s.Stats()[0]
			if len(launches) < 10 {
				t.Errorf("%d launches for 2.4 MB on windows of 256 KiB together", len(launches))
			}
			const one = 4 * n
			if d.own && (st.BytesH2D != 2*one || st.BytesD2H != one || st.BytesStaged == 0) || !d.own && (st.BytesH2D+st.BytesD2H != 0 || st.BytesZeroCopy != 2*one) {
				t.Errorf("%+v, want every byte copied once, or none", st)
			}
		})
	}
}
