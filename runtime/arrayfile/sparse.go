package arrayfile

import "io"

// readData fills mem, which holds zeros, with what the file has from its
// current position on, and leaves out holes. Each part that was read goes
// through form, in whole elements of the given size.
func (s source) readData(mem []byte, size int, form func([]byte)) error {
	start, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	end := start + int64(len(mem))
	for at := start; at < end; {
		lo, hi := s.extent(at, end)
		// Whole elements: the bytes around are zeros of the hole.
		lo -= (lo - start) % int64(size)
		hi = min(hi+(int64(size)-(hi-start)%int64(size))%int64(size), end)
		for from := lo; from < hi; from += chunk {
			part := mem[from-start : min(from+chunk, hi)-start]
			if n, err := s.ReadAt(part, from); n < len(part) {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
			form(part)
		}
		at = hi
	}
	return nil
}
