package strategy

import (
	"context"
	"fmt"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
)

// Scatter copies v into buffers of size elements each, in order; the last one
// holds what is left. A size below 1 is taken for 1. The buffers belong to the
// session.
func Scatter[T devices.Number](s *tandem.Session, v []T, size int) []*tandem.Buffer {
	size = max(size, 1)
	all := make([]*tandem.Buffer, 0, (len(v)+size-1)/size)
	for lo := 0; lo < len(v); lo += size {
		all = append(all, tandem.SliceOf(s, v[lo:min(lo+size, len(v))]).Buffer())
	}
	return all
}

// Gather waits for the tasks that write the buffers and returns a copy of their
// elements, one buffer behind the other. A buffer of another element type is
// ErrInvalid.
func Gather[T devices.Number](ctx context.Context, all []*tandem.Buffer) ([]T, error) {
	var out []T
	for _, b := range all {
		if want := devices.DTypeOf[T](); b.Err() == nil && b.DType() != want {
			return nil, fmt.Errorf("buffer %q holds %s, gathered as %s: %w", b.Name(), b.DType(), want, devices.ErrInvalid)
		}
		err := b.Read(ctx, func(mem []byte) error {
			out = append(out, devices.View[T](mem)...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
