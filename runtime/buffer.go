package tandem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/transfer"
)

// A Buffer is an array that tasks work on. It lives outside the Go heap in
// page-aligned host memory, and as replicas on devices; the session moves the
// bytes to where they are needed. It starts filled with zeros. A Buffer
// belongs to its session and is freed with it, or earlier by Free.
type Buffer struct {
	session *Session
	array   kernels.Array
	bytes   int64
	number  int                        // counts the session's buffers
	err     error                      // why it could not be made; every use reports it
	as      [kernels.ReadWrite + 1]arg // it as an argument, by mode

	// The pages are the session's until freed; who writes or reads them is an
	// operation in order with the others.
	host []byte

	// Guarded by session.mu.
	tracker  *transfer.Tracker[*op]
	replicas []*transfer.Replica // by device position; nil: none
	freed    bool
}

// NewBuffer makes a buffer. An impossible size is reported by the first use.
func (s *Session) NewBuffer(a kernels.Array) *Buffer {
	a.Shape = slices.Clone(a.Shape)
	b := &Buffer{session: s, array: a}
	for mode := range b.as {
		b.as[mode] = arg{mode: kernels.Access(mode), value: b}
	}
	var err error
	if b.bytes, err = arrayBytes(&a); err == nil {
		b.host, err = hostmem.Alloc(b.bytes)
	}
	if err != nil {
		b.err = fmt.Errorf("buffer %q: %w", a.Name, err)
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		b.err = errors.Join(fmt.Errorf("buffer %q: %w", a.Name, errClosed), hostmem.Free(b.host))
		b.host = nil
		return b
	}
	if b.array.Name == "" {
		s.unnamed++
		b.array.Name = fmt.Sprintf("buffer%d", s.unnamed)
	}
	s.numbered++
	b.number = s.numbered
	b.tracker = transfer.NewTracker[*op](b.bytes)
	b.replicas = make([]*transfer.Replica, len(s.agents))
	s.buffers[b] = struct{}{}
	return b
}

// arrayBytes is a.Bytes with the overflow checked.
func arrayBytes(a *kernels.Array) (int64, error) {
	n := int64(a.DType.Size())
	if n == 0 {
		return 0, fmt.Errorf("no element type: %w", devices.ErrInvalid)
	}
	for _, d := range a.Shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %s has a negative size: %w", kernels.ShapeString(a.Shape), devices.ErrInvalid)
		}
		if d > 0 && n > math.MaxInt64/d {
			return 0, fmt.Errorf("shape %s of %s has more bytes than fit in 64 bits: %w", kernels.ShapeString(a.Shape), a.DType, devices.ErrInvalid)
		}
		n *= d
	}
	return n, nil
}

func (b *Buffer) buffer() *Buffer { return b }

// Name is the buffer's name.
func (b *Buffer) Name() string { return b.array.Name }

// DType is the type of its elements.
func (b *Buffer) DType() devices.DType { return b.array.DType }

// Shape is its shape, row-major; the caller must not change it.
func (b *Buffer) Shape() []int64 { return b.array.Shape }

// Array describes the buffer for kernels.Bind. It is the same pointer each
// time.
func (b *Buffer) Array() *kernels.Array { return &b.array }

// Err says why the buffer could not be made, nil if it was.
func (b *Buffer) Err() error { return b.err }

// Read waits for every task submitted before that writes the buffer, brings
// its bytes to the host and calls f with them. f must not keep or change them,
// nor update the same buffer; tasks that only read it may run meanwhile, tasks
// that write it wait until f returns. If ctx ends first, Read returns its cause
// and f is not called.
func (b *Buffer) Read(ctx context.Context, f func([]byte) error) error {
	return b.access(ctx, false, f)
}

// Update is Read for a function that changes the bytes. It waits for the
// buffer's readers too, and f must not use the same buffer in any other way. An
// error of f, or a panic, leaves the contents undefined until something writes
// all of the buffer.
func (b *Buffer) Update(ctx context.Context, f func([]byte) error) error {
	return b.access(ctx, true, f)
}

// access runs f as an operation of the host, in order with everything that has
// been submitted.
func (b *Buffer) access(ctx context.Context, write bool, f func([]byte) error) error {
	if b.err != nil {
		return b.err
	}
	o, err := b.session.lowerHostAccess(ctx, b, write)
	if err != nil {
		return err
	}
	if err := o.waitReady(ctx); err != nil {
		if u := (*skipped)(nil); errors.As(err, &u) {
			return &UndefinedError{b.array.Name, u.cause}
		}
		return err
	}
	failed := errPanic // f may not return
	defer func() {
		if !write {
			failed = nil // the bytes are as they were
		}
		o.finish(failed)
	}()
	failed = f(b.host)
	return failed
}

var errPanic = errors.New("the function that updates it did not return")

// closed is the error of using a buffer that has been freed.
func (b *Buffer) closed() error {
	return fmt.Errorf("buffer %q: %w", b.array.Name, devices.ErrClosed)
}

// Free waits for the tasks that use the buffer and gives its memory back. Using
// it afterwards is an error. Freeing twice is nil.
func (b *Buffer) Free() error {
	if b.err != nil {
		return nil
	}
	return b.session.freeBuffer(b)
}

// A Slice is a buffer of elements of type T.
type Slice[T devices.Number] struct{ b *Buffer }

// NewSlice makes a zeroed array of the given shape, row-major.
func NewSlice[T devices.Number](s *Session, shape ...int) *Slice[T] {
	a := kernels.Array{DType: devices.DTypeOf[T]()}
	for _, n := range shape {
		a.Shape = append(a.Shape, int64(n))
	}
	return &Slice[T]{s.NewBuffer(a)}
}

// SliceOf makes a one-dimensional array with a copy of v.
func SliceOf[T devices.Number](s *Session, v []T) *Slice[T] {
	x := NewSlice[T](s, len(v))
	if x.b.err == nil {
		copy(devices.View[T](x.b.host), v)
	}
	return x
}

func (x *Slice[T]) buffer() *Buffer {
	if x == nil {
		return nil
	}
	return x.b
}

// Buffer is the untyped buffer.
func (x *Slice[T]) Buffer() *Buffer { return x.b }

// Named gives the buffer a name for messages and traces, and returns x. It is
// for right after making it.
func (x *Slice[T]) Named(name string) *Slice[T] {
	x.b.array.Name = name
	return x
}

// Len is the number of elements.
func (x *Slice[T]) Len() int { return int(x.b.array.Elements()) }

// Values waits for the tasks that write the array and returns a copy of it.
func (x *Slice[T]) Values(ctx context.Context) ([]T, error) {
	var out []T
	err := x.b.Read(ctx, func(mem []byte) error {
		out = slices.Clone(devices.View[T](mem))
		return nil
	})
	return out, err
}

// Read calls f with the array's elements, without a copy; see Buffer.Read.
func (x *Slice[T]) Read(ctx context.Context, f func([]T) error) error {
	return x.b.Read(ctx, func(mem []byte) error { return f(devices.View[T](mem)) })
}

// Update calls f with the array's elements to change them; see Buffer.Update.
func (x *Slice[T]) Update(ctx context.Context, f func([]T) error) error {
	return x.b.Update(ctx, func(mem []byte) error { return f(devices.View[T](mem)) })
}
