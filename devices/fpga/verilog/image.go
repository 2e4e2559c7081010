package verilog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// An Image is a file that a memory is filled from, read and checked.
type Image struct {
	Name  string // as $readmemh names it
	Hex   bool
	Words []ImageWord // in the order of the file
}

// An ImageWord is one word of an image.
type ImageWord struct {
	Address uint64
	Bits    []uint32 // 32 at a time, lowest first
}

// maxImage bounds an image file, in bytes.
const maxImage = 64 << 20

// ReadImage parses the text of a memory image (IEEE 1800, section 21.4): words
// of hexadecimal or binary digits, comments, and addresses "@1f". The last
// word may end with the file. Unknown digits (x, z, ?) are refused, since an
// emulation of two states would make numbers of them. Every fault is an
// *Error.
func ReadImage(name string, hex bool, r io.Reader) (*Image, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImage+1))
	if err == nil && len(data) > maxImage {
		err = fmt.Errorf("more than %d bytes", maxImage)
	}
	if err != nil {
		return nil, &Error{File: name, Msg: err.Error(), Err: devices.ErrInvalid}
	}
	p := imageParser{img: &Image{Name: name, Hex: hex}, seen: map[uint64]bool{}}
	line := 0
	inComment := false
	for text := range bytes.Lines(data) {
		line++
		if err := p.line(string(text), line, &inComment); err != nil {
			return nil, err
		}
	}
	if len(p.img.Words) == 0 {
		return nil, &Error{File: name, Msg: "the image holds no words", Err: devices.ErrInvalid}
	}
	return p.img, nil
}

type imageParser struct {
	img  *Image
	at   uint64
	seen map[uint64]bool
}

func (p *imageParser) line(text string, line int, inComment *bool) error {
	col := 0
	for col < len(text) {
		rest := text[col:]
		switch {
		case *inComment:
			n := strings.Index(rest, "*/")
			if n < 0 {
				return nil
			}
			*inComment = false
			col += n + 2
		case strings.HasPrefix(rest, "//"):
			return nil
		case strings.HasPrefix(rest, "/*"):
			*inComment = true
			col += 2
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			col++
		default:
			n := strings.IndexAny(rest, " \t\r\n\f\v/")
			if n < 0 {
				n = len(rest)
			}
			n = max(n, 1)
			if err := p.word(rest[:n], line, col+1); err != nil {
				return err
			}
			col += n
		}
	}
	return nil
}

func (p *imageParser) word(w string, line, col int) error {
	bad := func(format string, args ...any) error {
		return &Error{File: p.img.Name, Line: line, Column: col, Msg: fmt.Sprintf(format, args...), Err: devices.ErrInvalid}
	}
	if addr, is := strings.CutPrefix(w, "@"); is {
		v, err := strconv.ParseUint(strings.ReplaceAll(addr, "_", ""), 16, 48)
		if err != nil {
			return bad("%q is no address", w)
		}
		p.at = v
		return nil
	}
	digits := strings.ReplaceAll(w, "_", "")
	if digits == "" {
		return bad("%q is no word", w)
	}
	if strings.ContainsAny(digits, "xXzZ?") {
		return bad("the word %q has unknown bits; the emulation knows 0 and 1 only", w)
	}
	step := 4
	if !p.img.Hex {
		step = 1
	}
	if len(digits)*step > 1<<16 {
		return bad("a word of %d digits", len(digits))
	}
	bits := make([]uint32, (len(digits)*step+31)/32)
	for i := range digits {
		v, err := strconv.ParseUint(digits[len(digits)-1-i:len(digits)-i], 1<<step, 8)
		if err != nil {
			return bad("%q is no number in base %d", w, 1<<step)
		}
		bits[i*step/32] |= uint32(v) << (i * step % 32)
	}
	for len(bits) > 1 && bits[len(bits)-1] == 0 {
		bits = bits[:len(bits)-1]
	}
	if p.seen[p.at] {
		return bad("a second word for address %#x", p.at)
	}
	p.seen[p.at] = true
	p.img.Words = append(p.img.Words, ImageWord{p.at, bits})
	p.at++
	return nil
}

// Text writes an image as $readmemh or $readmemb reads it: each word with its
// address, a newline at the end.
func (img *Image) Text() string {
	var b strings.Builder
	for _, w := range img.Words {
		fmt.Fprintf(&b, "@%x ", w.Address)
		for i := len(w.Bits) - 1; i >= 0; i-- {
			if img.Hex {
				fmt.Fprintf(&b, "%08x", w.Bits[i])
			} else {
				fmt.Fprintf(&b, "%032b", w.Bits[i])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// fits checks an image against the memory that it is for: as many words as the
// memory has, none outside, none wider. A call with a start address may give
// fewer.
func (img *Image) fits(c imageCall, width, size, offset int) error {
	var outside int
	for _, w := range img.Words {
		if w.Address < uint64(offset) || w.Address >= uint64(offset+size) {
			outside++
		}
		if b := w.Bits; len(b)*32 > width {
			top := width - 32*(len(b)-1)
			if top < 0 || top < 32 && b[len(b)-1]>>top != 0 {
				return fmt.Errorf("the word at address %#x of %s is wider than the %d bits of memory %s", w.Address, img.Name, width, c.memory)
			}
		}
	}
	switch {
	case c.ranged:
		return nil
	case outside > 0:
		return fmt.Errorf("%s has %d words, memory %s has room for %d", img.Name, len(img.Words), c.memory, size)
	case len(img.Words) < size:
		return fmt.Errorf("%s has %d of the %d words of memory %s", img.Name, len(img.Words), size, c.memory)
	}
	return nil
}

// openImage reads an image from the first of the folders that has it. Names
// stay inside the folders: no absolute paths, no "..".
func openImage(name string, hex bool, dirs []string) (*Image, error) {
	if name == "" || !filepath.IsLocal(name) || strings.ContainsAny(name, "\\\"\n\r") {
		return nil, fmt.Errorf("%q: the name of an image has to be a path inside the source's folder: %w", name, devices.ErrInvalid)
	}
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		img, err := readFrom(root, name, hex)
		_ = root.Close()
		if !errors.Is(err, fs.ErrNotExist) {
			return img, err
		}
	}
	where := "no folder was given for images"
	if len(dirs) > 0 {
		where = "not found in " + strings.Join(dirs, ", ")
	}
	return nil, fmt.Errorf("memory image %s: %s: %w", name, where, devices.ErrInvalid)
}

func readFrom(root *os.Root, name string, hex bool) (*Image, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("memory image %s is no regular file: %w", name, devices.ErrInvalid)
	}
	return ReadImage(name, hex, f)
}
