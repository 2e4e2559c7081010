package arrayfile

import (
	"bufio"
	"fmt"
	"image/color"
	"image/jpeg"
	"io"

	"github.com/tandemrun/tandem/devices"
)

// jpegPixelsPerByte is the most pixels that a byte of a JPEG file can describe:
// each block of 64 takes at least one bit.
const jpegPixelsPerByte = 8 * 64

// statJPEG reads the frame header. Gray pictures are (h, w), others (h, w, 3),
// both uint8.
//
// The colors are computed in integers and therefore the same on every machine:
// the standard library's decoder, its YCbCr to RGB conversion, and subsampled
// chroma taken from the nearest sample. (Go 1.26 brought a new decoder, older
// ones gave other values.) Other programs smooth the chroma and differ by a few
// steps at edges of color. An orientation in the file's EXIF
// part is not applied.
func statJPEG(s source, _ Options) (Header, error) {
	c, err := jpeg.DecodeConfig(bufio.NewReader(io.NewSectionReader(s, 0, s.size)))
	if err != nil {
		return Header{}, fmt.Errorf("damaged JPEG picture: %w", err)
	}
	h := Header{devices.Uint8, []int64{int64(c.Height), int64(c.Width)}}
	if c.ColorModel != color.GrayModel {
		h.Shape = append(h.Shape, 3)
	}
	if c.Height == 0 || c.Width == 0 {
		return h, fmt.Errorf("a picture of %d x %d pixels does not exist", c.Width, c.Height)
	}
	if pixels := int64(c.Height) * int64(c.Width); pixels > jpegPixelsPerByte*s.size {
		return h, fmt.Errorf("%d x %d pixels cannot come out of %d bytes", c.Width, c.Height, s.size)
	}
	return h, nil
}

func readJPEG(s source, o Options, alloc Alloc) (Header, error) {
	h, err := statJPEG(s, o)
	if err != nil {
		return h, err
	}
	img, err := jpeg.Decode(bufio.NewReader(s))
	if err != nil {
		return h, fmt.Errorf("damaged JPEG picture: %w", err)
	}
	mem, err := alloc.memory(h)
	if err != nil {
		return h, err
	}
	return h, pixels(mem, h, img)
}
