package opencl

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
)

// open opens a device that is closed when the test ends; then nothing made
// from it may be left.
func open(t testing.TB, ordinal int) *device {
	t.Helper()
	return openWith(t, need(t), ordinal)
}

func openWith(t testing.TB, driver *Driver, ordinal int) *device {
	t.Helper()
	d, err := driver.Open(context.Background(), ordinal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d.(*device)
}

func newQueue(t testing.TB, d devices.Device) *queue {
	t.Helper()
	q, err := d.NewQueue(devices.Compute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Errorf("Queue.Close: %v", err)
		}
	})
	return q.(*queue)
}

func alloc(t testing.TB, d devices.Device, size int64) devices.Buffer {
	t.Helper()
	b, err := d.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Free(); err != nil {
			t.Errorf("Free: %v", err)
		}
	})
	return b
}

func compile(t testing.TB, d devices.Device, text string, options ...string) *program {
	t.Helper()
	p, err := d.Compile(context.Background(), &devices.Source{Name: "test.cl", Language: devices.LangOpenCL, Text: []byte(text), Options: options})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Program.Close: %v", err)
		}
	})
	return p.(*program)
}

func kernelOf(t testing.TB, p devices.Program, entry string) *kernel {
	t.Helper()
	k, err := p.Kernel(entry)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Errorf("Kernel.Close: %v", err)
		}
	})
	return k.(*kernel)
}

// enqueue launches; the event is released when the test ends, before the
// queue is closed.
func enqueue(t testing.TB, q devices.Queue, l *devices.Launch, wait ...devices.Event) devices.Event {
	t.Helper()
	e, err := q.Launch(l, wait)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Release)
	return e
}

// launch launches and waits.
func launch(t testing.TB, q devices.Queue, l *devices.Launch) {
	t.Helper()
	e, err := q.Launch(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	if err := devices.Wait(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

func transfer(t testing.TB, q devices.Queue, c *devices.Copy) {
	t.Helper()
	e, err := q.Copy(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	if err := devices.Wait(context.Background(), e); err != nil {
		t.Fatal(err)
	}
}

func upload(t testing.TB, q devices.Queue, b devices.Buffer, data []byte) {
	t.Helper()
	m := host(t, int64(len(data)))
	copy(m, data)
	transfer(t, q, &devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: m, Size: int64(len(data))})
}

func download(t testing.TB, q devices.Queue, b devices.Buffer) []byte {
	t.Helper()
	m := host(t, b.Size())
	transfer(t, q, &devices.Copy{Kind: devices.DeviceToHost, Src: b, Host: m, Size: b.Size()})
	return append([]byte(nil), m...)
}

func host(t testing.TB, size int64) []byte {
	t.Helper()
	m, err := hostmem.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hostmem.Free(m) })
	return m
}

func i32(v int32) devices.Arg {
	return devices.Arg{Value: binary.NativeEndian.AppendUint32(nil, uint32(v))}
}

// told hands a completion to a test.
type told chan error

func (c told) Complete(err error) { c <- err }

// ints views bytes as 32-bit numbers.
func ints(b []byte) []int32 {
	out := make([]int32, len(b)/4)
	for i := range out {
		out[i] = int32(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return out
}
