package library

import (
	"fmt"
	"math"
	"slices"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/rtl/builtin"
)

// Pictures are uint8 of shape (height, width) or (height, width, channels),
// with 1 to 4 interleaved channels. Everything is computed in integers.
var (
	ImageGray      = builtin.Extend(imageGray())
	ImageBlur      = builtin.Extend(imageBlur())
	ImageSobel     = builtin.Extend(imageSobel())
	ImageThreshold = builtin.Extend(imageThreshold())
	ImageResize    = imageResize()
	ImageHistogram = imageHistogram()
)

var imageCL = clSource("image.cl", "")

// itemBytes are the neighbouring bytes of a row that a work-item of blur and
// sobel computes.
const itemBytes = 8

// A picture is the shape of one.
type picture struct {
	height, width, channels int64
}

// pictureOf reads the shape of the named array; maxChannels 1 asks for a gray
// picture, without a third dimension or with one of 1.
func pictureOf(c *kernels.Call, name string, maxChannels int64) (picture, error) {
	a := c.Array(name)
	if a == nil {
		return picture{}, fmt.Errorf("array %q is missing", name)
	}
	p := picture{channels: 1}
	s := a.Shape
	if len(s) == 3 {
		p.channels = s[2]
	}
	if len(s) < 2 || len(s) > 3 || p.channels < 1 || p.channels > maxChannels {
		want := fmt.Sprintf("a picture (height, width) or (height, width, channels) of 1 to %d channels", maxChannels)
		if maxChannels == 1 {
			want = "a gray picture (height, width); image.gray makes one"
		}
		return p, fmt.Errorf("%q has shape %s, want %s", name, kernels.ShapeString(s), want)
	}
	p.height, p.width = s[0], s[1]
	// The kernels count the bytes of a row in an int32.
	if p.height > math.MaxInt32-8 || p.width > (math.MaxInt32-64)/p.channels {
		return p, fmt.Errorf("%q has shape %s: too large for a picture, whose rows have to be below 2 GiB", name, kernels.ShapeString(s))
	}
	return p, nil
}

func imageGray() *kernels.Kernel {
	return &kernels.Kernel{
		Name: "image.gray",
		Doc:  "gray = (77·red + 150·green + 29·blue + 128) / 256",
		Params: []kernels.Param{
			in("src", devices.Uint8, kernels.Rows("src", 0), "picture (h, w, 3) or (h, w, 4), whose fourth channel is not looked at; (h, w) is copied"),
			out("dst", devices.Uint8, kernels.Rows("dst", 0), "gray picture (h, w)"),
			implied("width", devices.Int32, "pixels of a row"),
			implied("channels", devices.Int32, "bytes of a pixel of src"),
		},
		Variants: variants(grayGo, imageCL, "image_gray", kernels.Needs{}),
		Infer: func(c *kernels.Call) error {
			src, err := pictureOf(c, "src", 4)
			if err != nil {
				return err
			}
			if src.channels == 2 {
				return fmt.Errorf("\"src\" has shape %s: 2 channels are neither gray nor RGB", kernels.ShapeString(c.Array("src").Shape))
			}
			dst, err := pictureOf(c, "dst", 1)
			if err != nil {
				return err
			}
			if dst.height != src.height || dst.width != src.width {
				return differ(c)
			}
			if err := set(c, "width", src.width, "channels", src.channels); err != nil {
				return err
			}
			return setRange(c, src.width, src.height)
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 7 * float64(c.Range.Items()), Bytes: bytesOf(c, "src", "dst")}
		},
	}
}

func imageBlur() *kernels.Kernel {
	return &kernels.Kernel{
		Name: "image.blur",
		Doc:  "5×5 Gaussian: weights 1 4 6 4 1 in both directions, (sum + 128) / 256; beyond the edge the outermost pixel repeats",
		Params: []kernels.Param{
			in("src", devices.Uint8, kernels.Rows("src", 2), "picture (h, w) or (h, w, c)"),
			out("dst", devices.Uint8, kernels.Rows("dst", 0), "blurred picture, of src's shape"),
			implied("width", devices.Int32, "pixels of a row"),
			implied("height", devices.Int32, "rows"),
			implied("channels", devices.Int32, "bytes of a pixel"),
		},
		Variants: variants(blurGo, imageCL, "image_blur", kernels.Needs{}),
		Infer: func(c *kernels.Call) error {
			p, err := samePicture(c, 4)
			if err != nil {
				return err
			}
			if err := set(c, "width", p.width, "height", p.height, "channels", p.channels); err != nil {
				return err
			}
			return setRange(c, ceilDiv(p.width*p.channels, itemBytes), p.height)
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 50 * bytesOf(c, "dst"), Bytes: bytesOf(c, "src", "dst")}
		},
	}
}

func imageSobel() *kernels.Kernel {
	return &kernels.Kernel{
		Name: "image.sobel",
		Doc:  "edge strength: the whole part of the root of gx² + gy² (3×3 Sobel), at most 255; beyond the edge the outermost pixel repeats",
		Params: []kernels.Param{
			in("src", devices.Uint8, kernels.Rows("src", 1), "gray picture (h, w)"),
			out("dst", devices.Uint8, kernels.Rows("dst", 0), "edges, of src's shape"),
			implied("width", devices.Int32, "pixels of a row"),
			implied("height", devices.Int32, "rows"),
		},
		Variants: variants(sobelGo, imageCL, "image_sobel", kernels.Needs{}),
		Infer: func(c *kernels.Call) error {
			p, err := samePicture(c, 1)
			if err != nil {
				return err
			}
			if err := set(c, "width", p.width, "height", p.height); err != nil {
				return err
			}
			return setRange(c, ceilDiv(p.width, itemBytes), p.height)
		},
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 16 * bytesOf(c, "dst"), Bytes: bytesOf(c, "src", "dst")}
		},
	}
}

func imageThreshold() *kernels.Kernel {
	one := kernels.PerItem(1)
	return &kernels.Kernel{
		Name: "image.threshold",
		Doc:  "255 where the picture is at least level, else 0",
		Params: []kernels.Param{
			in("src", devices.Uint8, one, "picture, of any shape"),
			out("dst", devices.Uint8, one, "0 or 255, of src's shape"),
			value("level", devices.Int32, 128, "least value that gives 255; above 255 all is 0, below 1 all is 255"),
		},
		Variants: variants(thresholdGo, imageCL, "image_threshold", kernels.Needs{}),
		Infer:    elementwise("src", "dst"),
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: bytesOf(c, "src"), Bytes: bytesOf(c, "src", "dst")}
		},
	}
}

// differ is the error of a dst that does not fit src.
func differ(c *kernels.Call) error {
	return fmt.Errorf("\"src\" has shape %s and \"dst\" has shape %s; they do not fit each other",
		kernels.ShapeString(c.Array("src").Shape), kernels.ShapeString(c.Array("dst").Shape))
}

// samePicture is the shape of src, which dst has to have too.
func samePicture(c *kernels.Call, maxChannels int64) (picture, error) {
	p, err := pictureOf(c, "src", maxChannels)
	if err != nil {
		return p, err
	}
	if _, err := pictureOf(c, "dst", maxChannels); err != nil {
		return p, err
	}
	if !slices.Equal(c.Array("src").Shape, c.Array("dst").Shape) {
		return p, differ(c)
	}
	return p, nil
}
