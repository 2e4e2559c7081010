package arrayfile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// table reads the records of a .csv file: fields separated by commas, quoted
// where need be, blanks around them and empty lines without meaning, lines that
// begin with # left out.
type table struct {
	csv   *csv.Reader
	dtype devices.DType
	names int      // fields of the header, 0: none
	first []string // a record that was looked at already
	line  int      // its line
	width int      // fields of every record, 0: not known yet
}

// newTable starts reading and takes the header off.
func newTable(r io.Reader, o Options) (*table, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		_, _ = b.Discard(3)
	}
	t := &table{csv: csv.NewReader(b), dtype: o.DType}
	if t.dtype == devices.NoType {
		t.dtype = devices.Float64
	}
	t.csv.FieldsPerRecord = -1
	t.csv.ReuseRecord = true
	t.csv.TrimLeadingSpace = true
	t.csv.Comment = '#'
	first, line, err := t.record()
	if err == io.EOF {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := t.isHeader(first, line, o.Table)
	if err != nil {
		return nil, err
	}
	if names {
		t.names, t.width = len(first), len(first)
	} else {
		t.first, t.line = first, line
	}
	return t, nil
}

// isHeader decides about the first record.
func (t *table) isHeader(fields []string, line int, table TableHeader) (bool, error) {
	switch table {
	case HeaderNames:
		return true, nil
	case HeaderNone:
		return false, nil
	}
	numbers, odd := 0, 0
	for i, f := range fields {
		if isNumber(f) {
			numbers++
		} else {
			odd = i
		}
	}
	if numbers > 0 && numbers < len(fields) {
		return false, &lineError{line, fmt.Errorf("field %d, %q, is no number but others are: if this line names the columns, say so", odd+1, clip(fields[odd]))}
	}
	return numbers == 0, nil
}

