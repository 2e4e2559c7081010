// Package board finds FPGA boards in a /sys tree, without vendor libraries:
// Intel boards under the kernel's DFL drivers or the OPAE ones, Xilinx cards
// under XRT (xocl), and any other PCI device of the class of processing
// accelerators.
package board

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/bitstream"
)

// Kind says which driver a board was found under.
type Kind string

// The kinds.
const (
	DFL  Kind = "dfl"  // the kernel's own drivers for Intel boards
	OPAE Kind = "opae" // Intel's drivers from outside of the kernel
	XRT  Kind = "xrt"  // Xilinx
	PCI  Kind = "pci"  // no FPGA driver: a device of class 0x12
)

// Board is a board as the system knows it.
type Board struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // the system's: "region0", "intel-fpga-dev.0", a PCI address
	// PCI is the address, "" if the system does not say.
	PCI      string `json:"pci,omitempty"`
	Vendor   string `json:"vendor,omitempty"` // PCI ids: "8086"
	Device   string `json:"device,omitempty"`
	NUMANode int    `json:"numa_node"` // -1: none
	// InterfaceID is what an image has to be for, 32 hexadecimal digits.
	InterfaceID string `json:"interface_id,omitempty"`
	// BitstreamID is that of the static part of an Intel board, or of the
	// image that a Xilinx card has loaded.
	BitstreamID string `json:"bitstream_id,omitempty"`
	Platform    string `json:"platform,omitempty"` // Xilinx: vendor, board, name, version
	Ports       []Port `json:"ports,omitempty"`
}

// Port is a region of a board that holds one accelerator.
type Port struct {
	Name string `json:"name"`
	// AFU is the id of the accelerator that is loaded, 32 hexadecimal digits.
	AFU string `json:"afu_id,omitempty"`
}

// Accepts reports whether the board can load an image: nil, or an error that
// names the board and both ids.
func (b *Board) Accepts(f *bitstream.File) error {
	if b.InterfaceID == "" {
		return fmt.Errorf("%s %s does not say which interface it has: %w", b.Kind, b.Name, devices.ErrUnsupported)
	}
	if err := f.Fits(b.InterfaceID); err != nil {
		return fmt.Errorf("%s %s: %w", b.Kind, b.Name, err)
	}
	return nil
}

// Result is what Probe found.
type Result struct {
	Boards []Board
	// Warnings are files that are there and cannot be read.
	Warnings []string
}

// Probe looks for boards in a /sys tree; root is "" for the system's own.
// Boards are sorted by kind and name. A tree without any gives none.
func Probe(root string) Result {
	if root == "" {
		root = "/sys"
	}
	p := &prober{root: root, seen: map[string]bool{}}
	p.dfl()
	p.opae()
	p.xrt()
	p.pci()
	slices.SortStableFunc(p.Boards, func(a, b Board) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return p.Result
}

type prober struct {
	Result
	root string
	seen map[string]bool // PCI addresses
}

// maxFile bounds what is read of one file; /sys has small ones only.
const maxFile = 4096

// read reads a file below the root, "" if it is not there.
func (p *prober) read(name string) string {
	f, err := os.Open(filepath.Join(p.root, filepath.FromSlash(name)))
	if err == nil {
		defer f.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(f, maxFile)); err == nil {
			return strings.TrimSpace(string(b))
		}
	}
	if !os.IsNotExist(err) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s: %v", path.Join("/sys", name), err))
	}
	return ""
}

// glob lists names below the root, sorted.
func (p *prober) glob(pattern string) []string {
	found, err := filepath.Glob(filepath.Join(escape(p.root), filepath.FromSlash(pattern)))
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range found {
		if rel, err := filepath.Rel(p.root, f); err == nil {
			names = append(names, filepath.ToSlash(rel))
		}
	}
	slices.Sort(names)
	return names
}

// escape takes the meaning of a pattern from the root's own characters.
func escape(s string) string {
	for _, c := range []string{`\`, "*", "?", "["} {
		s = strings.ReplaceAll(s, c, `\`+c)
	}
	return s
}

// first reads the first of the files that a pattern finds.
func (p *prober) first(pattern string) string {
	for _, name := range p.glob(pattern) {
		if v := p.read(name); v != "" {
			return v
		}
	}
	return ""
}

// pciOf fills in what is known of the PCI device behind a link.
func (p *prober) pciOf(b *Board, link string) {
	b.NUMANode = -1
	dir, err := filepath.EvalSymlinks(filepath.Join(p.root, filepath.FromSlash(link)))
	if err != nil {
		return
	}
	for ; len(dir) > len(p.root); dir = filepath.Dir(dir) {
		if isAddress(filepath.Base(dir)) {
			b.PCI = filepath.Base(dir)
			break
		}
	}
	if b.PCI == "" {
		return
	}
	rel, err := filepath.Rel(p.root, dir)
	if err != nil {
		return
	}
	rel = filepath.ToSlash(rel)
	b.Vendor = strings.TrimPrefix(p.read(rel+"/vendor"), "0x")
	b.Device = strings.TrimPrefix(p.read(rel+"/device"), "0x")
	if n, err := strconv.Atoi(p.read(rel + "/numa_node")); err == nil {
		b.NUMANode = n
	}
}

// isAddress reports whether a name is a PCI address: 0000:65:00.1.
func isAddress(s string) bool {
	if len(s) != 12 || s[4] != ':' || s[7] != ':' || s[10] != '.' {
		return false
	}
	return strings.Trim(s[:4]+s[5:7]+s[8:10]+s[11:], "0123456789abcdef") == ""
}

// add keeps a board, and its PCI device from being listed once more.
func (p *prober) add(b Board) {
	if b.PCI != "" {
		p.seen[b.PCI] = true
	}
	b.InterfaceID, b.BitstreamID = bitstream.NormalID(b.InterfaceID), bitstream.NormalID(b.BitstreamID)
	for i := range b.Ports {
		b.Ports[i].AFU = bitstream.NormalID(b.Ports[i].AFU)
	}
	p.Boards = append(p.Boards, b)
}

// ports reads the ports that a pattern finds.
func (p *prober) ports(pattern string) []Port {
	var list []Port
	for _, dir := range p.glob(pattern) {
		list = append(list, Port{Name: path.Base(dir), AFU: p.read(dir + "/afu_id")})
	}
	return list
}
