package blas

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/devices/internal/dl"
)

// A frame is the memory of a call's scalar arguments, which the library takes
// by address: outside the Go heap, and used by one call at a time.
type frame struct {
	scalars *scalars
	args    [15]uintptr
}

type scalars struct {
	letters     [4]byte
	ints        [8]int32
	alpha, beta float64 // as the bytes of either type
}

// take is a frame that no other call uses.
func (l *Library) take() (*frame, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) == 0 {
		// As many as fit a page: they are never given back, and there are no
		// more of them than there were calls at once.
		mem, err := hostmem.Alloc(int64(hostmem.PageSize()))
		if err != nil {
			return nil, fmt.Errorf("blas: memory of arguments: %w", err)
		}
		all := devices.View[scalars](mem)
		for i := range all {
			l.idle = append(l.idle, &frame{scalars: &all[i]})
		}
	}
	f := l.idle[len(l.idle)-1]
	l.idle = l.idle[:len(l.idle)-1]
	return f, nil
}

func (l *Library) give(f *frame) {
	l.mu.Lock()
	l.idle = append(l.idle, f)
	l.mu.Unlock()
}

// A matrix is the memory of a row-major matrix, of as many rows and columns,
// whose rows begin stride elements apart.
type matrix[T Real] struct {
	name          string
	v             []T
	rows, columns int
	stride        int
}

// check refuses a matrix that the library would read or write beyond its end.
func (m *matrix[T]) check(call string) error {
	const most = math.MaxInt32
	if m.rows < 0 || m.columns < 0 || m.rows > most || m.columns > most || m.stride < max(1, m.columns) || m.stride > most {
		return fmt.Errorf("blas: %s: %s has %d rows and %d columns, %d elements apart: %w", call, m.name, m.rows, m.columns, m.stride, devices.ErrInvalid)
	}
	if m.rows == 0 || m.columns == 0 {
		return nil
	}
	if need := int64(m.rows-1)*int64(m.stride) + int64(m.columns); int64(len(m.v)) < need {
		return fmt.Errorf("blas: %s: %s has %d elements, want %d for %d rows and %d columns, %d elements apart: %w",
			call, m.name, len(m.v), need, m.rows, m.columns, m.stride, devices.ErrInvalid)
	}
	return nil
}

// An invocation is a call of a function. It takes letters first, then sizes,
// alpha, and then pairs of a matrix and its stride, with beta before the last
// one.
type invocation[T Real] struct {
	function string
	letters  string
	ints     []int
	scaled   bool // alpha is passed
	alpha    T
	added    bool // beta is passed
	beta     T
	matrices []matrix[T]
	info     bool // a result by address comes last
}

// run returns what the function wrote as its result.
func (c *invocation[T]) run(l *Library) (info int32, err error) {
	for i := range c.matrices {
		if err := c.matrices[i].check(c.function); err != nil {
			return 0, err
		}
		if c.matrices[i].rows == 0 || c.matrices[i].columns == 0 {
			// The library would look at an address that there is not.
			c.matrices[i].v = []T{0}
		}
	}
	f, err := l.take()
	if err != nil {
		return 0, err
	}
	defer l.give(f)
	s, n := f.scalars, 0
	arg := func(p unsafe.Pointer) {
		f.args[n] = uintptr(p)
		n++
	}
	numbers := 0
	number := func(v int) {
		s.ints[numbers] = int32(v)
		arg(unsafe.Pointer(&s.ints[numbers]))
		numbers++
	}
	for i := range len(c.letters) {
		s.letters[i] = c.letters[i]
		arg(unsafe.Pointer(&s.letters[i]))
	}
	for _, v := range c.ints {
		number(v)
	}
	if c.scaled {
		*(*T)(unsafe.Pointer(&s.alpha)) = c.alpha
		arg(unsafe.Pointer(&s.alpha))
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	for i := range c.matrices {
		if c.added && i == len(c.matrices)-1 {
			*(*T)(unsafe.Pointer(&s.beta)) = c.beta
			arg(unsafe.Pointer(&s.beta))
		}
		p := unsafe.SliceData(c.matrices[i].v)
		pin.Pin(p)
		arg(unsafe.Pointer(p))
		number(c.matrices[i].stride)
	}
	if c.info {
		s.ints[numbers] = 0
		arg(unsafe.Pointer(&s.ints[numbers]))
	}
	var kind T
	name := "s" + c.function
	if unsafe.Sizeof(kind) == 8 {
		name = "d" + c.function
	}
	dl.CallArgs(l.entries[name], f.args[:n])
	runtime.KeepAlive(c)
	return s.ints[numbers], nil
}
