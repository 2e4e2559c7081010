package arrayfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

const npyMagic = "\x93NUMPY"

// maxNPYHeader bounds the text in front of the elements. NumPy refuses more
// than 10,000 characters unless it is told to trust the file.
const maxNPYHeader = 64 << 10

// npyHeader is what stands before the elements of an .npy file.
type npyHeader struct {
	Header
	start   int64 // offset of the elements
	fortran bool  // the first dimension varies fastest
	swap    bool  // the bytes of an element are in the other order than the host's
}

// hostBig is whether this machine stores the most significant byte first.
func hostBig() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }

// readNPYHeader reads from the beginning of an .npy file of size bytes up to
// the first element, and checks that the file has as many bytes as it says.
// The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
func readNPYHeader(r io.Reader, size int64) (npyHeader, error) {
	var h npyHeader
	if size == 0 {
		return h, errors.New("the file is empty")
	}
	pre := make([]byte, min(size, 12))
	if _, err := io.ReadFull(r, pre[:min(len(pre), 10)]); err != nil {
		return h, err
	}
	if !bytes.HasPrefix(pre, []byte(npyMagic)) {
		return h, fmt.Errorf("no .npy file: it begins with %q", pre[:min(len(pre), 6)])
	}
	if len(pre) < 10 {
		return h, fmt.Errorf("the file ends after %d bytes, within its header", size)
	}
	major, minor := pre[6], pre[7]
	length := int64(binary.LittleEndian.Uint16(pre[8:]))
	h.start = 10
	switch {
	case major == 1:
	case (major == 2 || major == 3) && len(pre) == 12:
		if _, err := io.ReadFull(r, pre[10:]); err != nil {
			return h, err
		}
		length = int64(binary.LittleEndian.Uint32(pre[8:]))
		h.start = 12
	case major == 2 || major == 3:
		return h, fmt.Errorf("the file ends after %d bytes, within its header", size)
	default:
		return h, fmt.Errorf("version %d.%d of the .npy format; known are 1.0, 2.0 and 3.0", major, minor)
	}
	if length > size-h.start {
		return h, fmt.Errorf("the header should be %d bytes long, the file has %d left", length, size-h.start)
	}
	if length > maxNPYHeader {
		return h, fmt.Errorf("the header is %d bytes long, more than %d are not read", length, maxNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, err
	}
	h.start += length
	if err := h.parse(string(text)); err != nil {
		return h, err
	}
	need, err := h.Bytes()
	if err != nil {
		return h, err
	}
	switch have := size - h.start; {
	case have < need:
		return h, fmt.Errorf("%s takes %d bytes, the file has only %d", h.Header, need, have)
	case have > need:
		return h, fmt.Errorf("%s takes %d bytes, the file has %d too many", h.Header, need, have-need)
	}
	return h, nil
}

// parse reads the dictionary with exactly the keys descr, fortran_order and
// shape.
func (h *npyHeader) parse(text string) error {
	v, err := parseLiteral(text)
	if err != nil {
		return err
	}
	dict, ok := v.(pyDict)
	if !ok {
		return fmt.Errorf("the header is %s, not a dictionary", literalText(v))
	}
	values := map[string]any{}
	for _, e := range dict {
		key, _ := e.key.(string)
		if key != "descr" && key != "fortran_order" && key != "shape" {
			return fmt.Errorf("the header has an unknown key %s", literalText(e.key))
		}
		if _, twice := values[key]; twice {
			return fmt.Errorf("the header has the key '%s' twice", key)
		}
		values[key] = e.value
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if _, ok := values[key]; !ok {
			return fmt.Errorf("the header has no key '%s'", key)
		}
	}
	if h.fortran, ok = values["fortran_order"].(bool); !ok {
		return fmt.Errorf("fortran_order is %s, neither True nor False", literalText(values["fortran_order"]))
	}
	if h.Shape, err = npyShape(values["shape"]); err != nil {
		return err
	}
	h.DType, h.swap, err = npyDType(values["descr"])
	return err
}

func npyShape(v any) ([]int64, error) {
	tuple, ok := v.(pyTuple)
	if !ok {
		return nil, fmt.Errorf("shape is %s, not a tuple", literalText(v))
	}
	shape := make([]int64, len(tuple))
	for i, d := range tuple {
		n, ok := d.(int64)
		if !ok {
			return nil, fmt.Errorf("shape %s has a dimension that is no number", literalText(v))
		}
		shape[i] = n
	}
	return shape, nil
}

// npyCodes are NumPy's type codes of what a kernel can work on.
func npyCodes() map[string]devices.DType {
	return map[string]devices.DType{
		"b1": devices.Bool, "?": devices.Bool,
		"i1": devices.Int8, "i2": devices.Int16, "i4": devices.Int32, "i8": devices.Int64,
		"u1": devices.Uint8, "u2": devices.Uint16, "u4": devices.Uint32, "u8": devices.Uint64,
		"f2": devices.Float16, "f4": devices.Float32, "f8": devices.Float64,
	}
}

// npyDType turns a descr into a type and whether its bytes need swapping.
func npyDType(v any) (t devices.DType, swap bool, err error) {
	switch v := v.(type) {
	case string:
		code, big := v, hostBig()
		if v != "" {
			switch v[0] {
			case '<':
				code, big = v[1:], false
			case '>':
				code, big = v[1:], true
			case '=', '|':
				code = v[1:]
			}
		}
		t, ok := npyCodes()[code]
		if !ok {
			return 0, false, fmt.Errorf("dtype '%s' (%s) is not supported; %s", v, npyKind(code), supported())
		}
		return t, big != hostBig() && t.Size() > 1, nil
	case pyList:
		return 0, false, fmt.Errorf("structured dtype %s is not supported; save each field in a file of its own", npyFields(v))
	}
	return 0, false, fmt.Errorf("dtype %s is not supported; %s", literalText(v), supported())
}

func supported() string {
	return "supported are " + strings.Join(devices.DTypeNames(), " ")
}

// npyKind says in words what an unsupported type code means.
func npyKind(code string) string {
	if code == "" {
		return "no type"
	}
	switch code[0] {
	case 'c':
		return "complex numbers"
	case 'O':
		return "Python objects, which are never unpickled"
	case 'U', 'S', 'a':
		return "text"
	case 'V':
		return "raw records"
	case 'M', 'm':
		return "dates or times"
	case 'f':
		return "a float of another size"
	}
	return "unknown"
}

// npyFields names the fields of a structured dtype.
func npyFields(list pyList) string {
	var names []string
	for _, f := range list {
		name := literalText(f)
		if t, ok := f.(pyTuple); ok && len(t) >= 2 {
			title := t[0]
			if pair, ok := title.(pyTuple); ok && len(pair) == 2 {
				title = pair[1] // (title, name)
			}
			if s, ok := title.(string); ok {
				name = s
			}
		}
		if names = append(names, name); len(names) == 8 && len(list) > 8 {
			names = append(names, "...")
			break
		}
	}
	return "with the fields " + strings.Join(names, ", ")
}

func statNPY(s source, _ Options) (Header, error) {
	h, err := readNPYHeader(s, s.size)
	return h.Header, err
}

func readNPY(s source, o Options, alloc Alloc) (Header, error) {
	return readNPYStream(s, s.size, o.Zeroed, alloc)
}

// readNPYStream reads an .npy file of size bytes from its first byte.
func readNPYStream(r io.Reader, size int64, zeroed bool, alloc Alloc) (Header, error) {
	h, err := readNPYHeader(r, size)
	if err != nil {
		return h.Header, err
	}
	mem, err := alloc.memory(h.Header)
	if err != nil {
		return h.Header, err
	}
	if h.fortran && !oneRow(h.Shape) {
		err = readFortran(r, mem, h)
	} else {
		err = readElements(r, mem, h, zeroed)
	}
	return h.Header, err
}

// chunk is how much is read at a time where the bytes are worked on after
// reading: small enough to be still in the cache then.
const chunk = 256 << 10

// readElements fills mem and brings each element into the host's form. A zero
// is one in every form.
func readElements(r io.Reader, mem []byte, h npyHeader, zeroed bool) error {
	if s, ok := r.(source); ok && zeroed {
		return s.readData(mem, h.DType.Size(), func(part []byte) { hostForm(part, h) })
	}
	if !h.swap && h.DType != devices.Bool {
		_, err := io.ReadFull(r, mem)
		return err
	}
	for part := range slices.Chunk(mem, chunk) {
		if _, err := io.ReadFull(r, part); err != nil {
			return err
		}
		hostForm(part, h)
	}
	return nil
}

// hostForm swaps the bytes of each element if need be, and makes every true
// value a 1.
func hostForm(b []byte, h npyHeader) {
	if h.DType == devices.Bool {
		for i, v := range b {
			if v > 1 {
				b[i] = 1
			}
		}
	}
	if h.swap {
		swapBytes(b, h.DType.Size())
	}
}

// swapBytes reverses the bytes of each element of b.
func swapBytes(b []byte, size int) {
	switch size {
	case 2:
		for i := 0; i+2 <= len(b); i += 2 {
			b[i], b[i+1] = b[i+1], b[i]
		}
	case 4:
		for i := 0; i+4 <= len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
		}
	case 8:
		for i := 0; i+8 <= len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], binary.BigEndian.Uint64(b[i:]))
		}
	}
}

