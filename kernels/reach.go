package kernels

import "fmt"

// A ReachFunc resolves what a call is certain to touch; ok is false if nothing
// is known.
type ReachFunc func(c *Call) (r Reach, ok bool)

// Reach is the span of bytes of an array, [Low, High), whose first and last
// byte some work-item touches whatever the data are. What stands under a
// condition is not in it: it may touch more.
type Reach struct {
	Low, High     int64
	LowAt, HighAt Pos // the accesses at either end
}

// within holds array i against what the launch is certain to touch. A device
// would write past the end without a word, or crash.
func (c *Call) within(i int) error {
	p, arr := &c.Kernel.Params[i], c.Args[i].Array
	if p.Reach == nil || arr == nil {
		return nil
	}
	r, ok := p.Reach(c)
	if !ok || r.Low >= 0 && r.High <= arr.Bytes() {
		return nil
	}
	unit, what := int64(max(p.Type.Size, 1)), "element"
	if p.Type.Name == "void" {
		what = "byte"
	}
	size := c.Range.Size[:c.Range.Dims]
	if r.Low < 0 {
		return fmt.Errorf("is left at its beginning: global size %v touches %s %d of buffer %s (%s); guard the access with a condition",
			size, what, -((unit - 1 - r.Low) / unit), arr.Name, r.LowAt)
	}
	return fmt.Errorf("is too short: global size %v touches %s %d, and buffer %s has %d (%s); make the global size smaller or the buffer larger, or guard the access with a condition",
		size, what, (r.High-1)/unit, arr.Name, arr.Bytes()/unit, r.HighAt)
}
