package devicetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

func memoryCases() []testCase {
	return []testCase{
		{"alloc-zero", "an empty array in the middle of a pipeline is normal", allocZero},
		{"alloc-all", "working sets larger than the device start with filling it", allocAll},
		{"alloc-refused", "out of memory is answered by evicting, which needs the device to be usable after it", allocRefused},
		{"free-twice", "clean-up code runs on error paths too, where things are freed already", freeTwice},
		{"import-host", "a device that shares the host's memory must not copy it", importHost},
		{"pinned", "what travels while the device computes lies in pinned memory", pinnedMemory},
		{"pinned-refused", "pinned memory is scarce, and to be refused it must cost nothing", pinnedRefused},
	}
}

func allocZero(e *env) {
	q, empty := e.compute(), e.alloc(0)
	for _, c := range []devices.Copy{
		{Kind: devices.HostToDevice, Dst: empty},
		{Kind: devices.DeviceToHost, Src: empty},
		{Kind: devices.DeviceToDevice, Dst: empty, Src: e.alloc(0)},
	} {
		e.finish(e.keep(q.Copy(&c, nil)))
	}
	e.finish(e.launch(q, e.kernel("fill"), line(0), nil, buf(empty), num(uint8(1))))
	// A kernel that does not touch it takes it as any other argument.
	out := e.alloc(4)
	e.finish(e.launch(q, e.kernel("nulls"), line(1), nil, buf(empty), buf(out), buf(out)))
}

func allocAll(e *env) {
	d := e.device()
	info := d.Info()
	total := info.MemoryTotal
	if info.MemoryFree > 0 {
		total = info.MemoryFree
	}
	if e.o.MaxAlloc > 0 {
		total = min(total, e.o.MaxAlloc)
	}
	part := max(min(info.MaxAlloc, total/8), 1)
	var taken []devices.Buffer
	var sum int64
	for sum+part <= total {
		b, err := d.Alloc(part)
		if err != nil {
			e.wantErr(err, devices.ErrOutOfMemory, fmt.Sprintf("Alloc(%d) with %d taken", part, sum), info.ID, fmt.Sprint(part))
			break
		}
		taken = append(taken, b)
		sum += part
	}
	if sum < total/4 {
		e.fatalf("the device says it has %d bytes free but gave only %d", total, sum)
	}
	for _, b := range taken {
		e.must(b.Free(), "Free")
	}
	b, err := d.Alloc(part)
	e.must(err, "Alloc(%d) after everything was freed", part)
	e.must(b.Free(), "Free")
	roundTrip(e, 4096)
}

// roundTrip shows that the device works.
func roundTrip(e *env, n int) {
	rng, seed := e.random()
	q, b, data := e.compute(), e.alloc(int64(n)), randomBytes(rng, n)
	e.write(q, b, 0, data)
	if got := e.read(q, b, 0, int64(n)); !bytes.Equal(got, data) {
		e.fatalf("%d bytes came back changed, the first at %d (seed %d)", n, firstDifference(got, data), seed)
	}
}

func allocRefused(e *env) {
	d := e.device()
	info := d.Info()
	for _, size := range []int64{info.MaxAlloc + 1, math.MaxInt64 / 2, math.MaxInt64} {
		if size <= 0 || size <= info.MaxAlloc {
			continue // the device knows no limit
		}
		b, err := d.Alloc(size)
		if err == nil {
			_ = b.Free()
			e.fatalf("Alloc(%d) worked on a device whose largest buffer is %d", size, info.MaxAlloc)
		}
		e.wantErr(err, devices.ErrOutOfMemory, fmt.Sprintf("Alloc(%d)", size), info.ID, fmt.Sprint(size))
	}
	_, err := d.Alloc(-1)
	e.wantErr(err, devices.ErrInvalid, "Alloc(-1)", info.ID, "-1")
	roundTrip(e, 4096)
}

func freeTwice(e *env) {
	b := e.alloc(100)
	e.must(b.Free(), "first Free")
	other := e.alloc(100) // may get the same memory
	q := e.compute()
	e.write(q, other, 0, bytes.Repeat([]byte{7}, 100))
	e.must(b.Free(), "second Free")
	if got := e.read(q, other, 0, 100); !bytes.Equal(got, bytes.Repeat([]byte{7}, 100)) {
		e.fatalf("freeing one buffer twice damaged another one: %v", got)
	}
}

