package pipeline

import (
	"fmt"

	"github.com/tandemrun/tandem/kernels"
)

// parts are the calls that a call stands for, in order: itself, or the steps
// of a composed kernel with the temporary arrays between them. The graph could
// take a composed kernel apart too, but after, repeat and device are for all
// of its parts.
type parts struct {
	calls []*kernels.Call
	temps []*kernels.Array
}

// maxCompose bounds how deep kernels are composed of composed kernels.
const maxCompose = 8

func takeApart(c *kernels.Call) (*parts, error) {
	p := &parts{}
	return p, p.add(c, 0)
}

func (p *parts) add(c *kernels.Call, depth int) error {
	if c.Kernel.Compose == nil {
		p.calls = append(p.calls, c)
		return nil
	}
	if depth == maxCompose {
		return fmt.Errorf("kernel %s is composed of itself", c.Kernel.Name)
	}
	steps, err := c.Kernel.Compose(c)
	if err != nil {
		return fmt.Errorf("kernel %s: %w", c.Kernel.Name, err)
	}
	known := map[*kernels.Array]bool{}
	for n, step := range steps {
		args := make([]kernels.Given, len(step.Args))
		for i, sa := range step.Args {
			switch {
			case sa.Temp != nil:
				if !known[sa.Temp] {
					known[sa.Temp] = true
					p.temps = append(p.temps, sa.Temp)
				}
				args[i].Array = sa.Temp
			case sa.Outer >= 0:
				outer := &c.Args[sa.Outer]
				args[i].Array, args[i].Bytes, args[i].LocalBytes = outer.Array, outer.Value, outer.LocalBytes
			default:
				args[i].Value = sa.Value
			}
		}
		sc, err := kernels.Bind(step.Kernel, step.Range, args)
		if err != nil {
			return fmt.Errorf("kernel %s: part %d: %w", c.Kernel.Name, n+1, err)
		}
		if err := p.add(sc, depth+1); err != nil {
			return err
		}
	}
	return nil
}
