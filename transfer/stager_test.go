package transfer_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fault"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/sim"
	"github.com/tandemrun/tandem/transfer"
)

// link takes 10 us for the latency and 1 us for each KiB, so that chunks have
// 512 KiB.
var link = devices.Link{Latency: 10 * time.Microsecond, Bandwidth: 1024e6}

const chunk = 512 << 10

// card is a described device with memory of its own that copies four times as
// fast from pinned memory.
func card(t *testing.T, pinned int64) devices.Device {
	t.Helper()
	d, err := sim.New(sim.Description{Devices: []sim.Spec{{Upload: link, Download: link, CopyEngines: 2, Pinned: pinned, Pageable: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := d.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// stager makes one that holds the device's clock while it is busy.
func stager(t *testing.T, d devices.Device, unpinned func(error)) *transfer.Stager {
	t.Helper()
	clock, _ := devices.As[devices.Clocked](d)
	s, err := transfer.NewStager(d, transfer.StagerOptions{Upload: link, Download: link, Unpinned: unpinned, Busy: func(n int) {
		if n > 0 {
			clock.Hold()
		} else {
			clock.Release()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// move runs one job and waits for it.
func move(s *transfer.Stager, c devices.Copy) transfer.Staged {
	done := make(chan transfer.Staged)
	s.Start(&transfer.Job{Copy: c, Done: func(r transfer.Staged) { done <- r }})
	return <-done
}

func host(t *testing.T, n int) []byte {
	t.Helper()
	mem, err := hostmem.Alloc(int64(n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hostmem.Free(mem); err != nil {
			t.Error(err)
		}
	})
	return mem
}

func alloc(t *testing.T, d devices.Device, n int64) devices.Buffer {
	t.Helper()
	b, err := d.Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Free(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// TestStagedRoundTrip moves random parts of a buffer back and forth, several at
// once, with pinned memory for chunks of the best size, for smaller ones and for
// none at all.
func TestStagedRoundTrip(t *testing.T) {
	rng := random(t)
	const size = 3*chunk + 12345
	for name, pinned := range map[string]int64{"plenty": 1 << 30, "little": 300 << 10, "least": 2 * 64 << 10, "none": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			d := card(t, pinned)
			var mu sync.Mutex
			var reasons []error
			s := stager(t, d, func(err error) {
				mu.Lock()
				reasons = append(reasons, err)
				mu.Unlock()
			})
			b, mem, model := alloc(t, d, size), host(t, size), make([]byte, size)
			if r := move(s, devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: mem, Size: size}); r.Err != nil {
				t.Fatal(r.Err)
			}
			for range 8 {
				var jobs sync.WaitGroup
				for part := range 4 { // of a quarter each
					lo := part*size/4 + rng.IntN(1000)
					hi := (part+1)*size/4 - rng.IntN(1000)
					for i := lo; i < hi; i++ {
						model[i] = byte(rng.Uint32())
					}
					copy(mem[lo:hi], model[lo:hi])
					jobs.Add(1)
					s.Start(&transfer.Job{Copy: devices.Copy{Kind: devices.HostToDevice, Dst: b, DstOffset: int64(lo), Host: mem[lo:hi], Size: int64(hi - lo)},
						Done: func(r transfer.Staged) {
							if r.Err != nil {
								t.Error(r.Err)
							}
							jobs.Done()
						}})
				}
				jobs.Wait()
				clear(mem)
				lo := rng.IntN(size / 2)
				hi := size - rng.IntN(size/2)
				r := move(s, devices.Copy{Kind: devices.DeviceToHost, Src: b, SrcOffset: int64(lo), Host: mem[lo:], Size: int64(hi - lo)})
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				if !bytes.Equal(mem[lo:hi], model[lo:hi]) {
					t.Fatalf("bytes %d to %d came back changed", lo, hi)
				}
				if got, want := r.Pinned, int64(hi-lo); pinned > 64<<10 && name != "least" && name != "little" && got != want {
					t.Errorf("%d bytes of %d went through pinned memory", got, want)
				}
				copy(mem, model)
			}
			mu.Lock()
			defer mu.Unlock()
			want := map[string]int{"plenty": 0, "little": 1, "least": 1, "none": 2}[name] // the upload lane took all there is
			if len(reasons) != want {
				t.Errorf("told %d times that there is no pinned memory, want %d: %v", len(reasons), want, reasons)
			}
			for _, err := range reasons {
				if !errors.Is(err, devices.ErrOutOfMemory) || !strings.Contains(err.Error(), "131072 bytes") {
					t.Errorf("reason %v does not say what there was not enough of", err)
				}
			}
		})
	}
}

// TestStagedTimes holds staging to what it is for: chunks follow each other
// without a gap, at the speed of pinned memory, and both directions at once.
func TestStagedTimes(t *testing.T) {
	const chunks = 16
	const size = chunks * chunk
	each := link.Time(chunk)
	d := card(t, 1<<30)
	clock, _ := devices.As[devices.Clocked](d)
	s := stager(t, d, nil)
	up, down, mem, other := alloc(t, d, size), alloc(t, d, size), host(t, size), host(t, size)
	var results [2]transfer.Staged
	var both sync.WaitGroup
	both.Add(2)
	began := clock.Now()
	clock.Hold()
	for i, c := range []devices.Copy{{Kind: devices.HostToDevice, Dst: up, Host: mem, Size: size}, {Kind: devices.DeviceToHost, Src: down, Host: other, Size: size}} {
		s.Start(&transfer.Job{Copy: c, Done: func(r transfer.Staged) { results[i] = r; both.Done() }})
	}
	clock.Release()
	both.Wait()
	for i, r := range results {
		if r.Err != nil || r.Pinned != size {
			t.Errorf("direction %d: %d bytes of %d through pinned memory, err %v", i, r.Pinned, size, r.Err)
		}
		if took := r.Times.Run(); took != chunks*each || r.Times.Start != began {
			t.Errorf("direction %d: took %v from %v on, want %v from %v on: %d chunks of %v", i, took, r.Times.Start, chunks*each, began, chunks, each)
		}
	}
	// The same without pinned memory.
	d = card(t, 1)
	s = stager(t, d, nil)
	b := alloc(t, d, size)
	r := move(s, devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: mem, Size: size})
	slow := devices.Link{Latency: link.Latency, Bandwidth: link.Bandwidth / 4}.Time(size)
	if r.Err != nil || r.Pinned != 0 || r.Times.Run() != slow {
		t.Errorf("without pinned memory: %v, %d bytes through it, err %v, want %v and 0", r.Times.Run(), r.Pinned, r.Err, slow)
	}
}

// TestStagedFailure has the third chunk fail, when it is handed over and later:
// the job fails with that error, nothing of the chunk or behind it reaches the
// host's memory, and the next job works.
func TestStagedFailure(t *testing.T) {
	for _, later := range []bool{false, true} {
		inner := card(t, 1<<30)
		d := fault.Wrap(inner, fault.Plan{Rules: []fault.Rule{{Op: fault.Copy, Name: "d2h", Nth: 3, Later: later, Err: devices.ErrDeviceLost}}})
		s := stager(t, d, nil)
		const size = 8 * chunk
		b, err := d.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Free() })
		mem := host(t, size)
		for i := range mem {
			mem[i] = 7
		}
		if r := move(s, devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: mem, Size: size}); r.Err != nil {
			t.Fatal(r.Err)
		}
		clear(mem)
		r := move(s, devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: mem, Size: size})
		if !errors.Is(r.Err, devices.ErrDeviceLost) {
			t.Fatalf("later=%v: err = %v, want the device lost", later, r.Err)
		}
		if n := bytes.Count(mem, []byte{7}); n != 2*chunk {
			t.Errorf("later=%v: %d bytes arrived, want the %d of two chunks", later, n, 2*chunk)
		}
		r = move(s, devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: mem, Size: size})
		if n := bytes.Count(mem, []byte{7}); r.Err != nil || n != size {
			t.Errorf("later=%v: the next copy brought %d bytes of %d, err %v", later, n, size, r.Err)
		}
	}
}

func TestStagerUnsupported(t *testing.T) {
	d := card(t, 0)
	s, err := transfer.NewStager(d, transfer.StagerOptions{})
	if !errors.Is(err, devices.ErrUnsupported) || s != nil {
		t.Errorf("a device that has no use for pinned memory: %v, want ErrUnsupported", err)
	}
}

func TestChunkBytes(t *testing.T) {
	for _, c := range []struct {
		latency   time.Duration
		bandwidth float64
		want      int64
	}{
		{0, 1e12, 64 << 10},
		{10 * time.Microsecond, 1024e6, 512 << 10},
		{10 * time.Microsecond, 6e9, 2 << 20},
		{time.Millisecond, 12e9, 4 << 20},
		{time.Hour, 1e18, 4 << 20},
	} {
		if got := transfer.ChunkBytes(devices.Link{Latency: c.latency, Bandwidth: c.bandwidth}); got != c.want {
			t.Errorf("latency %v, %g bytes/s: chunks of %d bytes, want %d", c.latency, c.bandwidth, got, c.want)
		}
	}
}