func importHost(e *env) {
	m, ok := devices.As[devices.HostMapper](e.device())
	if !ok {
		e.skipf("%s does not map host memory", e.id())
	}
	const n = 1 << 16
	mem := e.host(4 * n)
	b, err := m.ImportHost(mem)
	if errors.Is(err, devices.ErrUnsupported) {
		e.wantErr(err, devices.ErrUnsupported, "ImportHost", e.id())
		e.skipf("%v", err)
	}
	e.must(err, "ImportHost")
	e.buffers = append(e.buffers, b)
	if b.Size() != int64(len(mem)) {
		e.fatalf("ImportHost of %d bytes made a buffer of Size %d", len(mem), b.Size())
	}
	host := devices.View[uint32](mem)
	q, up, down := e.compute(), e.queue(devices.Upload), e.queue(devices.Download)
	k := e.kernel("mad_u32")
	for round := range uint32(3) {
		for i := range host {
			host[i] = uint32(i) + round
		}
		ready := e.keep(up.Copy(&devices.Copy{Kind: devices.SyncToDevice, Dst: b, Size: int64(len(mem))}, nil))
		ran := e.launch(q, k, line(n), []devices.Event{ready}, buf(b), num(uint32(3)), num(uint32(5)))
		e.finish(e.keep(down.Copy(&devices.Copy{Kind: devices.SyncToHost, Dst: b, Size: int64(len(mem))}, []devices.Event{ran})))
		for i, v := range host {
			if want := (uint32(i)+round)*3 + 5; v != want {
				e.fatalf("round %d: host memory holds %d at %d after the launch, want %d", round, v, i, want)
			}
		}
	}
	// Ordinary copies take it too.
	want := slices.Clone(host[100:200])
	if got := devices.View[uint32](e.read(q, b, 400, 400)); !slices.Equal(got, want) {
		e.fatalf("copying out of imported memory gave %v, want %v", got, want)
	}
	e.must(b.Free(), "Free")
	if !slices.Equal(host[100:200], want) {
		e.fatalf("freeing an imported buffer changed the host's memory")
	}
}

// pinner is the device's ability and a first allocation of it, or skips.
func (e *env) pinner(size int64) (devices.HostPinner, devices.Pinned) {
	p, ok := devices.As[devices.HostPinner](e.device())
	if !ok {
		e.skipf("%s pins no host memory", e.id())
	}
	mem, err := p.AllocPinned(size)
	if errors.Is(err, devices.ErrUnsupported) || errors.Is(err, devices.ErrOutOfMemory) {
		e.skipf("%v", err)
	}
	e.must(err, "AllocPinned(%d)", size)
	return p, mem
}

func pinnedMemory(e *env) {
	rng, seed := e.random()
	const n = 300_001
	p, first := e.pinner(n)
	second, err := p.AllocPinned(1)
	e.must(err, "AllocPinned(1) beside another of %d", n)
	mem := first.Bytes()
	if len(mem) != n || len(second.Bytes()) != 1 {
		e.fatalf("AllocPinned(%d) gave %d bytes, AllocPinned(1) gave %d", n, len(mem), len(second.Bytes()))
	}
	for _, m := range []devices.Pinned{first, second} {
		if at := uintptr(unsafe.Pointer(&m.Bytes()[0])); at%64 != 0 {
			e.fatalf("pinned memory at %#x is not aligned to 64 bytes", at)
		}
	}
	b, up, down := e.alloc(n), e.queue(devices.Upload), e.queue(devices.Download)
	for range 3 {
		want := randomBytes(rng, n)
		copy(mem, want)
		second.Bytes()[0] = want[0]
		lo := int64(rng.IntN(n / 2)) // from the middle of it, at any offset
		sent := e.keep(up.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, DstOffset: lo, Host: mem[lo:], Size: n - lo}, nil))
		rest := e.keep(up.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: mem, Size: lo}, nil))
		alone := e.keep(up.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: second.Bytes(), Size: 1}, []devices.Event{rest}))
		e.finish(sent)
		e.finish(alone)
		clear(mem)
		e.finish(e.keep(down.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: mem, Size: n}, []devices.Event{sent, alone})))
		if !bytes.Equal(mem, want) {
			e.fatalf("by way of pinned memory byte %d of %d came back changed (seed %d)", firstDifference(mem, want), n, seed)
		}
	}
	for range 2 {
		e.must(first.Free(), "Free of pinned memory")
		e.must(second.Free(), "Free of pinned memory")
	}
}

func pinnedRefused(e *env) {
	p, mem := e.pinner(1)
	e.must(mem.Free(), "Free of pinned memory")
	for _, size := range []int64{0, -1} {
		_, err := p.AllocPinned(size)
		e.wantErr(err, devices.ErrInvalid, fmt.Sprintf("AllocPinned(%d)", size), e.id(), fmt.Sprint(size))
	}
	huge, err := p.AllocPinned(math.MaxInt64 / 2)
	if err == nil {
		_ = huge.Free()
		e.fatalf("AllocPinned(%d) worked", int64(math.MaxInt64/2))
	}
	e.wantErr(err, devices.ErrOutOfMemory, fmt.Sprintf("AllocPinned(%d)", int64(math.MaxInt64/2)), e.id(), fmt.Sprint(int64(math.MaxInt64/2)))
	roundTrip(e, 4096)
	// What is not freed is reported when the device is closed.
	d := e.another()
	q, ok := devices.As[devices.HostPinner](d)
	if !ok {
		e.fatalf("%s pins host memory when opened once, not when opened twice", e.id())
	}
	if _, err := q.AllocPinned(4096); err != nil {
		e.must(err, "AllocPinned(4096) on a second device")
	}
	var leak *devices.LeakError
	if err := d.Close(); !errors.As(err, &leak) || leak.Open["buffer"] != 1 {
		e.fatalf("closing a device with pinned memory left: %v, want a *LeakError with one buffer", err)
	}
}
