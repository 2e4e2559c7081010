package arrayfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tandemrun/tandem/devices"
)

// pnmHeader is the head of a portable graymap or pixmap. Values are taken as
// they are: a maximum below 255 does not scale them up.
type pnmHeader struct {
	Header
	max   int
	plain bool // numbers as text
}

// readPNMHeader reads the head, P2, P3, P5 or P6, of a file of size bytes and
// checks that the file is long enough for it. The formats:
// https://netpbm.sourceforge.net/doc/pgm.html and ppm.html
func readPNMHeader(r *bufio.Reader, size int64) (pnmHeader, error) {
	var h pnmHeader
	magic := make([]byte, 2)
	if _, err := io.ReadFull(r, magic); err != nil {
		return h, errors.New("no picture: the file is shorter than 2 bytes")
	}
	channels := int64(1)
	switch string(magic) {
	case "P2", "P5":
	case "P3", "P6":
		channels = 3
	default:
		return h, fmt.Errorf("begins with %q; read are P2 and P5 (gray), P3 and P6 (color)", magic)
	}
	h.plain = magic[1] <= '3'
	var v [3]int
	for i, what := range []string{"width", "height", "largest value"} {
		n, err := pnmNumber(r)
		if err != nil {
			return h, fmt.Errorf("%s: %w", what, err)
		}
		if n == 0 {
			return h, fmt.Errorf("%s is 0", what)
		}
		v[i] = n
	}
	h.max = v[2]
	if h.max > 65535 {
		return h, fmt.Errorf("largest value %d, at most 65535 are possible", h.max)
	}
	h.DType = devices.Uint8
	if h.max > 255 {
		h.DType = devices.Uint16
	}
	h.Shape = []int64{int64(v[1]), int64(v[0])}
	if channels == 3 {
		h.Shape = append(h.Shape, 3)
	}
	need, err := h.Bytes()
	if err != nil {
		return h, err
	}
	if h.plain {
		// Each number takes a digit and a blank, the last one no blank.
		need = h.Elements()*2 - 1
	}
	if need > size {
		return h, fmt.Errorf("%s takes at least %d bytes, the file has only %d", h.Header, need, size)
	}
	return h, nil
}

