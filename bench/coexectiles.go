package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tandemrun/tandem/devices"
	deviceblas "github.com/tandemrun/tandem/devices/blas"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/blas"
	"github.com/tandemrun/tandem/partitioner/costmodel"
	tandem "github.com/tandemrun/tandem/runtime"
)

// tileCL is the product of tiles in one work-item, c = a·b + c, for sides that
// are multiples of 16: it runs on one core, like the library's.
const tileCL = `__kernel void gemm_tile(__global const float *a, __global const float *b, __global float *c, float alpha, float beta,
    int transposed, int a_rows, int a_columns, int b_rows, int b_columns, int c_rows, int c_columns) {
  int n = c_columns;
  for (int i = 0; i < c_rows; i += 4)
    for (int j = 0; j < n; j += 16) {
      float8 s[4][2];
      for (int r = 0; r < 4; r++)
        for (int h = 0; h < 2; h++)
          s[r][h] = vload8(h, c + (i + r) * n + j);
      for (int k = 0; k < a_columns; k++) {
        float8 x = vload8(0, b + k * n + j), y = vload8(1, b + k * n + j);
        for (int r = 0; r < 4; r++) {
          float v = a[(i + r) * a_columns + k];
          s[r][0] += v * x;
          s[r][1] += v * y;
        }
      }
      for (int r = 0; r < 4; r++)
        for (int h = 0; h < 2; h++)
          vstore8(s[r][h], h, c + (i + r) * n + j);
    }
}
`

// gemmTogether multiplies matrices in tiles on one core through cpu, with
// OpenBLAS, on one core through OpenCL, and on both: speed of both over the sum
// of their speeds.
func gemmTogether(ctx context.Context, o *Options, lib *deviceblas.Library) ([]Result, error) {
	from, why := o.coreOfOpenCL(ctx)
	if why != "" {
		o.note("gemm.coexec is left out: %s", why)
		return nil, nil
	}
	k := blas.New[float32](lib)
	gemm := *k.Gemm
	gemm.Variants = append([]kernels.Variant(nil), gemm.Variants...)
	gemm.Variants = append(gemm.Variants, kernels.Variant{Language: devices.LangOpenCL, Entry: "gemm_tile",
		Source: &devices.Source{Name: "gemm_tile.cl", Language: devices.LangOpenCL, Text: []byte(tileCL)}})
	k.Gemm = &gemm
	drivers := []devices.Driver{cpu.Driver{Workers: 1}, &halves{from: from}}
	var took [3]time.Duration
	for i, selector := range []string{"cpu:0", "halves:0", "cpu:0,halves:0"} {
		var err error
		if took[i], err = gemmOn(ctx, o, drivers, selector, k); err != nil {
			return nil, fmt.Errorf("gemm.coexec on %s: %w", selector, err)
		}
	}
	e := 1 / took[2].Seconds() / (1/took[0].Seconds() + 1/took[1].Seconds())
	o.note("gemm.coexec: cpu %v, OpenCL %v, together %v", took[0], took[1], took[2])
	return []Result{{"gemm.coexec.efficiency", e, "ratio", "higher"}}, nil
}

// coreOfOpenCL is an OpenCL device of the host's cores that can be divided, or
// why there is none to measure.
func (o *Options) coreOfOpenCL(ctx context.Context) (from found, why string) {
	if n, _ := cpu.Budget(); n < 2 {
		return from, "there is one core"
	}
	if v := os.Getenv(cpu.EnvWorkers); v != "" && v != "1" {
		return from, cpu.EnvWorkers + " is set"
	}
	list, err := o.devices(ctx, devices.LangOpenCL)
	if err != nil {
		return from, err.Error()
	}
	for _, f := range list {
		if f.info.Backend == "opencl" && f.info.Kind == devices.KindCPU && f.info.ComputeUnits >= 2 {
			return f, ""
		}
	}
	return from, "no OpenCL device of two of the host's cores"
}

// gemmOn is the best time of a product on the selected devices, once the cost
// model knows them.
func gemmOn(ctx context.Context, o *Options, drivers []devices.Driver, selector string, k blas.Kernels) (best time.Duration, err error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: drivers, Devices: selector, Model: &costmodel.Model{}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p := &tiled[float32]{o: o, s: s, k: k, n: pick(o, 1920, 960), b: pick(o, 192, 96)}
	defer func() { err = errors.Join(err, p.free()) }()
	best = time.Hour
	for range pick(o, 4, 2) {
		rate, err := p.gemm(ctx)
		if err != nil {
			return 0, err
		}
		best = min(best, time.Duration(2*float64(p.n)*float64(p.n)*float64(p.n)/rate*1e9))
		if err := p.free(); err != nil {
			return 0, err
		}
	}
	return best, nil
}
