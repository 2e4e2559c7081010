package arrayfile_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// resident is how many bytes of mem the kernel has pages for.
func resident(t *testing.T, mem []byte) int64 {
	t.Helper()
	page := hostmem.PageSize()
	pages := make([]byte, (len(mem)+page-1)/page)
	var n int64
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mem[0])), uintptr(len(pages)*page), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for _, p := range pages {
		n += int64(p & 1)
	}
	return n * int64(page)
}

// TestSparse reads files of more than 4 GiB, of which all but a few bytes are
// holes: what is there is right, and only pages with data take memory.
func TestSparse(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	const elements = 5<<30/8 + 3 // 5 GiB and 24 bytes
	for _, c := range []struct {
		name, header string
		order        binary.AppendByteOrder
	}{
		{"a.raw", "", binary.NativeEndian},
		{"a.npy", "<", binary.LittleEndian},
		{"b.npy", ">", binary.BigEndian},
	} {
		t.Run(c.name+c.header, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.name)
			header := []byte{}
			if c.header != "" {
				text := []byte("{'descr': '" + c.header + "u8', 'fortran_order': False, 'shape': (671088643,), }")
				for (10+len(text)+1)%16 != 0 {
					text = append(text, ' ')
				}
				text = append(text, '\n')
				header = binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
				header = append(header, text...)
			}
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(header, 0); err != nil {
				t.Fatal(err)
			}
			if err := f.Truncate(int64(len(header)) + 8*elements); err != nil {
				t.Fatal(err)
			}
			want := map[int64]uint64{}
			for _, at := range []int64{0, 1, 4<<30/8 - 1, 4 << 30 / 8, elements - 1, rng.Int64N(elements), rng.Int64N(elements)} {
				v := rng.Uint64()
				want[at] = v
				if _, err := f.WriteAt(c.order.AppendUint64(nil, v), int64(len(header))+8*at); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			var mem []byte
			o := arrayfile.Options{DType: devices.Uint64, Shape: []int64{elements}, Zeroed: true}
			h, err := arrayfile.Read(path, o, func(h arrayfile.Header) ([]byte, error) {
				n, err := h.Bytes()
				if err == nil {
					mem, err = hostmem.Alloc(n)
				}
				return mem, err
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = hostmem.Free(mem) }()
			if h.DType != devices.Uint64 || h.Shape[0] != elements {
				t.Errorf("read %v", h)
			}
			if n := resident(t, mem); n < 4*int64(hostmem.PageSize()) || n > 1<<20 {
				t.Errorf("%d bytes of memory for %d values in a file of %d bytes, want a page or two for each", n, len(want), len(mem))
			}
			got := devices.View[uint64](mem)
			for at, v := range want {
				if got[at] != v {
					t.Errorf("element %d is %#x, want %#x", at, got[at], v)
				}
			}
			for range 1000 { // and zeros elsewhere
				if at := rng.Int64N(elements); got[at] != want[at] {
					t.Errorf("element %d is %#x, want %#x", at, got[at], want[at])
				}
			}
		})
	}
}
