package arrayfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"

	"github.com/tandemrun/tandem/devices"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// pngColor is the color type of a PNG picture.
type pngColor byte

const (
	pngGray      pngColor = 0
	pngTrue      pngColor = 2
	pngPalette   pngColor = 3
	pngGrayAlpha pngColor = 4
	pngTrueAlpha pngColor = 6
)

// samples is how many numbers the file stores per pixel.
func (c pngColor) samples() int64 {
	return map[pngColor]int64{pngGray: 1, pngTrue: 3, pngPalette: 1, pngGrayAlpha: 2, pngTrueAlpha: 4}[c]
}

// readPNGHeader reads the chunks in front of the pixels: the header, and
// whether there is transparency beside the color type, which image/png's
// DecodeConfig does not tell but which decides the number of channels.
//
// Gray pictures are (h, w), others (h, w, 3), with transparency of any kind
// (h, w, 4). Depths below 8 bits become 8.
func readPNGHeader(s source) (Header, error) {
	var h Header
	head := make([]byte, 8+8+13)
	if n, err := io.ReadFull(io.NewSectionReader(s, 0, s.size), head); err != nil {
		if n == 0 {
			return h, errors.New("the file is empty")
		}
		return h, fmt.Errorf("the file ends after %d bytes, within its header", n)
	}
	if string(head[:8]) != pngMagic {
		return h, fmt.Errorf("no PNG picture: it begins with %q", head[:8])
	}
	if string(head[12:16]) != "IHDR" || binary.BigEndian.Uint32(head[8:]) != 13 {
		return h, fmt.Errorf("the first part is %q, not the header IHDR", head[12:16])
	}
	w, rows := int64(binary.BigEndian.Uint32(head[16:])), int64(binary.BigEndian.Uint32(head[20:]))
	depth, kind := int64(head[24]), pngColor(head[25])
	samples := kind.samples()
	if samples == 0 {
		return h, fmt.Errorf("color type %d does not exist", kind)
	}
	if w == 0 || rows == 0 || w > math.MaxInt32 || rows > math.MaxInt32 {
		return h, fmt.Errorf("a picture of %d x %d pixels does not exist", w, rows)
	}
	transparent, err := pngTransparent(s, int64(len(head))+4)
	if err != nil {
		return h, err
	}
	h = Header{devices.Uint8, []int64{rows, w}}
	if depth == 16 {
		h.DType = devices.Uint16
	}
	switch {
	case transparent || kind == pngGrayAlpha || kind == pngTrueAlpha:
		h.Shape = append(h.Shape, 4)
	case kind != pngGray:
		h.Shape = append(h.Shape, 3)
	}
	// w and rows are below 2^31: only the product of both and 64 bits may be
	// too much, and Bytes finds that.
	if _, err := h.Bytes(); err != nil {
		return h, err
	}
	unpacked := float64(rows) * math.Ceil(float64(w*samples*depth)/8)
	if unpacked > deflateRatio*float64(s.size) {
		return h, fmt.Errorf("%d x %d pixels of %d bits cannot come out of %d bytes", w, rows, samples*depth, s.size)
	}
	return h, nil
}

// pngTransparent looks for a tRNS chunk before the first pixels.
func pngTransparent(s source, pos int64) (bool, error) {
	var head [8]byte
	for {
		if _, err := s.ReadAt(head[:], pos); err != nil {
			return false, fmt.Errorf("the file ends after %d bytes, before its pixels", s.size)
		}
		switch string(head[4:]) {
		case "tRNS":
			return true, nil
		case "IDAT", "IEND":
			return false, nil
		}
		pos += 12 + int64(binary.BigEndian.Uint32(head[:]))
	}
}

func statPNG(s source, _ Options) (Header, error) { return readPNGHeader(s) }

func readPNG(s source, _ Options, alloc Alloc) (Header, error) {
	h, err := readPNGHeader(s)
	if err != nil {
		return h, err
	}
	img, err := png.Decode(bufio.NewReader(s))
	if err != nil {
		return h, fmt.Errorf("damaged PNG picture: %w", err)
	}
	mem, err := alloc.memory(h)
	if err != nil {
		return h, err
	}
	return h, pixels(mem, h, img)
}

// pixels stores a decoded picture as the array that h describes.
func pixels(mem []byte, h Header, img image.Image) error {
	b := img.Bounds()
	channels := 1
	if len(h.Shape) == 3 {
		channels = int(h.Shape[2])
	}
	if int64(b.Dy()) != h.Shape[0] || int64(b.Dx()) != h.Shape[1] {
		return fmt.Errorf("header says %s, the picture is %d x %d", h, b.Dx(), b.Dy())
	}
	row := b.Dx() * channels * h.DType.Size()
	for y := range b.Dy() {
		line := mem[y*row : (y+1)*row]
		if !copyRow(line, img, channels, b.Min.Y+y) {
			return fmt.Errorf("a picture stored as %T is not read as %s", img, h)
		}
	}
	return nil
}

