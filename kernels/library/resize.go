package library

import (
	"fmt"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

func imageResize() *kernels.Kernel {
	return &kernels.Kernel{
		Name: "image.resize",
		Doc:  "bilinear, pixel centres aligned, in fixed point (steps in 1/2^32, weights in 1/2048); takes the size of dst. Shrink by halves: it looks at four pixels only",
		Params: []kernels.Param{
			in("src", devices.Uint8, resizeBand, "picture (h, w) or (h, w, c)"),
			out("dst", devices.Uint8, kernels.Rows("dst", 0), "picture of the wanted size, with as many channels"),
			implied("width", devices.Int32, "pixels of a row of dst"),
			implied("height", devices.Int32, "rows of dst"),
			implied("channels", devices.Int32, "bytes of a pixel"),
			implied("src_width", devices.Int32, "pixels of a row of src"),
			implied("src_height", devices.Int32, "rows of src"),
			implied("step_x", devices.Int64, "pixels of src for one of dst, in 1/2^32"),
			implied("step_y", devices.Int64, "rows of src for one of dst, in 1/2^32"),
		},
		Variants: variants(resizeGo, imageCL, "image_resize", kernels.Needs{}),
		Infer:    inferResize,
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 12 * bytesOf(c, "dst"), Bytes: bytesOf(c, "src", "dst")}
		},
	}
}

func inferResize(c *kernels.Call) error {
	src, err := pictureOf(c, "src", 4)
	if err != nil {
		return err
	}
	dst, err := pictureOf(c, "dst", 4)
	if err != nil {
		return err
	}
	if src.channels != dst.channels {
		return differ(c)
	}
	empty := src.height == 0 || src.width == 0
	if empty && dst.height > 0 && dst.width > 0 {
		return fmt.Errorf("\"src\" has shape %s: nothing to make a picture of", kernels.ShapeString(c.Array("src").Shape))
	}
	step := func(src, dst int64) int64 { return src << 32 / max(dst, 1) }
	// A place is computed as (2·i+1)·step, which has to stay below 2^63.
	if src.width >= 1<<29 || src.height >= 1<<29 {
		return fmt.Errorf("\"src\" has shape %s; no side may exceed %d", kernels.ShapeString(c.Array("src").Shape), 1<<29-1)
	}
	err = set(c, "width", dst.width, "height", dst.height, "channels", dst.channels, "src_width", src.width, "src_height", src.height,
		"step_x", step(src.width, dst.width), "step_y", step(src.height, dst.height))
	if err != nil {
		return err
	}
	return setRange(c, dst.width, dst.height)
}

// resizeBand is exact where a row of dst stands for a whole number of rows of
// src: row y looks at rows y·s+(s-1)/2 and the next. Otherwise the start moves
// by fractions of a row, which a band cannot say, and src is needed whole.
func resizeBand(c *kernels.Call) (kernels.Band, error) {
	src, dst := c.Array("src"), c.Array("dst")
	if dst.Shape[0] == 0 || src.Shape[0]%dst.Shape[0] != 0 {
		return kernels.Band{Dim: 1, High: src.Elements()}, nil
	}
	s := src.Shape[0] / dst.Shape[0]
	row := src.Elements() / max(src.Shape[0], 1)
	first := (s - 1) / 2
	return kernels.Band{Dim: 1, Stride: s * row, Low: first * row, High: (first + 2) * row}, nil
}

// sourcePlace is where pixel i of dst lies in a side of n pixels of src: the
// pixel before it, and how far beyond that, in 1/2048.
func sourcePlace(i, step int64, n int) (at, frac int) {
	p := (2*i+1)*step>>1 - 1<<31
	p = min(max(p, 0), int64(n-1)<<32)
	return int(p >> 32), int(p>>21) & 2047
}

// resizeStrip is how many bytes of a row are computed at a time: their places,
// which all rows share, stay in the first-level cache.
const resizeStrip = 512

// places say for each byte of a strip where its left neighbour lies in a row of
// src, and what that and the one channels further on weigh, together 2048.
type places struct {
	at      [resizeStrip]int
	weights [resizeStrip][2]int16
}

// fill makes the places of n bytes from byte x on. A pixel between the last one
// of src and nothing is the right neighbour, of full weight, of the one before,
// so that both lie in the row; of a row of one pixel both are that.
func (p *places) fill(x, n int, step int64, width, channels int) (apart int) {
	apart = channels
	if width == 1 {
		apart = 0
	}
	pixel, c := x/channels, x%channels
	at, frac := sourcePlace(int64(pixel), step, width)
	for i := range n {
		left, weight := at, frac
		if at == width-1 && width > 1 {
			left, weight = at-1, 2048
		}
		p.at[i] = left*channels + c
		p.weights[i] = [2]int16{int16(2048 - weight), int16(weight)}
		if c++; c == channels {
			pixel, c = pixel+1, 0
			at, frac = sourcePlace(int64(pixel), step, width)
		}
	}
	return apart
}

func resizeGo(r devices.Range, a *devices.Args) {
	src, dst := a.Bytes(0), a.Bytes(1)
	width, channels := int(devices.Value[int32](a, 2)), int(devices.Value[int32](a, 4))
	srcWidth, srcHeight := int(devices.Value[int32](a, 5)), int(devices.Value[int32](a, 6))
	stepX, stepY := devices.Value[int64](a, 7), devices.Value[int64](a, 8)
	row := srcWidth * channels
	var p places
	for lo := r.Lo[0] * channels; lo < r.Hi[0]*channels; lo += resizeStrip {
		n := min(resizeStrip, r.Hi[0]*channels-lo)
		apart := p.fill(lo, n, stepX, srcWidth, channels)
		for y := r.Lo[1]; y < r.Hi[1]; y++ {
			y0, wy := sourcePlace(int64(y), stepY, srcHeight)
			y1 := min(y0+1, srcHeight-1)
			d := dst[y*width*channels+lo:][:n]
			resizeRow(d, src[y0*row:y0*row+row], src[y1*row:y1*row+row], &p, apart, wy)
		}
	}
}

// resizeRow computes bytes of a row between rows top and low of src.
func resizeRow(d, top, low []byte, p *places, apart, wy int) {
	low = low[:len(top)]
	done := 0
	if apart > 0 {
		done = resizeBlocks(d, top, low, p, apart, wy)
	}
	down, up := int32(wy), int32(2048-wy)
	at, weights := p.at[:len(d)], p.weights[:len(d)]
	for i := done; i < len(d); i++ {
		l := at[i]
		r := l + apart
		wl, wr := int32(weights[i][0]), int32(weights[i][1])
		t := int32(top[l])*wl + int32(top[r])*wr
		b := int32(low[l])*wl + int32(low[r])*wr
		d[i] = byte((t*up + b*down + 1<<21) >> 22)
	}
}