// pnmNumber reads a number and the one blank or comment that ends it.
func pnmNumber(r *bufio.Reader) (int, error) {
	n, digits := 0, 0
	for {
		c, err := r.ReadByte()
		if err == io.EOF && digits > 0 {
			return n, nil
		}
		if err != nil {
			return 0, fmt.Errorf("the file ends early: %w", noEOF(err))
		}
		switch {
		case c >= '0' && c <= '9':
			if n = n*10 + int(c-'0'); n > 1<<31-1 {
				return 0, errors.New("number above 2147483647")
			}
			digits++
		case c == '#':
			for c != '\n' && c != '\r' {
				if c, err = r.ReadByte(); err != nil {
					return 0, fmt.Errorf("the file ends in a comment: %w", noEOF(err))
				}
			}
			if digits > 0 {
				return n, nil
			}
		case c == ' ' || c >= '\t' && c <= '\r':
			if digits > 0 {
				return n, nil
			}
		default:
			return 0, fmt.Errorf("%q where a number should be", c)
		}
	}
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func statPNM(s source, _ Options) (Header, error) {
	h, err := readPNMHeader(bufio.NewReader(s), s.size)
	return h.Header, err
}

func readPNM(s source, _ Options, alloc Alloc) (Header, error) {
	r := bufio.NewReaderSize(s, 64<<10)
	h, err := readPNMHeader(r, s.size)
	if err != nil {
		return h.Header, err
	}
	mem, err := alloc.memory(h.Header)
	if err != nil {
		return h.Header, err
	}
	if h.plain {
		err = readPlain(r, mem, h)
	} else {
		err = readSamples(r, mem, h)
	}
	if err != nil {
		return h.Header, err
	}
	for {
		c, err := r.ReadByte()
		if err == io.EOF {
			return h.Header, nil
		}
		if err != nil {
			return h.Header, err
		}
		if c != ' ' && (c < '\t' || c > '\r') {
			return h.Header, errors.New("goes on behind the picture; only files with one picture are read")
		}
	}
}

func readPlain(r *bufio.Reader, mem []byte, h pnmHeader) error {
	size := h.DType.Size()
	for i := 0; i < len(mem); i += size {
		n, err := pnmNumber(r)
		if err != nil {
			return fmt.Errorf("value %d of %d: %w", i/size, len(mem)/size, err)
		}
		if n > h.max {
			return fmt.Errorf("value %d is %d, above the largest value %d", i/size, n, h.max)
		}
		if size == 1 {
			mem[i] = byte(n)
		} else {
			binary.NativeEndian.PutUint16(mem[i:], uint16(n))
		}
	}
	return nil
}

func readSamples(r io.Reader, mem []byte, h pnmHeader) error {
	if n, err := io.ReadFull(r, mem); err != nil {
		return fmt.Errorf("%s takes %d bytes, the file has only %d: %w", h.Header, len(mem), n, noEOF(err))
	}
	if h.DType == devices.Uint16 && !hostBig() {
		swapBytes(mem, 2)
	}
	switch {
	case h.max == 255 || h.max == 65535:
	case h.DType == devices.Uint8:
		if m := slices.Max(mem); int(m) > h.max {
			return fmt.Errorf("has the value %d, above the largest value %d", m, h.max)
		}
	default:
		for i := 0; i < len(mem); i += 2 {
			if v := binary.NativeEndian.Uint16(mem[i:]); int(v) > h.max {
				return fmt.Errorf("has the value %d, above the largest value %d", v, h.max)
			}
		}
	}
	return nil
}

func holdsPGM(h Header) error {
	return holdsPicture(h, ".pgm", 1)
}

func holdsPPM(h Header) error {
	return holdsPicture(h, ".ppm", 3)
}

// holdsPicture checks for uint8 or uint16 elements in rows of pixels with one
// of the numbers of channels.
func holdsPicture(h Header, ext string, channels ...int64) error {
	if h.DType != devices.Uint8 && h.DType != devices.Uint16 {
		return fmt.Errorf("a %s picture holds uint8 or uint16, not %s; convert it, or write .npy", ext, h.DType)
	}
	n := int64(1)
	if len(h.Shape) == 3 {
		n = h.Shape[2]
	}
	if len(h.Shape) < 2 || len(h.Shape) > 3 || !slices.Contains(channels, n) {
		var want []string
		for _, c := range channels {
			if c == 1 {
				want = append(want, "(height, width)")
			} else {
				want = append(want, fmt.Sprintf("(height, width, %d)", c))
			}
		}
		return fmt.Errorf("a %s picture has the shape %s, not %s; write .npy", ext, joinOr(want), shapeText(h.Shape))
	}
	if h.Elements() == 0 {
		return fmt.Errorf("a %s picture has at least one pixel, not the shape %s; write .npy", ext, shapeText(h.Shape))
	}
	if h.Shape[0] > 1<<31-1 || h.Shape[1] > 1<<31-1 {
		return fmt.Errorf("a %s picture has at most 2147483647 rows and columns, not the shape %s; write .npy", ext, shapeText(h.Shape))
	}
	return nil
}

func joinOr(parts []string) string {
	out := parts[0]
	for i, p := range parts[1:] {
		if i == len(parts)-2 {
			out += " or " + p
		} else {
			out += ", " + p
		}
	}
	return out
}

// writePNM writes P5 or P6 by the number of channels.
func writePNM(w io.Writer, h Header, data []byte, _ Options) error {
	magic, largest := "P5", 255
	if len(h.Shape) == 3 && h.Shape[2] == 3 {
		magic = "P6"
	}
	if h.DType == devices.Uint16 {
		largest = 65535
	}
	if _, err := fmt.Fprintf(w, "%s\n%d %d\n%d\n", magic, h.Shape[1], h.Shape[0], largest); err != nil {
		return err
	}
	if h.DType == devices.Uint8 || hostBig() {
		_, err := w.Write(data)
		return err
	}
	buf := make([]byte, 0, min(chunk, len(data)))
	for part := range slices.Chunk(data, chunk) {
		buf = append(buf[:0], part...)
		swapBytes(buf, 2)
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}
