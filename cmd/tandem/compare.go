package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

type compareFlags struct {
	rtol, atol float64
	maxULP     uint64
	dtype      string
	shape      []int64
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare FILE REFERENCE",
		Short: "Compare two array files within a tolerance",
		Long: `compare reads two array files and compares them element by element. Two elements
are equal if |a-b| <= atol + rtol*|reference|, or if they are at most max-ulp
representable numbers apart. NaN equals NaN and nothing else; -0 equals 0.
Exit codes: 0 equal, 1 different, 2 a file could not be read.`,
		Example: "  tandem compare y.npy want.npy --rtol 1e-5",
		Args:    files(2, 2, "two array files"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.compare(args[0], args[1], &f) },
	}
	c.Flags().Float64Var(&f.rtol, "rtol", 0, "relative tolerance, times the reference's magnitude")
	c.Flags().Float64Var(&f.atol, "atol", 0, "absolute tolerance")
	c.Flags().Uint64Var(&f.maxULP, "max-ulp", 0, "representable numbers between the two (floating-point types)")
	c.Flags().StringVar(&f.dtype, "dtype", "", "element type of .raw files")
	c.Flags().Int64SliceVar(&f.shape, "shape", nil, "shape of .raw files: 480,640")
	return c
}

// compareJSON is the document of `tandem compare --json`. A largest difference
// that is no number JSON knows is text.
type compareJSON struct {
	arrayfile.Result
	A      string `json:"a"`
	B      string `json:"b"`
	MaxAbs any    `json:"max_abs"`
}

func (a *app) compare(left, right string, f *compareFlags) error {
	for name, v := range map[string]float64{"rtol": f.rtol, "atol": f.atol} {
		if math.IsNaN(v) || v < 0 {
			return fmt.Errorf("--%s %v: want a number from 0 up", name, v)
		}
	}
	o := arrayfile.Options{Shape: f.shape}
	if f.dtype != "" {
		var ok bool
		if o.DType, ok = devices.ParseDType(f.dtype); !ok {
			return fmt.Errorf("--dtype %q: want one of %v%s", f.dtype, devices.DTypeNames(), near(f.dtype, devices.DTypeNames()))
		}
	}
	x, errX := readArray(left, o)
	y, errY := readArray(right, o)
	if err := errors.Join(errX, errY); err != nil {
		return err
	}
	r, err := arrayfile.Compare(x, y, arrayfile.Tolerance{RTol: f.rtol, ATol: f.atol, MaxULP: f.maxULP})
	if err != nil {
		return err
	}
	if r.Equal {
		fmt.Fprintf(a.text(), "equal: %d elements, largest difference %g\n", r.Elements, r.MaxAbs)
	} else {
		fmt.Fprintf(a.text(), "different: %s\n", r.Reason)
	}
	if err := a.result(compareJSON{r, left, right, jsonNumber(r.MaxAbs)}); err != nil {
		return err
	}
	if !r.Equal {
		return &workError{errSilent}
	}
	return nil
}

func readArray(path string, o arrayfile.Options) (arrayfile.Array, error) {
	var arr arrayfile.Array
	h, err := arrayfile.Read(path, o, func(h arrayfile.Header) ([]byte, error) {
		n, err := h.Bytes()
		if err != nil {
			return nil, err
		}
		arr.Data = devices.AsBytes(make([]uint64, (n+7)/8))[:n:n] // aligned for every element type
		return arr.Data, nil
	})
	arr.Header = h
	return arr, err
}

// jsonNumber is f, or its name where JSON has no number for it.
func jsonNumber(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Sprint(f)
	}
	return f
}

// near suggests the nearest spelling.
func near(word string, words []string) string {
	if n := kernels.Nearest(word, words); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