// copyRow stores row y of img, whose type is one that the decoders of the
// standard library make. It is false if that type has no such channels.
func copyRow(line []byte, img image.Image, channels, y int) bool {
	switch m := img.(type) {
	case *image.Gray:
		copy(line, m.Pix[m.PixOffset(m.Rect.Min.X, y):])
		return channels == 1
	case *image.Gray16:
		samples16(line, m.Pix[m.PixOffset(m.Rect.Min.X, y):], 1, channels)
		return channels == 1
	case *image.RGBA:
		samples8(line, m.Pix[m.PixOffset(m.Rect.Min.X, y):], channels)
	case *image.NRGBA:
		samples8(line, m.Pix[m.PixOffset(m.Rect.Min.X, y):], channels)
	case *image.RGBA64:
		samples16(line, m.Pix[m.PixOffset(m.Rect.Min.X, y):], 4, channels)
	case *image.NRGBA64:
		samples16(line, m.Pix[m.PixOffset(m.Rect.Min.X, y):], 4, channels)
	case *image.Paletted:
		for x := range m.Rect.Dx() {
			c := color.NRGBAModel.Convert(m.At(m.Rect.Min.X+x, y)).(color.NRGBA)
			copy(line[x*channels:(x+1)*channels], []byte{c.R, c.G, c.B, c.A})
		}
	case *image.YCbCr:
		for x := range m.Rect.Dx() {
			c := m.YCbCrAt(m.Rect.Min.X+x, y)
			line[3*x], line[3*x+1], line[3*x+2] = color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
		}
		return channels == 3
	case *image.CMYK:
		for x := range m.Rect.Dx() {
			c := m.CMYKAt(m.Rect.Min.X+x, y)
			line[3*x], line[3*x+1], line[3*x+2] = color.CMYKToRGB(c.C, c.M, c.Y, c.K)
		}
		return channels == 3
	default:
		return false
	}
	return channels >= 3
}

// samples8 takes the first channels of each pixel of 4 bytes.
func samples8(line, pix []byte, channels int) {
	if channels == 4 {
		copy(line, pix)
		return
	}
	for i, j := 0, 0; i+3 <= len(line); i, j = i+3, j+4 {
		copy(line[i:i+3], pix[j:j+3])
	}
}

// samples16 takes the first channels of each pixel of stored big-endian
// samples.
func samples16(line, pix []byte, stored, channels int) {
	for i, j := 0, 0; i < len(line); i, j = i+2*channels, j+2*stored {
		for c := range channels {
			binary.NativeEndian.PutUint16(line[i+2*c:], binary.BigEndian.Uint16(pix[j+2*c:]))
		}
	}
}

func holdsPNG(h Header) error { return holdsPicture(h, ".png", 1, 3, 4) }

// withAlpha keeps the encoder from dropping the alpha channel of a picture
// that is opaque everywhere: four channels stay four.
type withAlpha struct{ image.Image }

func (withAlpha) Opaque() bool { return false }

func writePNG(w io.Writer, h Header, data []byte, _ Options) error {
	rows, cols, channels := int(h.Shape[0]), int(h.Shape[1]), 1
	if len(h.Shape) == 3 {
		channels = int(h.Shape[2])
	}
	area := image.Rect(0, 0, cols, rows)
	var img image.Image
	switch {
	case h.DType == devices.Uint8 && channels == 1:
		img = &image.Gray{Pix: data, Stride: cols, Rect: area}
	case h.DType == devices.Uint16 && channels == 1:
		m := image.NewGray16(area)
		samplesOut16(m.Pix, data, 1, 1)
		img = m
	case h.DType == devices.Uint8 && channels == 4:
		m := &image.NRGBA{Pix: data, Stride: 4 * cols, Rect: area}
		if img = m; m.Opaque() {
			img = withAlpha{m}
		}
	case h.DType == devices.Uint8:
		m := image.NewNRGBA(area)
		for i, j := 0, 0; i < len(data); i, j = i+3, j+4 {
			copy(m.Pix[j:j+3], data[i:i+3])
			m.Pix[j+3] = 255
		}
		img = m
	default:
		m := image.NewNRGBA64(area)
		samplesOut16(m.Pix, data, 4, channels)
		if img = m; channels == 4 && m.Opaque() {
			img = withAlpha{m}
		}
	}
	return png.Encode(w, img)
}

// samplesOut16 is the way back of samples16; missing alpha is opaque.
func samplesOut16(pix, data []byte, stored, channels int) {
	for i, j := 0, 0; i < len(data); i, j = i+2*channels, j+2*stored {
		for c := range channels {
			binary.BigEndian.PutUint16(pix[j+2*c:], binary.NativeEndian.Uint16(data[i+2*c:]))
		}
		if channels < stored {
			binary.BigEndian.PutUint16(pix[j+2*channels:], 65535)
		}
	}
}
