package cuda

import (
	"fmt"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/ragged"
	"github.com/tandemrun/tandem/kernels/bridge"
)

// Launch implements devices.Queue.
func (q *queue) Launch(l *devices.Launch, wait []devices.Event) (devices.Event, error) {
	k, ok := l.Kernel.(*kernel)
	switch {
	case !ok || k == nil:
		return nil, fmt.Errorf("%v: launch: there is no kernel of this driver: %w", q, devices.ErrInvalid)
	case k.d != q.d:
		return nil, fmt.Errorf("%v: launch: kernel %q is one of %s: %w", q, k.entry, k.d.info.ID, devices.ErrInvalid)
	case k.closed:
		return nil, fmt.Errorf("%v: launch: kernel %q is closed: %w", q, k.entry, devices.ErrClosed)
	}
	dynamic, err := k.ready(l)
	if err != nil {
		return nil, err
	}
	e, run, err := q.begin(wait, command{kernel: k.entry, nd: l.Range})
	if err != nil {
		return nil, err
	}
	if !run {
		return e, nil
	}
	if err := q.issue(k, l, dynamic, q.stream); err != nil {
		return nil, q.withdraw(e, err)
	}
	return q.finish(e)
}

// ready checks a launch and makes what it needs. dynamic is the dynamic shared
// memory that it needs.
func (k *kernel) ready(l *devices.Launch) (dynamic int64, err error) {
	if dynamic, err = k.checkArgs(l.Args); err != nil {
		return 0, err
	}
	if err := k.lay(l.Range); err != nil {
		return 0, err
	}
	return dynamic, k.prepare(l.Range, dynamic)
}

// prepare makes what a launch with the layout of k needs before it is
// enqueued: the variant with a window, the permission to use much shared
// memory.
func (k *kernel) prepare(r devices.NDRange, dynamic int64) error {
	if k.layout.N == 0 || dynamic <= k.dynamic && (k.ranged || k.variant != 0 || !k.windowed(r)) {
		return nil
	}
	if err := k.d.enter(); err != nil {
		return err
	}
	defer k.d.leave()
	if !k.ranged && k.windowed(r) && k.variant == 0 {
		if err := k.makeVariant(r); err != nil {
			return err
		}
		k.dynamic = min(k.dynamic, max(int64(k.d.traits.sharedStatic)-k.info.LocalBytes, 0))
	}
	if dynamic > k.dynamic {
		for _, f := range []uintptr{k.function, k.variant} {
			if f == 0 {
				continue
			}
			if code := k.d.api.call(k.d.api.funcSetAttribute, f, funcMaxDynamic, uintptr(dynamic)); code != success {
				return fmt.Errorf("kernel %q: %w", k.entry, k.d.fail(code, "cuFuncSetAttribute(%d bytes of dynamic shared memory)", dynamic))
			}
		}
		k.dynamic = dynamic
	}
	return nil
}

// windowed reports whether a launch over r with the layout of k needs the
// variant.
func (k *kernel) windowed(r devices.NDRange) bool {
	b := &k.layout.Boxes[0]
	for d := range 3 {
		if b.Size[d]%b.Local[d] != 0 || b.Offset[d] != 0 {
			return true
		}
	}
	n := r.Norm()
	return n.Whole != n.Size
}

// makeVariant loads the kernel with a window. The context is current.
func (k *kernel) makeVariant(r devices.NDRange) error {
	refused := func(why string) error {
		return fmt.Errorf("%s: kernel %q over %s: the launch is a part, begins at an offset, or its local size does not divide the range, and the kernel cannot be changed for that: %s; use a global size that is a multiple of the local size: %w",
			k.d.info.ID, k.entry, ragged.Extent(r), why, devices.ErrInvalid)
	}
	if k.p.ptx == nil {
		return refused("it is machine code")
	}
	if k.p.closed.Load() {
		return fmt.Errorf("%s: kernel %q: its program is closed and it has to be changed for a launch in parts: %w", k.d.info.ID, k.entry, devices.ErrClosed)
	}
	fn, err := k.p.window(k.symbol)
	if err != nil {
		return refused(err.Error())
	}
	k.variant = fn
	return nil
}

// issue hands the driver the launches of the layout of k, on a stream. The
// queue is locked, the context current.
func (q *queue) issue(k *kernel, l *devices.Launch, dynamic int64, stream uintptr) error {
	if k.layout.N == 0 {
		return nil
	}
	count, extra, err := q.bind(k, l.Args)
	if err != nil {
		return err
	}
	if k.ranged {
		return q.ranged(k, l, count, extra, dynamic, stream)
	}
	return q.grid(k, l, count, extra, dynamic, stream)
}

// bind writes the arguments into the scratchpad. They have been checked. count
// is the number of parameters, extra the place for one that is hidden.
func (q *queue) bind(k *kernel, args []devices.Arg) (count int, extra unsafe.Pointer, err error) {
	pad := q.scratch
	base, used := unsafe.Pointer(&pad.values[0]), 0
	local := int64(0)
	for i := range args {
		a := &args[i]
		at := unsafe.Add(base, used)
		switch {
		case a.Buffer != nil:
			*(*uintptr)(at) = a.Buffer.(*buffer).address
			used += valueRoom(addressBytes)
		case a.Value != nil:
			copy(unsafe.Slice((*byte)(at), len(a.Value)), a.Value)
			used += valueRoom(len(a.Value))
		case a.LocalBytes != 0:
			if k.sharedArgs() {
				continue
			}
			local = alignUp(local, bridge.LocalAlign)
			*(*uint32)(at) = uint32(local)
			local += a.LocalBytes
			used += valueRoom(addressBytes)
		default:
			*(*uintptr)(at) = 0
			used += valueRoom(addressBytes)
		}
		pad.params[count] = uintptr(at)
		count++
	}
	return count, unsafe.Add(base, used), nil
}

