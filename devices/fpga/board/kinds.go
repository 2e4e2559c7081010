package board

import (
	"path"
	"strings"
)

// dfl finds boards under the drivers of Linux (Documentation/fpga/dfl.rst): a
// region with one management engine and its ports.
func (p *prober) dfl() {
	for _, dir := range p.glob("class/fpga_region/region*") {
		fme := p.glob(dir + "/dfl-fme.*")
		if len(fme) == 0 {
			continue // a region inside of a board
		}
		b := Board{Kind: DFL, Name: path.Base(dir), Ports: p.ports(dir + "/dfl-port.*")}
		b.BitstreamID = p.read(fme[0] + "/bitstream_id")
		b.InterfaceID = p.first(fme[0] + "/dfl-fme-region.*/fpga_region/region*/compat_id")
		p.pciOf(&b, dir+"/device")
		p.add(b)
	}
}

// opae finds boards under the drivers that Intel ships beside the kernel.
func (p *prober) opae() {
	for _, dir := range p.glob("class/fpga/intel-fpga-dev.*") {
		b := Board{Kind: OPAE, Name: path.Base(dir), Ports: p.ports(dir + "/intel-fpga-port.*")}
		b.BitstreamID = p.first(dir + "/intel-fpga-fme.*/bitstream_id")
		b.InterfaceID = p.first(dir + "/intel-fpga-fme.*/pr/interface_id")
		p.pciOf(&b, dir+"/device")
		p.add(b)
	}
}

// xrt finds Xilinx cards under the driver xocl.
func (p *prober) xrt() {
	for _, dir := range p.glob("bus/pci/drivers/xocl/*:*") {
		name := path.Base(dir)
		if !isAddress(name) {
			continue
		}
		b := Board{Kind: XRT, Name: name}
		b.Platform = p.first(dir + "/rom*/VBNV")
		b.BitstreamID = p.read(dir + "/xclbinuuid")
		// A card may offer several interfaces, one in a line; images are made
		// for the last, which stands on the others.
		if lines := strings.Fields(p.read(dir + "/interface_uuids")); len(lines) > 0 {
			b.InterfaceID = lines[len(lines)-1]
		} else {
			b.InterfaceID = p.first(dir + "/rom*/uuid")
		}
		p.pciOf(&b, dir)
		p.add(b)
	}
}

// pci finds processing accelerators (class 0x12) that no FPGA driver has.
func (p *prober) pci() {
	for _, dir := range p.glob("bus/pci/devices/*:*") {
		name := path.Base(dir)
		if !isAddress(name) || p.seen[name] || !strings.HasPrefix(p.read(dir+"/class"), "0x12") {
			continue
		}
		b := Board{Kind: PCI, Name: name}
		p.pciOf(&b, dir)
		if b.PCI == "" {
			b.PCI = name
		}
		p.add(b)
	}
}