// oneRow reports whether both orders store the elements alike: there is none,
// or at most one dimension is longer than 1.
func oneRow(shape []int64) bool {
	long := 0
	for _, d := range shape {
		if d == 0 {
			return true
		}
		if d > 1 {
			long++
		}
	}
	return long <= 1
}

// readFortran reads elements whose first dimension varies fastest and stores
// them row-major. It needs one chunk of memory beside mem.
func readFortran(r io.Reader, mem []byte, h npyHeader) error {
	size, dims := h.DType.Size(), len(h.Shape)
	stride := make([]int, dims) // in bytes, row-major
	for d, n := dims-1, size; d >= 0; d-- {
		stride[d] = n
		n *= int(h.Shape[d])
	}
	buf := make([]byte, min(chunk, len(mem)))
	index := make([]int64, dims)
	to := 0
	for left := len(mem); left > 0; {
		part := buf[:min(len(buf), left)]
		if _, err := io.ReadFull(r, part); err != nil {
			return err
		}
		left -= len(part)
		hostForm(part, h)
		for from := 0; from < len(part); from += size {
			switch size {
			case 1:
				mem[to] = part[from]
			case 4:
				binary.NativeEndian.PutUint32(mem[to:], binary.NativeEndian.Uint32(part[from:]))
			case 8:
				binary.NativeEndian.PutUint64(mem[to:], binary.NativeEndian.Uint64(part[from:]))
			default:
				copy(mem[to:to+size], part[from:])
			}
			for d := range index {
				index[d]++
				to += stride[d]
				if index[d] < h.Shape[d] {
					break
				}
				to -= stride[d] * int(index[d])
				index[d] = 0
			}
		}
	}
	return nil
}

// npyPreamble is everything before the elements of a file in C order: version
// 1.0, with the elements at a multiple of 64 bytes.
func npyPreamble(h Header) []byte {
	order := "<"
	switch {
	case h.DType.Size() == 1:
		order = "|"
	case hostBig():
		order = ">"
	}
	code := ""
	for c, t := range npyCodes() {
		if t == h.DType && c != "?" {
			code = c
		}
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': %s, }", order, code, shapeText(h.Shape))
	const fixed = len(npyMagic) + 4
	pad := 63 - (fixed+len(text))%64
	out := make([]byte, 0, fixed+len(text)+pad+1)
	out = append(out, npyMagic+"\x01\x00"...)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)+pad+1))
	out = append(out, text...)
	out = append(out, strings.Repeat(" ", pad)...)
	return append(out, '\n')
}

func writeNPY(w io.Writer, h Header, data []byte, _ Options) error {
	if _, err := w.Write(npyPreamble(h)); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}
