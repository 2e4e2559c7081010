package ragged

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// Box is one launch: its first work-item, its size and its local size. The
// local size divides the size, except in the one box of a device that takes
// groups of different sizes.
type Box struct {
	Offset, Size, Local [3]uint64
}

// Geometry is what work-items are to be told in place of what the launch of a
// box would tell them. Only what Uses names is filled in, so that launches
// that do not differ in it have equal geometries.
type Geometry struct {
	Uses   Usage
	Whole  [3]int // global size
	Offset [3]int // global offset
	Origin [3]int // first work-item of group 0
	Local  [3]int
}

// A Layout is how a launch is carried out: the interior, and for each side
// (and edge and corner) a remainder in which the groups are smaller, as OpenCL
// 2.0 does it in hardware. Every work-item is in exactly one box.
type Layout struct {
	Dims  int
	N     int // boxes; 0: an empty range
	Boxes [8]Box
	Local [3]int // of a full work-group; boxes at the edges may have smaller ones

	// Special says that the kernel would see the cut, and that it has to be
	// built for Geometry.
	Special  bool
	Geometry Geometry
}

// Rules are what a layout depends on besides the range: the kernel's and the
// device's.
type Rules struct {
	Uses       Usage
	Sealed     bool   // the kernel cannot be built for a geometry: there is no source, or none that Prelude fits
	Fixed      [3]int // group size written in the kernel; zero: free
	MaxGroup   int    // work-items of one group, the kernel's and the device's limit; 0: none
	MaxItems   [3]int // per dimension; 0: no limit
	Units      int    // compute units
	HostCores  bool   // the device is the host's cores: each new local size may be compiled again
	Row        int    // on the host's cores, how long a group of work-items that know nothing of it may be; 0: as any other
	NonUniform bool   // groups at the edges may be smaller, without help
}

func invalid(r devices.NDRange, format string, args ...any) error {
	return fmt.Errorf("over %s: %s: %w", Extent(r), fmt.Sprintf(format, args...), devices.ErrInvalid)
}

// Extent prints the sizes of r, "[1000 7]".
func Extent(r devices.NDRange) string { return fmt.Sprint(used(r.Size, r.Dims)) }

// used copies the values of the used dimensions for a message. The copy keeps
// the array of the caller, who must not allocate, off the heap.
func used(v [3]int, dims int) []int {
	out := make([]int, min(max(dims, 1), 3))
	for d := range out {
		out[d] = v[d]
	}
	return out
}

// Lay works out how nd is carried out, into l. It allocates nothing unless it
// fails. The error wraps devices.ErrInvalid and begins with "over" and the
// range; the caller puts device and kernel before it.
func (l *Layout) Lay(nd devices.NDRange, k *Rules) error {
	*l = Layout{Dims: nd.Dims}
	if nd.Dims < 1 || nd.Dims > 3 {
		return fmt.Errorf("over an ND-range of %d dimensions, 1 to 3 are possible: %w", nd.Dims, devices.ErrInvalid)
	}
	part := nd.Whole != [3]int{}
	r := nd.Norm()
	for d := range r.Dims {
		switch {
		case r.Size[d] < 0 || r.Offset[d] < 0 || r.Local[d] < 0:
			return invalid(r, "dimension %d: size %d, offset %d and local size %d must not be negative", d, r.Size[d], r.Offset[d], r.Local[d])
		case part && r.Size[d] > r.Whole[d]-r.Offset[d]:
			return invalid(r, "dimension %d: %d work-items from %d are no part of %d", d, r.Size[d], r.Offset[d], r.Whole[d])
		}
	}
	if r.Items() == 0 {
		return nil
	}
	part = part && (r.Whole != r.Size || r.Offset != [3]int{})
	local, err := k.localSize(r, part)
	if err != nil {
		return err
	}
	if part && k.Uses&SeesLocal != 0 {
		for d := range r.Dims {
			end := r.Offset[d] + r.Size[d]
			if r.Offset[d]%local[d] != 0 || end%local[d] != 0 && end != r.Whole[d] {
				return invalid(r, "dimension %d: the part from %d to %d cuts through a group of local size %d", d, r.Offset[d], end, local[d])
			}
		}
	}
	l.Local = local
	if k.NonUniform {
		l.whole(r, local)
	} else {
		l.cut(r, local, k)
	}
	if cut := l.N > 1 || part; cut && k.Uses&SeesCut != 0 || k.Uses&Enqueued != 0 && l.ragged(local) {
		if k.Sealed {
			return invalid(r, "local size %v: the kernel may look at its group or global size, which a launch in parts cannot show it; use a local size that divides the range", used(local, r.Dims))
		}
		l.Special = true
		l.Geometry = geometryOf(k.Uses, r, local, part)
	}
	return nil
}

// geometryOf fills in what a kernel looks at and nothing else.
func geometryOf(uses Usage, r devices.NDRange, local [3]int, part bool) Geometry {
	g := Geometry{Uses: uses & SeesCut}
	if g.Uses&(Size|GroupID|Linear) != 0 {
		g.Whole = r.Whole
	}
	if !part {
		if g.Uses&(Offset|Linear) != 0 {
			g.Offset = r.Offset
		}
		if g.Uses&GroupID != 0 {
			g.Origin = r.Offset
		}
	}
	if g.Uses&(GroupID|Enqueued) != 0 {
		g.Local = local
	}
	return g
}

// whole makes one box of r and leaves what is ragged to the device.
func (l *Layout) whole(r devices.NDRange, local [3]int) {
	l.N = 1
	b := &l.Boxes[0]
	for d := range 3 {
		b.Offset[d], b.Size[d], b.Local[d] = uint64(r.Offset[d]), uint64(r.Size[d]), uint64(local[d])
	}
}

// ragged reports whether some box has groups that are smaller than local.
func (l *Layout) ragged(local [3]int) bool {
	for _, b := range l.Boxes[:l.N] {
		for d := range 3 {
			if b.Local[d] != uint64(local[d]) {
				return true
			}
		}
	}
	return false
}

// cut makes the boxes of r: bit d of a box's number says whether it is the
// remainder in dimension d.
func (l *Layout) cut(r devices.NDRange, local [3]int, k *Rules) {
	// On host cores every further local size is a further compilation, so a
	// remainder gets the one local size 1 if the kernel cannot tell.
	single := k.HostCores && k.Uses&SeesLocal == 0
	for which := range 8 {
		b := &l.Boxes[l.N]
		empty := false
		for d := range 3 {
			inner := r.Size[d] / local[d] * local[d]
			if which>>d&1 == 0 {
				b.Offset[d], b.Size[d], b.Local[d] = uint64(r.Offset[d]), uint64(inner), uint64(local[d])
			} else {
				rest := uint64(r.Size[d] - inner)
				b.Offset[d], b.Size[d], b.Local[d] = uint64(r.Offset[d]+inner), rest, rest
			}
			empty = empty || b.Size[d] == 0
		}
		if empty {
			continue
		}
		if single && which != 0 {
			b.Local = [3]uint64{1, 1, 1}
		}
		l.N++
	}
}
