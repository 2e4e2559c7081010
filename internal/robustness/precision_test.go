package robustness

import (
	"context"
	"errors"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
	tandemrt "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/pipeline"
)

// without is the OpenCL driver whose first device says that it lacks double
// precision, as integrated graphics does. It counts what that device compiles.
type without struct {
	devices.Driver
	only     bool // show no other device
	compiled *int
}

func (w without) Probe(ctx context.Context) devices.Backend {
	b := w.Driver.Probe(ctx)
	if len(b.Devices) > 0 {
		b.Devices[0] = poor(b.Devices[0])
		if w.only {
			b.Devices = b.Devices[:1]
		}
	}
	return b
}

func (w without) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	d, err := w.Driver.Open(ctx, ordinal)
	if err != nil || ordinal != 0 {
		return d, err
	}
	return poorDevice{d, w.compiled}, nil
}

type poorDevice struct {
	devices.Device
	compiled *int
}

func (d poorDevice) Info() devices.Info { return poor(d.Device.Info()) }

func (d poorDevice) Unwrap() devices.Device { return d.Device }

func (d poorDevice) Compile(ctx context.Context, src *devices.Source) (devices.Program, error) {
	*d.compiled++
	return d.Device.Compile(ctx, src)
}

func poor(i devices.Info) devices.Info {
	i.FP64, i.Name = false, "poor "+i.Name
	return i
}

// TestMissingPrecision: a kernel that needs double precision, be it for a
// literal without its f, does not reach the compiler of a device without; its
// message leads to the line. Another device takes it where there is one.
func TestMissingPrecision(t *testing.T) {
	needOpenCL(t)
	t.Setenv("TANDEM_CACHE_DIR", t.TempDir())
	for _, c := range []struct{ job, want string }{
		{"job-a.yaml", "precise.cl:2:"},
		{"job-b.yaml", "slip.cl:5:"},
	} {
		t.Run(c.job, func(t *testing.T) {
			compiled := 0
			dir := folder(t, "08-needs-fp64")
			before := contents(t, dir)
			err := runWith(t, dir+"/"+c.job, without{&opencl.Driver{}, true, &compiled})
			var plan *tandemrt.PlanError
			if !errors.As(err, &plan) {
				t.Fatalf("error %v, want a *PlanError", err)
			}
			inOrder(t, "the error", err.Error(), `task "s"`, "opencl:0", "lacks fp64 (cl_khr_fp64)", c.want)
			if compiled != 0 {
				t.Errorf("%d compilations on the device without", compiled)
			}
			unchanged(t, dir, before)
		})
	}
	t.Run("float data needs nothing", func(t *testing.T) {
		compiled := 0
		dir := folder(t, "08-needs-fp64")
		edit(t, dir, "slip.cl", "0.1", "0.5f")
		if err := runWith(t, dir+"/job-b.yaml", without{&opencl.Driver{}, true, &compiled}); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, "y.npy", 0.5, 1, 1.5, 8388608)
	})
	t.Run("another device", func(t *testing.T) {
		devicesOf := (&opencl.Driver{}).Probe(t.Context()).Devices
		if len(devicesOf) < 2 {
			t.Skip("one OpenCL device")
		}
		compiled := 0
		dir := folder(t, "08-needs-fp64")
		if err := runWith(t, dir+"/job-a.yaml", without{&opencl.Driver{}, false, &compiled}); err != nil {
			t.Fatal(err)
		}
		sameFile(t, dir, "y.npy", "want64.npy")
		if compiled != 0 {
			t.Errorf("%d compilations on the device without", compiled)
		}
	})
}

// runWith runs a pipeline in this process on one driver.
func runWith(t *testing.T, file string, d devices.Driver) (err error) {
	t.Helper()
	if b := d.Probe(t.Context()); !b.Available {
		devicetest.Require(t, "opencl", b.Reason)
	}
	p, err := pipeline.Load(file, pipeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := tandemrt.Open(t.Context(), tandemrt.Config{Drivers: []devices.Driver{d}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b, err := p.Build(t.Context(), s)
	if err != nil {
		return err
	}
	if err := s.Run(t.Context(), b.Graph); err != nil {
		return err
	}
	_, err = b.WriteOutputs(t.Context())
	return err
}
