package arrayfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/tandemrun/tandem/devices"
)

// statRaw takes the header from the options: a .raw file has none.
func statRaw(s source, o Options) (Header, error) {
	if o.DType == devices.NoType || o.Shape == nil {
		return Header{}, errors.New("a .raw file needs a dtype and a shape, it has none of its own")
	}
	h := Header{o.DType, o.Shape}
	size, err := h.Bytes()
	if err != nil {
		return Header{}, err
	}
	if size != s.size {
		return Header{}, fmt.Errorf("%s takes %d bytes, the file has %d", h, size, s.size)
	}
	return h, nil
}

func readRaw(s source, o Options, alloc Alloc) (Header, error) {
	h, err := statRaw(s, o)
	if err != nil {
		return h, err
	}
	mem, err := alloc.memory(h)
	if err != nil {
		return h, err
	}
	if o.Zeroed {
		return h, s.readData(mem, h.DType.Size(), func([]byte) {})
	}
	_, err = io.ReadFull(s, mem)
	return h, err
}

func writeRaw(w io.Writer, _ Header, data []byte, _ Options) error {
	_, err := w.Write(data)
	return err
}
