package devicetest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tandemrun/tandem/devices"
)

func copyCases() []testCase {
	return []testCase{
		{"copy-round-trip", "a copy moves exactly the bytes it was told, also at odd places", copyRoundTrip},
		{"copy-device", "copies inside the device are exact too, between buffers and within one", copyDevice},
		{"copy-overlap", "what an overlapping copy does differs from device to device", copyOverlap},
		{"copy-out-of-range", "a copy beside the end silently damages other data", copyOutOfRange},
		{"copy-foreign", "memory of another device must not be reached by accident", copyForeign},
	}
}

func randomBytes(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func copyRoundTrip(e *env) {
	rng, seed := e.random()
	const size = 3<<20 + 77
	b := e.alloc(size)
	image := randomBytes(rng, size)
	q := e.queue(devices.Upload)
	e.write(q, b, 0, image)
	for _, r := range [][2]int{{0, 1}, {1, 1}, {3, 5}, {63, 65}, {4095, 4099}, {1, 1<<20 + 1}, {size - 1, 1}, {size - 1000, 1000}, {17, 0}, {size, 0}} {
		at, n := r[0], r[1]
		part := randomBytes(rng, n)
		copy(image[at:], part)
		e.write(q, b, int64(at), part)
		// Read with some bytes around it: the neighbours must not change.
		lo, hi := max(0, at-3), min(size, at+n+3)
		got := e.read(q, b, int64(lo), int64(hi-lo))
		if !bytes.Equal(got, image[lo:hi]) {
			e.fatalf("after writing %d bytes at %d, byte %d differs (seed %d)", n, at, lo+firstDifference(got, image[lo:hi]), seed)
		}
	}
	if got := e.read(e.queue(devices.Download), b, 0, size); !bytes.Equal(got, image) {
		e.fatalf("byte %d of the whole buffer differs (seed %d)", firstDifference(got, image), seed)
	}
	// More host memory than Size: only Size bytes of it are touched.
	m := e.host(16)
	copy(m, "0123456789abcdef")
	e.finish(e.keep(q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, SrcOffset: 5, Host: m, Size: 4}, nil)))
	if want := string(image[5:9]) + "456789abcdef"; string(m) != want {
		e.fatalf("a copy of 4 bytes into 16 gave %q, want %q (seed %d)", m, want, seed)
	}
}

func copyDevice(e *env) {
	rng, seed := e.random()
	const size = 1<<20 + 13
	a, b, q := e.alloc(size), e.alloc(size), e.compute()
	imageA, imageB := randomBytes(rng, size), randomBytes(rng, size)
	e.write(q, a, 0, imageA)
	e.write(q, b, 0, imageB)
	for _, r := range [][3]int{{0, 0, size}, {1, 3, 1001}, {size - 7, 0, 7}, {5, 5, 0}} {
		from, to, n := r[0], r[1], r[2]
		copy(imageB[to:to+n], imageA[from:from+n])
		e.finish(e.keep(q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: a, SrcOffset: int64(from), Dst: b, DstOffset: int64(to), Size: int64(n)}, nil)))
		if got := e.read(q, b, 0, size); !bytes.Equal(got, imageB) {
			e.fatalf("after copying %d bytes from %d to %d, byte %d differs (seed %d)", n, from, to, firstDifference(got, imageB), seed)
		}
	}
	// Within one buffer, up to the byte beside each other.
	copy(imageA[500:1000], imageA[0:500])
	e.finish(e.keep(q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: a, Dst: a, DstOffset: 500, Size: 500}, nil)))
	if got := e.read(q, a, 0, size); !bytes.Equal(got, imageA) {
		e.fatalf("after copying within a buffer, byte %d differs (seed %d)", firstDifference(got, imageA), seed)
	}
}

// refused wants an enqueueing call to be refused as invalid.
func (e *env) refused(what string, words ...string) func(ev devices.Event, err error) {
	return func(ev devices.Event, err error) {
		if err == nil {
			e.keep(ev, nil)
		}
		e.wantErr(err, devices.ErrInvalid, what, append(words, e.id())...)
		if ev != nil {
			e.fatalf("%s: an event and an error", what)
		}
	}
}

func copyOverlap(e *env) {
	q, b := e.compute(), e.alloc(100)
	data := bytes.Repeat([]byte("0123456789"), 10)
	e.write(q, b, 0, data)
	for _, r := range [][3]int64{{0, 1, 10}, {1, 0, 10}, {0, 0, 100}, {40, 49, 10}} {
		e.refused(fmt.Sprintf("copying %d bytes of a buffer from %d to %d", r[2], r[0], r[1]))(
			q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: b, SrcOffset: r[0], Dst: b, DstOffset: r[1], Size: r[2]}, nil))
	}
	if got := e.read(q, b, 0, 100); !bytes.Equal(got, data) {
		e.fatalf("a refused copy changed byte %d", firstDifference(got, data))
	}
}

func copyOutOfRange(e *env) {
	q, b, other, m := e.compute(), e.alloc(100), e.alloc(200), e.host(300)
	for _, r := range []struct{ at, size int64 }{
		{0, 101}, {100, 1}, {1, 100}, {-1, 10}, {0, -1}, {math.MaxInt64, 1}, {math.MaxInt64 - 5, 10}, {50, math.MaxInt64},
	} {
		what := fmt.Sprintf("%d bytes at %d of a buffer of 100", r.size, r.at)
		e.refused("upload of " + what)(q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, DstOffset: r.at, Host: m, Size: r.size}, nil))
		e.refused("download of " + what)(q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, SrcOffset: r.at, Host: m, Size: r.size}, nil))
		e.refused("copy from " + what)(q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: b, SrcOffset: r.at, Dst: other, Size: r.size}, nil))
		e.refused("copy to " + what)(q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: other, Dst: b, DstOffset: r.at, Size: r.size}, nil))
	}
	e.refused("upload of 20 bytes out of 10")(q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: m[:10], Size: 20}, nil))
	e.refused("download of 20 bytes into 10")(q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: m[:10], Size: 20}, nil))
	e.refused("upload to nowhere")(q.Copy(&devices.Copy{Kind: devices.HostToDevice, Host: m, Size: 1}, nil))
	e.refused("download from nowhere")(q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Host: m, Size: 1}, nil))
	roundTrip(e, 100)
}

func copyForeign(e *env) {
	foreign := e.allocOn(e.another(), 100)
	q, b, m := e.compute(), e.alloc(100), e.host(100)
	e.refused("upload to a buffer of another device")(q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: foreign, Host: m, Size: 1}, nil))
	e.refused("download of a buffer of another device")(q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: foreign, Host: m, Size: 1}, nil))
	if p, ok := devices.As[devices.PeerCopier](e.device()); ok && p.CanCopyFrom(e.devs[0]) {
		return
	}
	e.refused("copy from a buffer of another device")(q.Copy(&devices.Copy{Kind: devices.DeviceToDevice, Src: foreign, Dst: b, Size: 1}, nil))
}