func isNumber(s string) bool {
	if l := strings.ToLower(s); l == "true" || l == "false" {
		return true
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// record is the next one with its line. It holds until the next call.
func (t *table) record() ([]string, int, error) {
	fields, err := t.csv.Read()
	if err != nil {
		var pe *csv.ParseError
		if errors.As(err, &pe) {
			return nil, 0, &lineError{pe.Line, pe.Err}
		}
		return nil, 0, err
	}
	line, _ := t.csv.FieldPos(0)
	for i, f := range fields {
		fields[i] = strings.TrimSpace(f)
	}
	return fields, line, nil
}

// row is the next record of numbers, as many as in every other.
func (t *table) row() (fields []string, line int, err error) {
	if t.first != nil {
		fields, line, t.first = t.first, t.line, nil
	} else if fields, line, err = t.record(); err != nil {
		return nil, 0, err
	}
	if t.width == 0 {
		t.width = len(fields)
	}
	if len(fields) != t.width {
		return nil, 0, &lineError{line, fmt.Errorf("%d fields, the lines before have %d", len(fields), t.width)}
	}
	return fields, line, nil
}

// header is the shape of rows records.
func (t *table) header(rows int64) Header {
	if t.width <= 1 {
		return Header{t.dtype, []int64{rows}}
	}
	return Header{t.dtype, []int64{rows, int64(t.width)}}
}

// statCSV counts the rows. One column is the shape (n), several are (n, k); a
// header without rows is (0, k), an empty file (0).
func statCSV(s source, o Options) (Header, error) {
	t, err := newTable(s, o)
	if err != nil {
		return Header{}, err
	}
	for rows := int64(0); ; rows++ {
		switch _, _, err := t.row(); {
		case err == io.EOF:
			return t.header(rows), nil
		case err != nil:
			return Header{}, err
		}
	}
}

// readCSV reads the file twice, once to count and once for the numbers, so
// that these go where they belong at once.
func readCSV(s source, o Options, alloc Alloc) (Header, error) {
	h, err := statCSV(s, o)
	if err != nil {
		return h, err
	}
	mem, err := alloc.memory(h)
	if err != nil {
		return h, err
	}
	if _, err := s.Seek(0, io.SeekStart); err != nil {
		return h, err
	}
	t, err := newTable(s, o)
	if err != nil {
		return h, err
	}
	size := h.DType.Size()
	for {
		fields, line, err := t.row()
		if err == io.EOF && len(mem) == 0 {
			return h, nil
		}
		if err == io.EOF || err == nil && len(mem) < len(fields)*size {
			return h, errors.New("changed while it was read")
		}
		if err != nil {
			return h, err
		}
		for i, f := range fields {
			if err := parseElement(mem[:size], h.DType, f); err != nil {
				return h, &lineError{line, fmt.Errorf("field %d: %w", i+1, err)}
			}
			mem = mem[size:]
		}
	}
}

// clip keeps a message to one line of reasonable length.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// parseElement stores the number that text says. What the type cannot hold is
// an error; a fraction in a floating-point type is rounded to the nearest.
func parseElement(mem []byte, t devices.DType, text string) error {
	bitSize := 8 * t.Size()
	var bits uint64
	var err error
	switch {
	case t == devices.Bool:
		var b bool
		if b, err = strconv.ParseBool(strings.ToLower(text)); b {
			bits = 1
		}
	case t == devices.Float16:
		var f float64
		if f, err = strconv.ParseFloat(text, 64); err == nil {
			half := floatToHalf(f)
			if bits = uint64(half); half&0x7fff == 0x7c00 && !math.IsInf(f, 0) {
				err = strconv.ErrRange
			}
		}
	case t == devices.Float32:
		var f float64
		f, err = strconv.ParseFloat(text, 32)
		bits = uint64(math.Float32bits(float32(f)))
	case t == devices.Float64:
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		bits = math.Float64bits(f)
	case t.Signed():
		var n int64
		n, err = strconv.ParseInt(text, 10, bitSize)
		bits = uint64(n)
	default:
		bits, err = strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, bitSize)
	}
	switch {
	case text == "":
		return errors.New("is empty; write nan for a missing value")
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%q is outside of %s", clip(text), t)
	case err != nil:
		return fmt.Errorf("%q is no %s", clip(text), t)
	}
	setBits(mem, bits)
	return nil
}

func holdsCSV(h Header) error {
	if len(h.Shape) > 2 {
		return fmt.Errorf("a .csv table has one or two dimensions, not the shape %s; write .npy", shapeText(h.Shape))
	}
	if len(h.Shape) == 2 && h.Shape[1] == 0 && h.Shape[0] > 0 {
		return fmt.Errorf("a .csv table has at least one column, not the shape %s; write .npy", shapeText(h.Shape))
	}
	return nil
}

// writeCSV writes each number in the shortest form that reads back as the same
// one, nan, inf and -inf by these names, and bool as 0 and 1.
func writeCSV(w io.Writer, h Header, data []byte, o Options) error {
	cols := 1
	if len(h.Shape) == 2 {
		cols = int(h.Shape[1])
	}
	names := o.Columns
	if len(names) == 0 && len(h.Shape) == 2 && h.Shape[0] == 0 && cols > 1 {
		// Without a row only a header can tell how many columns there are.
		for i := range cols {
			names = append(names, "c"+strconv.Itoa(i))
		}
	}
	if len(names) > 0 {
		if len(names) != cols {
			return fmt.Errorf("%d names for %d columns", len(names), cols)
		}
		c := csv.NewWriter(w)
		if err := c.Write(names); err != nil {
			return err
		}
		if c.Flush(); c.Error() != nil {
			return c.Error()
		}
	}
	size := h.DType.Size()
	var line []byte
	for i := 0; i < len(data); {
		line = line[:0]
		for c := range cols {
			if c > 0 {
				line = append(line, ',')
			}
			line = appendElement(line, h.DType, data[i:i+size])
			i += size
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// appendElement writes an element as text, exactly.
func appendElement(b []byte, t devices.DType, mem []byte) []byte {
	switch {
	case t.Float():
		return appendFloat(b, t, elementFloat(t, mem))
	case t.Signed():
		return strconv.AppendInt(b, elementInt(t, mem), 10)
	}
	return strconv.AppendUint(b, getBits(mem), 10)
}

func appendFloat(b []byte, t devices.DType, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "nan"...)
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case t == devices.Float64:
		return strconv.AppendFloat(b, f, 'g', -1, 64)
	}
	// Also float16: its own shortest form, 6.55e+04 for 65504, would be
	// another number to a program that reads it as float32.
	return strconv.AppendFloat(b, f, 'g', -1, 32)
}
