package opencl

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// A launch whose local size does not divide its global size is cut into boxes
// that each have a local size which divides them: the interior, and for each
// side (and edge and corner) a remainder in which the groups are smaller, as
// OpenCL 2.0 does it in hardware. Every work-item is in exactly one box. What
// a kernel would see of the cut is put right by building it for the geometry
// (see special.go).

// box is one launch: its first work-item, its size and its local size.
type box struct {
	offset, size, local [3]uintptr
}

// layout is how a launch is carried out.
type layout struct {
	dims  int
	n     int // boxes; 0: an empty range
	boxes [8]box
	// geometry is what the kernel has to be built for; special says whether.
	special  bool
	geometry geometry
}

// geometry is what work-items are told in place of what the launch of a box
// would tell them. Only what uses names is filled in.
type geometry struct {
	uses   usage
	whole  [3]int // get_global_size
	offset [3]int // get_global_offset
	origin [3]int // first work-item of group 0
	local  [3]int
}

// extent prints the sizes of r, "[1000 7]".
func extent(r devices.NDRange) string { return fmt.Sprint(used(r.Size, r.Dims)) }

// used copies the values of the used dimensions for a message. The copy keeps
// the array of the caller, who must not allocate, off the heap.
func used[T int | uintptr](v [3]T, dims int) []T {
	out := make([]T, min(max(dims, 1), 3))
	for d := range out {
		out[d] = v[d]
	}
	return out
}

func (k *kernel) invalid(r devices.NDRange, format string, args ...any) error {
	return fmt.Errorf("%s: kernel %q over %s: %s: %w", k.d.info.ID, k.entry, extent(r), fmt.Sprintf(format, args...), devices.ErrInvalid)
}

// lay works out how r is carried out. The result is k's and valid until the
// next call.
func (k *kernel) lay(r devices.NDRange) (*layout, error) {
	out := &k.layout
	if r.Dims < 1 || r.Dims > 3 {
		return nil, fmt.Errorf("%s: kernel %q: an ND-range of %d dimensions, 1 to 3 are possible: %w", k.d.info.ID, k.entry, r.Dims, devices.ErrInvalid)
	}
	part := r.Whole != [3]int{}
	r = r.Norm()
	for d := range r.Dims {
		switch {
		case r.Size[d] < 0 || r.Offset[d] < 0 || r.Local[d] < 0:
			return nil, k.invalid(r, "dimension %d: size %d, offset %d and local size %d must not be negative", d, r.Size[d], r.Offset[d], r.Local[d])
		case part && r.Size[d] > r.Whole[d]-r.Offset[d]:
			return nil, k.invalid(r, "dimension %d: %d work-items from %d are no part of %d", d, r.Size[d], r.Offset[d], r.Whole[d])
		}
	}
	*out = layout{dims: r.Dims}
	if r.Items() == 0 {
		return out, nil
	}
	part = part && (r.Whole != r.Size || r.Offset != [3]int{})
	local, err := k.localSize(r, part)
	if err != nil {
		return nil, err
	}
	if part && k.uses&seesLocal != 0 {
		for d := range r.Dims {
			end := r.Offset[d] + r.Size[d]
			if r.Offset[d]%local[d] != 0 || end%local[d] != 0 && end != r.Whole[d] {
				return nil, k.invalid(r, "dimension %d: the part from %d to %d cuts through a group of local size %d", d, r.Offset[d], end, local[d])
			}
		}
	}
	if k.d.info.NonUniform && k.p.nonUniform {
		out.whole(r, local)
	} else {
		k.cut(r, local, out)
	}
	if cut := out.n > 1 || part; cut && k.uses&seesCut != 0 || k.uses&usesEnqueued != 0 && out.ragged(local) {
		if k.p.sealed {
			return nil, k.invalid(r, "local size %v: the kernel may look at its group or global size, which a launch in parts cannot show it without its source; use a local size that divides the range", used(local, r.Dims))
		}
		out.special = true
		out.geometry = k.geometryOf(r, local, part)
	}
	return out, nil
}

// geometryOf fills in what k looks at and nothing else, so that launches that
// do not differ in it share a build.
func (k *kernel) geometryOf(r devices.NDRange, local [3]int, part bool) geometry {
	g := geometry{uses: k.uses & seesCut}
	if g.uses&(usesSize|usesGroupID|usesLinear) != 0 {
		g.whole = r.Whole
	}
	if !part {
		if g.uses&(usesOffset|usesLinear) != 0 {
			g.offset = r.Offset
		}
		if g.uses&usesGroupID != 0 {
			g.origin = r.Offset
		}
	}
	if g.uses&(usesGroupID|usesEnqueued) != 0 {
		g.local = local
	}
	return g
}

// whole makes one box of r and leaves what is ragged to the device.
func (l *layout) whole(r devices.NDRange, local [3]int) {
	l.n = 1
	for d := range 3 {
		l.boxes[0].offset[d], l.boxes[0].size[d], l.boxes[0].local[d] = uintptr(r.Offset[d]), uintptr(r.Size[d]), uintptr(local[d])
	}
}

// ragged reports whether some box has groups that are smaller than local.
func (l *layout) ragged(local [3]int) bool {
	for _, b := range l.boxes[:l.n] {
		for d := range 3 {
			if b.local[d] != uintptr(local[d]) {
				return true
			}
		}
	}
	return false
}

