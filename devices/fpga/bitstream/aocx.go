package bitstream

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

// maxUnpacked bounds what comes out of a packed section.
const maxUnpacked = 16 << 20

// readAOCX reads an ELF file whose sections are named .acl.*.
func readAOCX(data []byte) (file *File, err error) {
	// The standard library's reader is not made for hostile files.
	defer func() {
		if r := recover(); r != nil {
			file, err = nil, fmt.Errorf("AOCX: damaged ELF file: %v: %w", r, devices.ErrInvalid)
		}
	}()
	e, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("AOCX: %v: %w", err, devices.ErrInvalid)
	}
	f := &File{Format: AOCX}
	texts := map[string]string{}
	var image []byte
	for _, s := range e.Sections {
		if !strings.HasPrefix(s.Name, ".acl.") {
			continue
		}
		b, err := part(data, "AOCX: section "+s.Name, s.Offset, s.FileSize)
		if err != nil {
			return nil, err
		}
		f.Sections = append(f.Sections, Section{s.Name, int64(s.Offset), int64(s.FileSize)})
		if s.Name == ".acl.fpga.bin" {
			image = b
		} else if len(b) < 16<<20 {
			texts[s.Name] = word(b)
		}
	}
	if len(f.Sections) == 0 {
		return nil, fmt.Errorf("AOCX: an ELF file without sections .acl.*: %w", devices.ErrInvalid)
	}
	f.Board, f.Target, f.Version = texts[".acl.board"], texts[".acl.target"], texts[".acl.version"]
	if id := NormalID(texts[".acl.hash"]); isID(id) {
		f.ID = id
	}
	if t := texts[".acl.kernel_arg_info.xml"]; t != "" {
		if f.Kernels, err = kernelXML(t); err != nil {
			return nil, fmt.Errorf("AOCX: section .acl.kernel_arg_info.xml: %v: %w", err, devices.ErrInvalid)
		}
	}
	if mhz := reportedClock(texts[".acl.quartus_report.txt"]); mhz > 0 {
		f.ClocksMHz = []Clock{{"kernel", mhz}}
	}
	gbs, err := innerGBS(image)
	if err != nil {
		return nil, fmt.Errorf("AOCX: section .acl.fpga.bin: %w", err)
	}
	if gbs != nil {
		f.InterfaceID, f.Accelerators = gbs.InterfaceID, gbs.Accelerators
		if len(f.ClocksMHz) == 0 {
			f.ClocksMHz = gbs.ClocksMHz
		}
	}
	return f, nil
}

// innerGBS reads the GBS inside an AOCX: as it is, or packed in a section of
// another ELF file. nil: there is none.
func innerGBS(image []byte) (*File, error) {
	if bytes.HasPrefix(image, []byte(gbsMagic)) {
		return readGBS(image)
	}
	if !bytes.HasPrefix(image, []byte("\x7fELF")) {
		return nil, nil
	}
	e, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("%v: %w", err, devices.ErrInvalid)
	}
	for _, name := range []string{".acl.gbs", ".acl.gbs.gz"} {
		s := e.Section(name)
		if s == nil {
			continue
		}
		b, err := part(image, "section "+name, s.Offset, s.FileSize)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, fmt.Errorf("section %s: %v: %w", name, err, devices.ErrInvalid)
			}
			// The metadata is at the front; the bitstream behind it is not
			// looked at.
			if b, err = io.ReadAll(io.LimitReader(z, maxUnpacked)); err != nil {
				return nil, fmt.Errorf("section %s: %v: %w", name, err, devices.ErrInvalid)
			}
		}
		return readGBS(b)
	}
	return nil, nil
}

var clockLine = regexp.MustCompile(`(?i)actual clock freq[a-z]*:\s*([0-9.]+)`)

// reportedClock finds the clock in a report of the compiler, 0 if it is not
// there.
func reportedClock(report string) float64 {
	m := clockLine.FindStringSubmatch(report)
	if m == nil {
		return 0
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0
	}
	return f
}

// kernelXML reads the elements kernel, and inside of them argument or arg, of a
// document of either vendor.
func kernelXML(text string) ([]Kernel, error) {
	d := xml.NewDecoder(strings.NewReader(text))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var list []Kernel
	inside := false
	for {
		t, err := d.Token()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			a := attributes(t)
			switch {
			case t.Name.Local == "kernel":
				list = append(list, Kernel{Name: a["name"]})
				inside = true
			case inside && (t.Name.Local == "argument" || t.Name.Local == "arg"):
				k := &list[len(list)-1]
				k.Args = append(k.Args, argument(a))
			}
		case xml.EndElement:
			if t.Name.Local == "kernel" {
				inside = false
			}
		}
	}
}

func attributes(t xml.StartElement) map[string]string {
	a := map[string]string{}
	for _, attr := range t.Attr {
		a[attr.Name.Local] = attr.Value
	}
	return a
}

func argument(a map[string]string) Arg {
	first := func(names ...string) string {
		for _, n := range names {
			if a[n] != "" {
				return a[n]
			}
		}
		return ""
	}
	arg := Arg{Name: a["name"], Type: first("type_name", "type"), Space: first("address_qualifier", "addressQualifier")}
	if n, err := strconv.ParseInt(first("size", "type_size"), 0, 32); err == nil && n > 0 {
		arg.Bytes = int(n)
	}
	return arg
}
