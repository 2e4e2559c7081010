package arrayfile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestPNM(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		want          Array
	}{
		{"a.pgm", "P2\n# made by hand\n3 2 # size\n15\n0 1 2\n3 4 15", array([]int64{2, 3}, uint8(0), 1, 2, 3, 4, 15)},
		{"a.pgm", "P2 1 1 65535 65535\n", array([]int64{1, 1}, uint16(65535))},
		{"a.ppm", "P3\n1 2\n255\n1 2 3\n4 5 6\n", array([]int64{2, 1, 3}, uint8(1), 2, 3, 4, 5, 6)},
		{"a.pgm", "P5\n2 1\n255\n#\n", array([]int64{1, 2}, uint8('#'), '\n')},
		{"a.pgm", "P5 2 1 1000\n\x00\x01\x03\xe8", array([]int64{1, 2}, uint16(1), 1000)},
		{"a.ppm", "P6#c\n1#d\n1 255\nabc\n", array([]int64{1, 1, 3}, uint8('a'), 'b', 'c')},
	} {
		check(t, tt.content, mustRead(t, put(t, tt.name, []byte(tt.content)), Options{}), tt.want)
	}
	for content, want := range map[string]string{
		"":                                    "shorter than 2 bytes",
		"P1\n1 1\n1":                          `"P1"`,
		"P7\nWIDTH 1":                         `"P7"`,
		"P5\n":                                "width: the file ends early",
		"P5\n2 x":                             "height: 'x'",
		"P5\n0 1\n255\n":                      "width is 0",
		"P5\n1 1\n65536\nxx":                  "65536",
		"P5\n1 1\n0\nx":                       "largest value is 0",
		"P5\n99999999999 1\n255\nx":           "above 2147483647",
		"P5\n2000000000 2000000000\n":         "ends early",
		"P5\n2000000000 2000000000\n255\nx":   "the file has only",
		"P5\n2147483647 2147483647\n65535\nx": "the file has only",
		"P5\n4 1\n255\nabc":                   "4 bytes, the file has only 3",
		"P5\n1 1\n255\nabc":                   "goes on behind",
		"P5\n1 1\n9\na":                       "the value 97, above the largest value 9",
		"P5\n1 1\n300\n\x01\x2d":              "the value 301, above",
		"P2\n3 1\n9\n1 2 10":                  "value 2 is 10, above",
		"P2\n9 9\n9\n1 2 3":                   "at least 161 bytes",
		"P2\n2 1\n9\n1         x":             "value 1 of 2: 'x'",
		"P2\n2 1\n9\n1 # for ever":            "comment",
	} {
		path := put(t, "a.pgm", []byte(content))
		_, err := read(path, Options{})
		refused(t, path, err, want)
	}
}

func encodePNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// chunkPNG is a chunk with its checksum.
func chunkPNG(kind string, data []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, kind...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

func TestPNGKinds(t *testing.T) {
	area := image.Rect(0, 0, 2, 1)
	pal := image.NewPaletted(area, color.Palette{color.NRGBA{9, 8, 7, 255}, color.NRGBA{1, 2, 3, 255}})
	pal.Pix[1] = 1
	check(t, "palette", mustRead(t, put(t, "a.png", encodePNG(t, pal)), Options{}),
		array([]int64{1, 2, 3}, uint8(9), 8, 7, 1, 2, 3))
	pal.Palette[1] = color.NRGBA{1, 2, 3, 4}
	check(t, "palette with transparency", mustRead(t, put(t, "a.png", encodePNG(t, pal)), Options{}),
		array([]int64{1, 2, 4}, uint8(9), 8, 7, 255, 1, 2, 3, 4))

	// A gray picture one of whose values means transparent, which the color
	// type alone does not show.
	gray := encodePNG(t, &image.Gray{Pix: []byte{5, 6}, Stride: 2, Rect: area})
	at := 8 + 25
	clear := append(append(bytes.Clone(gray[:at]), chunkPNG("tRNS", []byte{0, 6})...), gray[at:]...)
	check(t, "gray", mustRead(t, put(t, "a.png", gray), Options{}), array([]int64{1, 2}, uint8(5), 6))
	check(t, "gray with transparency", mustRead(t, put(t, "a.png", clear), Options{}),
		array([]int64{1, 2, 4}, uint8(5), 5, 5, 255, 6, 6, 6, 0))

	for i := range gray[:len(gray)-12] {
		path := put(t, "a.png", gray[:i])
		_, err := read(path, Options{})
		refused(t, path, err)
	}
	for i := range gray {
		// Whatever a damaged byte does, it does not panic.
		bad := bytes.Clone(gray)
		bad[i] ^= 0x55
		_, _ = read(put(t, "a.png", bad), Options{})
	}
}

// hugePNG claims w x h pixels and has none.
func hugePNG(w, h uint32) []byte {
	head := binary.BigEndian.AppendUint32(nil, w)
	head = binary.BigEndian.AppendUint32(head, h)
	head = append(head, 16, 6, 0, 0, 0)
	b := append([]byte(pngMagic), chunkPNG("IHDR", head)...)
	b = append(b, chunkPNG("IDAT", nil)...)
	return append(b, chunkPNG("IEND", nil)...)
}

func TestPicturesThatClaimTooMuch(t *testing.T) {
	for _, size := range []uint32{30000, 1<<31 - 1} {
		path := put(t, "a.png", hugePNG(size, size))
		_, err := read(path, Options{})
		refused(t, path, err)
	}
	path := put(t, "a.png", hugePNG(1<<31, 1))
	_, err := read(path, Options{})
	refused(t, path, err, "2147483648 x 1 pixels does not exist")

	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	big := b.Bytes()
	frame := bytes.Index(big, []byte{0xff, 0xc0}) + 5
	binary.BigEndian.PutUint16(big[frame:], 65500)
	binary.BigEndian.PutUint16(big[frame+2:], 65500)
	path = put(t, "a.jpg", big)
	_, err = read(path, Options{})
	refused(t, path, err, "65500 x 65500 pixels cannot come out of")
	path = put(t, "a.jpeg", []byte("no picture"))
	_, err = read(path, Options{})
	refused(t, path, err, "JPEG")
}

func TestJPEG(t *testing.T) {
	var b bytes.Buffer
	flat := image.NewGray(image.Rect(0, 0, 9, 17))
	for i := range flat.Pix {
		flat.Pix[i] = 200
	}
	if err := jpeg.Encode(&b, flat, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	check(t, "gray", mustRead(t, put(t, "a.jpg", b.Bytes()), Options{}), Array{Header{devices.Uint8, []int64{17, 9}}, bytes.Repeat([]byte{200}, 17*9)})

	b.Reset()
	red := image.NewRGBA(image.Rect(0, 0, 16, 3))
	for i := 0; i < len(red.Pix); i += 4 {
		copy(red.Pix[i:], []byte{255, 0, 0, 255})
	}
	if err := jpeg.Encode(&b, red, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	got := mustRead(t, put(t, "a.jpg", b.Bytes()), Options{})
	if got.Shape[0] != 3 || got.Shape[1] != 16 || got.Shape[2] != 3 {
		t.Fatalf("got %s", got.Header)
	}
	for i := 0; i < len(got.Data); i += 3 {
		if p := got.Data[i : i+3]; p[0] < 252 || p[1] > 3 || p[2] > 3 {
			t.Fatalf("pixel %d is %v, want about 255 0 0", i/3, p)
		}
	}
}