// cut makes the boxes of r: bit d of a box's number says whether it is the
// remainder in dimension d.
func (k *kernel) cut(r devices.NDRange, local [3]int, out *layout) {
	// On host cores every further local size is a further compilation, so a
	// remainder gets the one local size 1 if the kernel cannot tell.
	single := k.d.traits.cpu && k.uses&seesLocal == 0
	for which := range 8 {
		b := &out.boxes[out.n]
		empty := false
		for d := range 3 {
			inner := r.Size[d] / local[d] * local[d]
			if which>>d&1 == 0 {
				b.offset[d], b.size[d], b.local[d] = uintptr(r.Offset[d]), uintptr(inner), uintptr(local[d])
			} else {
				rest := uintptr(r.Size[d] - inner)
				b.offset[d], b.size[d], b.local[d] = uintptr(r.Offset[d]+inner), rest, rest
			}
			empty = empty || b.size[d] == 0
		}
		if empty {
			continue
		}
		if single && which != 0 {
			b.local = [3]uintptr{1, 1, 1}
		}
		out.n++
	}
}

// localSize is the local size of a launch: the kernel's own, the caller's
// within the limits, or one that suits the device.
func (k *kernel) localSize(r devices.NDRange, part bool) ([3]int, error) {
	local := r.Local
	given := false
	for d := range r.Dims {
		given = given || local[d] > 0
	}
	if fixed := k.info.FixedWorkGroup; fixed != [3]int{} {
		for d := range 3 {
			want := max(fixed[d], 1)
			if given && max(local[d], 1) != want {
				return local, k.invalid(r, "local size %v: the kernel's group size is fixed at %v", used(r.Local, r.Dims), used(fixed, 3))
			}
			if r.Size[d]%want != 0 || part && r.Offset[d]%want != 0 {
				return local, k.invalid(r, "dimension %d: the kernel's fixed local size %v does not divide the global size %d at offset %d", d, used(fixed, 3), r.Size[d], r.Offset[d])
			}
			local[d] = want
		}
		return local, nil
	}
	if !given {
		return k.chooseLocal(r, part), nil
	}
	product := 1
	for d := range 3 {
		local[d] = max(local[d], 1)
		if most := k.d.info.MaxItemSizes[d]; d < r.Dims && most > 0 && local[d] > most {
			return local, k.invalid(r, "dimension %d: local size %d, the device takes at most %d", d, local[d], most)
		}
		product *= local[d]
	}
	if most := k.maxGroup(); product > most {
		return local, k.invalid(r, "local size %v is %d work-items, the kernel takes at most %d on this device", used(r.Local, r.Dims), product, most)
	}
	return local, nil
}

// maxGroup is the most work-items that a group of k may have.
func (k *kernel) maxGroup() int {
	most := 1 << 30
	for _, n := range []int{k.info.MaxWorkGroup, k.d.info.MaxWorkGroup} {
		if n > 0 {
			most = min(most, n)
		}
	}
	return most
}

// chooseLocal picks a local size for a kernel that leaves it open. The sizes
// are few and fixed: implementations on host cores compile a kernel again for
// each one. A kernel whose work-items know their group, or would see a cut,
// gets a local size that divides the range, if there is a fair one.
func (k *kernel) chooseLocal(r devices.NDRange, part bool) [3]int {
	shape := [3][3]int{{256, 1, 1}, {32, 8, 1}, {32, 4, 2}}[r.Dims-1]
	if k.d.traits.cpu {
		shape = [3]int{64, 1, 1}
	}
	most := k.maxGroup()
	for shape[0]*shape[1]*shape[2] > most {
		for d := 2; d >= 0; d-- {
			if shape[d] > 1 {
				shape[d] /= 2
				break
			}
		}
	}
	for d := range 3 {
		if limit := k.d.info.MaxItemSizes[d]; limit > 0 {
			shape[d] = min(shape[d], limit)
		}
	}
	if k.uses&(seesLocal|seesCut) != 0 || k.p.sealed {
		return k.dividing(r, shape, most, part)
	}
	for d := range 3 {
		for shape[d] > r.Size[d] {
			shape[d] /= 2
		}
	}
	// A small range is better spread over the compute units than gathered in
	// one group.
	enough := 4 * max(k.d.info.ComputeUnits, 1)
	for shape[0] > 8 && r.Size[0]/shape[0]*(r.Size[1]/shape[1])*(r.Size[2]/shape[2]) < enough {
		shape[0] /= 2
	}
	return shape
}

// dividing finds a local size near shape that divides r in every dimension.
func (k *kernel) dividing(r devices.NDRange, shape [3]int, most int, part bool) [3]int {
	const fair = 8 // groups smaller than this waste the device
	var local [3]int
	for d := range 3 {
		n := r.Size[d]
		if part {
			n = gcd(n, r.Offset[d])
		}
		local[d] = largestDivisor(n, shape[d])
		if d == 0 && local[d] < fair && n >= fair {
			limit := most
			if m := k.d.info.MaxItemSizes[0]; m > 0 {
				limit = min(limit, m)
			}
			if whole := largestDivisor(n, limit); whole >= fair {
				return [3]int{whole, 1, 1}
			}
			if !k.p.sealed && !part {
				local[d] = shape[d]
			}
		}
	}
	return local
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// largestDivisor is the largest divisor of n that is at most limit.
func largestDivisor(n, limit int) int {
	for d := min(n, limit); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}
