package ragged

import "github.com/tandemrun/tandem/devices"

// localSize is the local size of a launch: the kernel's own, the caller's
// within the limits, or one that suits the device.
func (k *Rules) localSize(r devices.NDRange, part bool) ([3]int, error) {
	local := r.Local
	given := false
	for d := range r.Dims {
		given = given || local[d] > 0
	}
	if fixed := k.Fixed; fixed != [3]int{} {
		for d := range 3 {
			want := max(fixed[d], 1)
			if given && max(local[d], 1) != want {
				return local, invalid(r, "local size %v: the kernel's group size is fixed at %v", used(r.Local, r.Dims), used(fixed, 3))
			}
			if r.Size[d]%want != 0 || part && r.Offset[d]%want != 0 {
				return local, invalid(r, "dimension %d: the kernel's fixed local size %v does not divide the global size %d at offset %d", d, used(fixed, 3), r.Size[d], r.Offset[d])
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
		if most := k.MaxItems[d]; d < r.Dims && most > 0 && local[d] > most {
			return local, invalid(r, "dimension %d: local size %d, the device takes at most %d", d, local[d], most)
		}
		product *= local[d]
	}
	if most := k.maxGroup(); product > most {
		return local, invalid(r, "local size %v is %d work-items, the kernel takes at most %d on this device", used(r.Local, r.Dims), product, most)
	}
	return local, nil
}

// maxGroup is the most work-items that a group may have.
func (k *Rules) maxGroup() int {
	if k.MaxGroup > 0 {
		return k.MaxGroup
	}
	return 1 << 30
}

// chooseLocal picks a local size for a kernel that leaves it open. The sizes
// are few and fixed: implementations on host cores compile a kernel again for
// each one. A kernel whose work-items know their group, or would see a cut,
// gets a local size that divides the range, if there is a fair one.
func (k *Rules) chooseLocal(r devices.NDRange, part bool) [3]int {
	shape := [3][3]int{{256, 1, 1}, {32, 8, 1}, {32, 4, 2}}[r.Dims-1]
	if k.HostCores {
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
		if limit := k.MaxItems[d]; limit > 0 {
			shape[d] = min(shape[d], limit)
		}
	}
	if k.Uses&(SeesLocal|SeesCut) != 0 {
		return k.dividing(r, shape, most, part)
	}
	if k.HostCores && k.Row > shape[0] {
		shape[0] = min(k.Row, most)
		if limit := k.MaxItems[0]; limit > 0 {
			shape[0] = min(shape[0], limit)
		}
	}
	for d := range 3 {
		for shape[d] > r.Size[d] {
			shape[d] /= 2
		}
	}
	// A small range is better spread over the compute units than gathered in
	// one group. Of a part it is the whole range that counts: the parts of a
	// launch are not compiled again each for a local size of its own.
	all := r.Size
	if part {
		all = r.Whole
	}
	enough := 4 * max(k.Units, 1)
	for shape[0] > 8 && all[0]/shape[0]*(all[1]/shape[1])*(all[2]/shape[2]) < enough {
		shape[0] /= 2
	}
	return shape
}

// dividing finds a local size near shape that divides r in every dimension.
func (k *Rules) dividing(r devices.NDRange, shape [3]int, most int, part bool) [3]int {
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
			if m := k.MaxItems[0]; m > 0 {
				limit = min(limit, m)
			}
			if whole := largestDivisor(n, limit); whole >= fair {
				return [3]int{whole, 1, 1}
			}
			if !k.Sealed && !part {
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
