package sycl

import (
	"fmt"

	"github.com/tandemrun/tandem/devices/internal/compilation"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/ragged"
)

// special makes a kernel of p for a geometry, building for it if need be.
func (p *program) special(g ragged.Geometry, entry string) (kernel uint64, err error) {
	err = p.specials.Use(g, func() (uint64, error) {
		src := *p.src
		src.Text = append(ragged.Prelude(g), compilation.Named(&src)...)
		b, err := p.d.compile(&src)
		if err != nil {
			return 0, fmt.Errorf("build for a launch in parts: %w", err)
		}
		return b.handle, nil
	}, p.freeProgram, func(program uint64) error {
		var err error
		kernel, err = p.d.createKernel(program, entry)
		return err
	})
	return kernel, err
}

func (p *program) freeProgram(program uint64) { dl.Call(p.d.api.programFree, uintptr(program)) }
