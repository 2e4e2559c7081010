package builtin_test

import (
	"fmt"
	"testing"

	"github.com/tandemrun/tandem/devices/fpga/toolchain"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/rtl"
)

// readKernel reads a variant's kernel from its source.
func readKernel(t *testing.T, v *kernels.Variant) (*kernels.Kernel, error) {
	all, err := rtl.FromSource(t.Context(), v.Source, toolchain.Tools{})
	if err != nil {
		return nil, err
	}
	for _, k := range all {
		if k.Variants[0].Entry == v.Entry {
			return k, nil
		}
	}
	return nil, fmt.Errorf("no module %s", v.Entry)
}
