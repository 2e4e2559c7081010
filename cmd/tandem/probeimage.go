package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/bitstream"
	"github.com/tandemrun/tandem/devices/fpga/board"
)

// maxImage bounds the FPGA images that are read, in bytes: the largest FPGAs
// take a few hundred megabytes.
const maxImage = 1 << 30

// imagesJSON is the document of `tandem probe FILE... --json`.
type imagesJSON struct {
	Images []imageJSON   `json:"images"`
	Boards []board.Board `json:"boards"`
}

// imageJSON is one FPGA image.
type imageJSON struct {
	File  string          `json:"file"`
	Image *bitstream.File `json:"image"`
	Fits  []fitJSON       `json:"fits"` // by board of this machine
}

// fitJSON says whether a board takes an image.
type fitJSON struct {
	Board   string `json:"board"`
	OK      bool   `json:"ok"`
	Refused string `json:"refused,omitempty"` // with both ids
}

// boards looks for FPGA boards.
func boards() board.Result {
	root := os.Getenv(rootVariable)
	if root != "" {
		root = filepath.Join(root, "sys")
	}
	r := board.Probe(root)
	if r.Boards == nil {
		r.Boards = []board.Board{}
	}
	return r
}

// probeImages shows what FPGA images say of themselves and which boards take
// them. An image that none of the boards there are takes is an error.
func (a *app) probeImages(files []string) error {
	found := boards()
	for _, w := range found.Warnings {
		a.warn("%s", w)
	}
	doc := imagesJSON{Images: []imageJSON{}, Boards: found.Boards}
	var errs []error
	for _, name := range files {
		f, err := readImage(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		j := imageJSON{File: name, Image: f, Fits: []fitJSON{}}
		var refused []error
		for i := range found.Boards {
			b := &found.Boards[i]
			fit := fitJSON{Board: b.Name, OK: true}
			if err := b.Accepts(f); err != nil {
				fit.OK, fit.Refused = false, plain(err)
				refused = append(refused, fmt.Errorf("%s: %w", name, err))
			}
			j.Fits = append(j.Fits, fit)
		}
		if len(refused) > 0 && len(refused) == len(found.Boards) {
			errs = append(errs, refused...)
		}
		doc.Images = append(doc.Images, j)
		printImage(a.text(), &j)
	}
	if len(doc.Images) == 0 {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, a.result(doc))...)
}

// readImage reads a file of bounded size.
func readImage(name string) (*bitstream.File, error) {
	st, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file; probe takes FPGA images (.aocx, .gbs, .xclbin), or nothing", name)
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file: %w", name, devices.ErrInvalid)
	case st.Size() > maxImage:
		return nil, fmt.Errorf("%s: %s; an FPGA image has at most %s: %w", name, byteText(st.Size()), byteText(maxImage), devices.ErrInvalid)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := bitstream.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

func printImage(w io.Writer, j *imageJSON) {
	f := j.Image
	fmt.Fprintf(w, "%s: %s\n", j.File, strings.Join(nonEmpty(string(f.Format), labelled("for ", f.Board), labelled("target ", f.Target), labelled("tools ", f.Version)), ", "))
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(w, "  %-12s %s\n", what, text)
		}
	}
	line("interface", f.InterfaceID)
	line("image", f.ID)
	for _, x := range f.Accelerators {
		line("accelerator", fmt.Sprintf("%s %s, %d context(s)", x.ID, x.Name, x.Contexts))
	}
	for _, k := range f.Kernels {
		var args []string
		for _, x := range k.Args {
			args = append(args, strings.Join(nonEmpty(x.Type, x.Name), " "))
		}
		line("kernel", fmt.Sprintf("%s(%s)", k.Name, strings.Join(args, ", ")))
	}
	for _, c := range f.ClocksMHz {
		line("clock", fmt.Sprintf("%s %g MHz", c.Name, c.MHz))
	}
	for _, s := range f.Sections {
		line("section", fmt.Sprintf("%-24s %10d bytes at %d", s.Name, s.Bytes, s.Offset))
	}
	for _, fit := range j.Fits {
		if fit.OK {
			line("board", fit.Board+" takes it")
		} else {
			line("board", fit.Refused)
		}
	}
	if len(j.Fits) == 0 {
		line("board", "none in this machine")
	}
}

func printBoards(w io.Writer, list []board.Board) {
	for i := range list {
		b := &list[i]
		fmt.Fprintf(w, "\nFPGA board %s\n", b.Name)
		line := func(what, text string) {
			if text != "" {
				fmt.Fprintf(w, "     %-11s %s\n", what, text)
			}
		}
		line("found by", string(b.Kind))
		line("pci", strings.Join(nonEmpty(b.PCI, strings.Trim(b.Vendor+":"+b.Device, ":")), ", "))
		line("platform", b.Platform)
		line("interface", b.InterfaceID)
		line("image", b.BitstreamID)
		for _, p := range b.Ports {
			line("port", strings.Join(nonEmpty(p.Name, labelled("accelerator ", p.AFU)), ", "))
		}
	}
}
