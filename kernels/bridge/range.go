package bridge

import (
	"encoding/binary"

	"github.com/tandemrun/tandem/devices"
)

// Range is the hidden last parameter of a kernel: what its work-items are told
// of their place. Dimensions that are not used have First, Offset, Group 0 and
// Size, Whole, Groups 1.
type Range struct {
	First  [3]uint64 // global id of thread 0 of block 0
	Size   [3]uint64 // work-items of this launch, from First; threads beyond leave
	Whole  [3]uint64 // get_global_size
	Offset [3]uint64 // get_global_offset
	Group  [3]uint64 // get_group_id of thread 0 of block 0
	Groups [3]uint64 // get_num_groups
	Skew   [3]uint32 // place of First within its group; 0 unless a part cuts a group
	Dims   uint32    // get_work_dim
}

// RangeBytes is the size of a Range as a kernel takes it. Its alignment is 8.
const RangeBytes = 6*3*8 + 4*4

// RangeOf describes a launch of nd in blocks of the given local size. Where nd
// is a part of a larger range (nd.Whole), the work-items see that one: group
// ids count from its beginning. Every local size is at least 1.
func RangeOf(nd devices.NDRange, local [3]int) Range {
	part := nd.Whole != [3]int{}
	n := nd.Norm()
	r := Range{Dims: uint32(max(nd.Dims, 1))}
	for d := range 3 {
		first, whole, l := uint64(n.Offset[d]), uint64(n.Whole[d]), uint64(local[d])
		r.First[d], r.Size[d], r.Whole[d] = first, uint64(n.Size[d]), whole
		r.Groups[d] = (whole + l - 1) / l
		if part {
			r.Group[d], r.Skew[d] = first/l, uint32(first%l)
		} else {
			r.Offset[d] = first
		}
	}
	return r
}

// Blocks is the size of the grid that covers the range.
func (r *Range) Blocks(local [3]int) [3]uint64 {
	var grid [3]uint64
	for d := range 3 {
		l := uint64(local[d])
		grid[d] = (r.Size[d] + l - 1) / l
	}
	return grid
}

// From is the range of a launch that begins at the given block of this one.
func (r Range) From(block [3]uint64, local [3]int) Range {
	for d := range 3 {
		r.First[d] += block[d] * uint64(local[d])
		r.Size[d] -= block[d] * uint64(local[d])
		r.Group[d] += block[d]
	}
	return r
}

// Put writes the range as the kernel takes it into b, which has at least
// RangeBytes. It does not allocate.
func (r *Range) Put(b []byte) {
	_ = b[RangeBytes-1]
	at := 0
	for _, v := range [...]*[3]uint64{&r.First, &r.Size, &r.Whole, &r.Offset, &r.Group, &r.Groups} {
		for _, n := range v {
			binary.LittleEndian.PutUint64(b[at:], n)
			at += 8
		}
	}
	for _, n := range r.Skew {
		binary.LittleEndian.PutUint32(b[at:], n)
		at += 4
	}
	binary.LittleEndian.PutUint32(b[at:], r.Dims)
}

// LocalAlign is the alignment of each local argument: that of the largest type
// of OpenCL C.
const LocalAlign = 128

// LocalOffsets lays local arguments of the given sizes in bytes out one behind
// the other: into offsets, which is as long. The sum is the size of the dynamic
// shared memory.
func LocalOffsets(sizes []int64, offsets []uint32) (sum int64) {
	for i, n := range sizes {
		sum = (sum + LocalAlign - 1) / LocalAlign * LocalAlign
		offsets[i] = uint32(sum)
		sum += n
	}
	return sum
}