// ranged launches a kernel in OpenCL C: a grid that covers the range, in several
// launches where it has more blocks than the device takes. The kernel's hidden
// parameter tells the threads where they are and which of them are too many.
func (q *queue) ranged(k *kernel, l *devices.Launch, count int, extra unsafe.Pointer, dynamic int64, stream uintptr) error {
	local := k.layout.Local
	whole := bridge.RangeOf(l.Range, local)
	blocks := whole.Blocks(local)
	block := [3]uint64{uint64(local[0]), uint64(local[1]), uint64(local[2])}
	q.scratch.params[count] = uintptr(extra)
	for z := uint64(0); z < blocks[2]; z += maxGridYZ {
		for y := uint64(0); y < blocks[1]; y += maxGridYZ {
			for x := uint64(0); x < blocks[0]; x += maxGridX {
				r := whole.From([3]uint64{x, y, z}, local)
				r.Put(unsafe.Slice((*byte)(extra), bridge.RangeBytes))
				grid := [3]uint64{min(blocks[0]-x, maxGridX), min(blocks[1]-y, maxGridYZ), min(blocks[2]-z, maxGridYZ)}
				if err := q.launch(k, k.function, grid, block, dynamic, stream); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// grid launches a kernel in CUDA C or PTX: one grid of whole blocks. Where that
// is more than the range, or another place of it, the variant with a window is
// launched, whose threads know.
func (q *queue) grid(k *kernel, l *devices.Launch, count int, extra unsafe.Pointer, dynamic int64, stream uintptr) error {
	b, fn := &k.layout.Boxes[0], k.function
	var blocks [3]uint64
	for d := range 3 {
		blocks[d] = (b.Size[d] + b.Local[d] - 1) / b.Local[d]
	}
	if k.windowed(l.Range) {
		fn = k.variant
		w := (*window)(extra)
		n := l.Range.Norm()
		for d := range 3 {
			if b.Offset[d]%b.Local[d] != 0 {
				return q.offGrid(k, l.Range, d, b)
			}
			whole := uint64(n.Whole[d])
			end := b.Offset[d] + b.Size[d]
			if n.Whole == n.Size {
				whole = max(whole, end) // an offset of the caller's own: CUDA has no such thing, the grid begins before it
			}
			if end+b.Local[d] > 1<<32 {
				return q.tooLarge(k, l.Range, d, 1<<32-b.Local[d])
			}
			w.first[d] = uint32(b.Offset[d] / b.Local[d])
			w.blocks[d] = uint32((whole + b.Local[d] - 1) / b.Local[d])
			w.end[d] = uint32(end)
		}
		q.scratch.params[count] = uintptr(extra)
	}
	for d := range 3 {
		if most := gridLimit(d); blocks[d] > most {
			return q.tooLarge(k, l.Range, d, most*b.Local[d])
		}
	}
	return q.launch(k, fn, blocks, b.Local, dynamic, stream)
}

func gridLimit(d int) uint64 {
	if d == 0 {
		return maxGridX
	}
	return maxGridYZ
}

// offGrid and tooLarge are apart, for what they print to be copied on failure
// alone.
func (q *queue) offGrid(k *kernel, r devices.NDRange, d int, b *ragged.Box) error {
	offset, local := b.Offset[d], b.Local[d]
	return fmt.Errorf("kernel %q over %s: dimension %d: the offset %d is no multiple of the local size %d, and a kernel in CUDA C takes its place from its block's number: %w",
		k.entry, ragged.Extent(r), d, offset, local, devices.ErrInvalid)
}

func (q *queue) tooLarge(k *kernel, r devices.NDRange, d int, most uint64) error {
	return fmt.Errorf("kernel %q over %s: dimension %d: with this local size the device takes at most %d work-items: %w",
		k.entry, ragged.Extent(r), d, most, devices.ErrInvalid)
}

// launch hands one grid to the driver.
func (q *queue) launch(k *kernel, fn uintptr, blocks, local [3]uint64, dynamic int64, stream uintptr) error {
	q.args = [12]uintptr{
		fn, uintptr(blocks[0]), uintptr(blocks[1]), uintptr(blocks[2]), uintptr(local[0]), uintptr(local[1]), uintptr(local[2]),
		uintptr(dynamic), stream, uintptr(unsafe.Pointer(&q.scratch.params[0])), 0,
	}
	if code := int32(dl.CallArgs(q.d.api.launchKernel, q.args[:11])); code != success {
		return q.launchFailed(k, code, blocks, local, dynamic)
	}
	return nil
}

func (q *queue) launchFailed(k *kernel, code int32, blocks, local [3]uint64, dynamic int64) error {
	b, l := blocks, local
	return q.d.fail(code, "cuLaunchKernel(%s, %v blocks of %v, %d bytes of shared memory)", k.entry, b, l, dynamic)
}
