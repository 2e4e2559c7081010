package library

import (
	"fmt"
	"math"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// histogramSteps are the kernels that image.histogram is made of.
var (
	histogramPartial = imageHistogramPartial()
	histogramMerge   = imageHistogramMerge()
)

// A run of the picture that one work-item counts has at least 4096 bytes, and
// there are at most 4096 runs: enough for the widest device, and 4 MiB of
// counters at most.
const (
	leastRun = 4096
	mostRuns = 4096
	bins     = 256
)

func imageHistogram() *kernels.Kernel {
	return &kernels.Kernel{
		Name: "image.histogram",
		Doc:  "how often each of the 256 values occurs, over all channels",
		Params: []kernels.Param{
			in("src", devices.Uint8, nil, "picture, of any shape, of less than 2^32 bytes"),
			out("bins", devices.Uint32, nil, "counts, (256,)"),
		},
		Infer: func(c *kernels.Call) error {
			if err := arrays(c, "src", "bins"); err != nil {
				return err
			}
			if b := c.Array("bins"); len(b.Shape) != 1 || b.Shape[0] != bins {
				return fmt.Errorf("\"bins\" has shape %s, want (256,)", kernels.ShapeString(b.Shape))
			}
			n := c.Array("src").Elements()
			if n > math.MaxUint32 {
				return fmt.Errorf("\"src\" has %d bytes; a uint32 counts to %d", n, uint32(math.MaxUint32))
			}
			return setRange(c, n)
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: bytesOf(c, "src"), Bytes: bytesOf(c, "src")}
		},
		Compose: func(c *kernels.Call) ([]kernels.Step, error) {
			n := c.Array("src").Elements()
			run := max(leastRun, ceilDiv(n, mostRuns))
			part := &kernels.Array{Name: "image.histogram.partial", DType: devices.Uint32, Shape: []int64{ceilDiv(n, run), bins}}
			return []kernels.Step{
				{Kernel: histogramPartial, Args: []kernels.StepArg{kernels.OuterArg(0), kernels.TempArg(part), kernels.ValueArg(run)}},
				{Kernel: histogramMerge, Args: []kernels.StepArg{kernels.TempArg(part), kernels.OuterArg(1)}},
			}, nil
		},
	}
}

func imageHistogramPartial() *kernels.Kernel {
	run := func(c *kernels.Call) (kernels.Band, error) {
		n, _ := c.Int("block")
		return kernels.Band{Dim: 0, Stride: n, High: n}, nil
	}
	return &kernels.Kernel{
		Name: "image.histogram.partial",
		Doc:  "counts of each run of block bytes",
		Params: []kernels.Param{
			in("src", devices.Uint8, run, "bytes"),
			out("part", devices.Uint32, kernels.PerItem(bins), "counts, (runs, 256)"),
			value("block", devices.Int64, nil, "bytes of a run"),
			implied("n", devices.Int64, "bytes of src"),
		},
		Variants: variants(histogramPartialGo, imageCL, "image_histogram_partial", kernels.Needs{}),
		Infer: func(c *kernels.Call) error {
			if err := arrays(c, "src", "part"); err != nil {
				return err
			}
			n := c.Array("src").Elements()
			block, ok := c.Int("block")
			if !ok || block < 1 {
				return fmt.Errorf("block is %d, want 1 or more", block)
			}
			runs := ceilDiv(n, block)
			if p := c.Array("part"); p.Elements() != runs*bins {
				return fmt.Errorf("\"part\" has shape %s, want (%d, 256)", kernels.ShapeString(p.Shape), runs)
			}
			if err := set(c, "n", n); err != nil {
				return err
			}
			return setRange(c, runs)
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: bytesOf(c, "src"), Bytes: bytesOf(c, "src", "part")}
		},
	}
}

func imageHistogramMerge() *kernels.Kernel {
	return &kernels.Kernel{
		Name: "image.histogram.merge",
		Doc:  "the sum of the counts of all runs",
		Params: []kernels.Param{
			in("part", devices.Uint32, whole("part"), "counts, (runs, 256)"),
			out("bins", devices.Uint32, kernels.PerItem(1), "counts, (256,)"),
			implied("blocks", devices.Int32, "runs"),
		},
		Variants: variants(histogramMergeGo, imageCL, "image_histogram_merge", kernels.Needs{}),
		Infer: func(c *kernels.Call) error {
			if err := arrays(c, "part", "bins"); err != nil {
				return err
			}
			if err := set(c, "blocks", c.Array("part").Elements()/bins); err != nil {
				return err
			}
			return setRange(c, bins)
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: float64(c.Array("part").Elements()), Bytes: bytesOf(c, "part", "bins")}
		},
	}
}

// histogramPartialGo counts in four tables in turn: a run of one value would
// otherwise wait for its own last store.
func histogramPartialGo(r devices.Range, a *devices.Args) {
	src, part := a.Bytes(0), devices.Slice[uint32](a, 1)
	block, n := int(devices.Value[int64](a, 2)), int(devices.Value[int64](a, 3))
	for i := r.Lo[0]; i < r.Hi[0]; i++ {
		s := src[i*block : min((i+1)*block, n)]
		var t [4][bins]uint32
		for len(s) >= 8 {
			p := (*[8]byte)(s)
			t[0][p[0]]++
			t[1][p[1]]++
			t[2][p[2]]++
			t[3][p[3]]++
			t[0][p[4]]++
			t[1][p[5]]++
			t[2][p[6]]++
			t[3][p[7]]++
			s = s[8:]
		}
		for _, v := range s {
			t[0][v]++
		}
		out := part[i*bins : (i+1)*bins]
		for b := range out {
			out[b] = t[0][b&255] + t[1][b&255] + t[2][b&255] + t[3][b&255]
		}
	}
}

func histogramMergeGo(r devices.Range, a *devices.Args) {
	part, out := devices.Slice[uint32](a, 0), devices.Slice[uint32](a, 1)
	blocks := int(devices.Value[int32](a, 2))
	lo, hi := r.Lo[0], r.Hi[0]
	sums := out[lo:hi]
	clear(sums)
	for b := range blocks {
		row := part[b*bins+lo : b*bins+hi]
		for i := range sums {
			sums[i] += row[i]
		}
	}
}
