package devices

// A Launch runs a kernel over an ND-range, every work-item exactly once. The
// local size need not divide the global size: the driver sees to the rest, or
// refuses with ErrInvalid (a kernel with a fixed group size) and names kernel,
// global and local size.
type Launch struct {
	Kernel Kernel
	Range  NDRange
	Args   []Arg
}

// NDRange is an index space of one to three dimensions; dimension 0 varies
// fastest (x in a picture). Unused dimensions are 0 or 1. A Size of 0 in a used
// dimension is an empty range: legal, and no work-item runs.
type NDRange struct {
	Dims   int
	Size   [3]int // work-items of this launch
	Offset [3]int // id of its first work-item
	Local  [3]int // work-group size; 0: the driver chooses
	// Whole is the ND-range of which this launch is a part, as the work-items
	// see it: get_global_size and group ids follow from it. Zero: Size, and
	// the launch is not a part.
	Whole [3]int
}

// Items is the number of work-items.
func (r NDRange) Items() int64 {
	n := int64(1)
	for d := range r.Dims {
		n *= int64(r.Size[d])
	}
	return n
}

// Norm returns r with unused dimensions set to 1 (sizes) and 0 (offsets), and
// Whole filled in.
func (r NDRange) Norm() NDRange {
	for d := range 3 {
		if d >= r.Dims {
			r.Size[d], r.Offset[d], r.Local[d] = 1, 0, min(r.Local[d], 1)
			if r.Dims > 0 && r.Local[0] > 0 {
				r.Local[d] = 1
			}
		}
	}
	if r.Whole == [3]int{} {
		r.Whole = r.Size
	}
	for d := r.Dims; d < 3; d++ {
		r.Whole[d] = 1
	}
	return r
}

// Arg is one kernel argument: a buffer of the launch's device, a value given
// as the bytes the kernel's parameter takes, or an amount of local memory.
// All three unset is a null pointer (an array of length 0).
type Arg struct {
	Buffer     Buffer
	Value      []byte
	LocalBytes int64
}

// CopyKind says between what a Copy copies.
type CopyKind uint8

// The kinds of copies. The two Sync kinds belong to buffers made by
// HostMapper.ImportHost: no byte moves, but what one side wrote is visible to
// the other once the event is done.
const (
	HostToDevice CopyKind = iota
	DeviceToHost
	DeviceToDevice // both buffers on the queue's device
	SyncToDevice
	SyncToHost
)

func (k CopyKind) String() string {
	return [...]string{"h2d", "d2h", "d2d", "sync-to-device", "sync-to-host"}[k]
}

// A Copy moves Size bytes. A range outside a buffer or the host slice is
// ErrInvalid, and so are overlapping ranges of one buffer.
type Copy struct {
	Kind      CopyKind
	Dst       Buffer // HostToDevice, DeviceToDevice, Sync*
	DstOffset int64
	Src       Buffer // DeviceToHost, DeviceToDevice
	SrcOffset int64
	// Host is the host's side, read or written from its first byte. It is
	// memory outside the Go heap (package hostmem), or heap memory that the
	// caller keeps pinned until the event is done.
	Host []byte
	Size int64
}
