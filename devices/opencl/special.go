package opencl

import (
	"fmt"

	"github.com/tandemrun/tandem/devices/internal/compilation"
	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// special makes a cl_kernel of p for a geometry, building for it if need be.
func (p *program) special(g ragged.Geometry, entry string) (kernel uintptr, err error) {
	err = p.specials.Use(g, func() (uintptr, error) {
		src := *p.src
		src.Text = append(ragged.Prelude(g), compilation.Named(&src)...)
		b, err := p.d.compile(&src)
		if err != nil {
			return 0, fmt.Errorf("build for a launch in parts: %w", err)
		}
		return b.handle, nil
	}, p.releaseProgram, func(program uintptr) error {
		var code int32
		if kernel, code = p.d.createKernel(program, entry); code != success {
			return failed(code, "clCreateKernel(%s)", entry)
		}
		return nil
	})
	return kernel, err
}

func (p *program) releaseProgram(program uintptr) { p.d.api.call(p.d.api.releaseProgram, program) }
