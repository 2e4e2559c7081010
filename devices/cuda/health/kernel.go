package health

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxFile bounds what is read of one file of the kernel's.
const maxFile = 64 << 10

// readFile reads a file of the kernel's, nil if that cannot be done.
func (r *Reader) readFile(path ...string) []byte {
	f, err := os.Open(filepath.Join(append([]string{r.root()}, path...)...))
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, maxFile)
	n := 0
	for n < len(b) {
		m, err := f.Read(b[n:])
		n += m
		if err != nil {
			break
		}
	}
	return b[:n]
}

func (r *Reader) root() string { return cmp.Or(r.Root, "/") }

var moduleVersion = regexp.MustCompile(`(?m)^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s`)

// readKernel reads what the kernel module and sysfs say.
func (r *Reader) readKernel(rep *Report) {
	if m := moduleVersion.FindSubmatch(r.readFile("proc/driver/nvidia/version")); m != nil {
		rep.DriverVersion = string(m[1])
	}
	gpus, err := os.ReadDir(filepath.Join(r.root(), "proc/driver/nvidia/gpus"))
	if err != nil {
		return
	}
	for _, entry := range gpus {
		info := fields(r.readFile("proc/driver/nvidia/gpus", entry.Name(), "information"))
		if len(info) == 0 {
			continue
		}
		g := GPU{UUID: info["GPU UUID"], Name: info["Model"], PCI: NormalPCI(entry.Name()), NUMANode: -1}
		if strings.Contains(g.UUID, "?") { // the module has not asked it yet
			g.UUID = ""
		}
		g.Excluded = info["GPU Excluded"] == "Yes" || info["Blacklisted"] == "Yes"
		if n, err := strconv.Atoi(info["Device Minor"]); err == nil {
			g.Minor = &n
		}
		if n, err := strconv.Atoi(string(bytes.TrimSpace(r.readFile("sys/bus/pci/devices", g.PCI, "numa_node")))); err == nil {
			g.NUMANode = n
		}
		g.PCIe = r.readLink(g.PCI)
		g.MIG = r.readParts(g.Minor)
		rep.GPUs = append(rep.GPUs, g)
	}
	slices.SortFunc(rep.GPUs, func(a, b GPU) int { return cmp.Compare(a.PCI, b.PCI) })
}

// fields reads "Name: \t value" lines.
func fields(text []byte) map[string]string {
	list := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			list[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return list
}

// gigatransfers are PCIe's rates per lane, by generation from 1 on, and laneBytes
// what a lane carries in bytes per second after its line code.
var (
	gigatransfers = []string{"2.5", "5", "8", "16", "32", "64"}
	laneBytes     = []float64{250e6, 500e6, 8e9 / 8 * 128 / 130, 16e9 / 8 * 128 / 130, 32e9 / 8 * 128 / 130, 64e9 / 8 * 242 / 256}
)

// LinkBytes is what a PCIe link carries one way, in bytes per second, without
// what the packets' headers take; 0 for a link that is none.
func LinkBytes(generation, width int) float64 {
	if generation < 1 || generation > len(laneBytes) || width < 1 {
		return 0
	}
	return laneBytes[generation-1] * float64(width)
}

// readLink reads the state of a device's PCIe link from sysfs; nil where it
// does not tell.
func (r *Reader) readLink(pci string) *PCIe {
	number := func(file string) int {
		n, _ := strconv.Atoi(string(bytes.TrimSpace(r.readFile("sys/bus/pci/devices", pci, file))))
		return n
	}
	generation := func(file string) int {
		// "16.0 GT/s PCIe"
		rate, _, _ := strings.Cut(string(r.readFile("sys/bus/pci/devices", pci, file)), " GT/s")
		return 1 + slices.Index(gigatransfers, strings.TrimSuffix(strings.TrimSpace(rate), ".0"))
	}
	p := &PCIe{
		Generation: generation("current_link_speed"), Width: number("current_link_width"),
		MaxGeneration: generation("max_link_speed"), MaxWidth: number("max_link_width"),
	}
	if p.Generation == 0 || p.Width == 0 {
		return nil
	}
	p.BytesPS = LinkBytes(p.Generation, p.Width)
	return p
}

// readParts reads which MIG instances a GPU has from the module's list of
// permissions; nil: none.
func (r *Reader) readParts(minor *int) *MIG {
	if minor == nil {
		return nil
	}
	pattern := filepath.Join(r.root(), "proc/driver/nvidia/capabilities", "gpu"+strconv.Itoa(*minor), "mig", "gi*", "ci*", "access")
	found, _ := filepath.Glob(pattern)
	m := &MIG{}
	for _, path := range found {
		dir := filepath.Dir(path)
		ci, err1 := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "ci"))
		gi, err2 := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), "gi"))
		if err1 == nil && err2 == nil {
			m.Instances = append(m.Instances, Part{GPUInstance: gi, ComputeInstance: ci})
		}
	}
	if len(m.Instances) == 0 {
		return nil
	}
	m.Enabled = true
	slices.SortFunc(m.Instances, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.GPUInstance, b.GPUInstance), cmp.Compare(a.ComputeInstance, b.ComputeInstance))
	})
	return m
}

var pciPattern = regexp.MustCompile(`^([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])$`)

// NormalPCI writes a PCI address as the kernel does, "0000:65:00.0"; "" for
// what is none. NVML writes eight digits of domain and capital letters.
func NormalPCI(s string) string {
	m := pciPattern.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	domain, err := strconv.ParseUint(m[1], 16, 32)
	if err != nil {
		return ""
	}
	hex := strconv.FormatUint(domain, 16)
	hex = strings.Repeat("0", max(4-len(hex), 0)) + hex
	return strings.ToLower(hex + ":" + m[2] + ":" + m[3] + "." + m[4])
}
