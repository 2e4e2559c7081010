package board

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga/bitstream"
)

// tree makes a /sys tree: files with contents, and links where the contents
// begin with "->".
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("names in /sys hold colons")
	}
	root := t.TempDir()
	for name, text := range files {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(to, full)
		} else {
			err = os.WriteFile(full, []byte(text+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	intel = "devices/pci0000:5d/0000:5d:00.0/0000:5e:00.0"
	card  = "devices/pci0000:80/0000:80:01.0/0000:81:00.1"
	iface = "69528db6eb31577a8c3668f9faa081f6"
	afu   = "d8424dc4a4a3c413f89e433683f9040b"
)

func TestProbe(t *testing.T) {
	pci := func(dir, class, vendor, device, node string) map[string]string {
		return map[string]string{dir + "/class": class, dir + "/vendor": vendor, dir + "/device": device, dir + "/numa_node": node}
	}
	merge := func(maps ...map[string]string) map[string]string {
		all := map[string]string{}
		for _, m := range maps {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	board := pci(intel, "0x120000", "0x8086", "0x09c4", "1")
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []Board
	}{
		{"nothing", map[string]string{"class/net/lo": ""}, nil},
		{"dfl", merge(board, map[string]string{
			"bus/pci/devices/0000:5e:00.0":                                                          "->../../../" + intel,
			"class/fpga_region/region0":                                                             "->../../" + intel + "/fpga_region/region0",
			intel + "/fpga_region/region0/device":                                                   "->../../../0000:5e:00.0",
			intel + "/fpga_region/region0/dfl-fme.0/bitstream_id":                                   "0x23000110010309",
			intel + "/fpga_region/region0/dfl-fme.0/dfl-fme-region.1/fpga_region/region1/compat_id": iface,
			intel + "/fpga_region/region0/dfl-port.0/afu_id":                                        afu,
			intel + "/fpga_region/region0/dfl-port.1/afu_id":                                        "",
		}), []Board{{Kind: DFL, Name: "region0", PCI: "0000:5e:00.0", Vendor: "8086", Device: "09c4", NUMANode: 1, InterfaceID: iface,
			BitstreamID: "23000110010309", Ports: []Port{{"dfl-port.0", afu}, {"dfl-port.1", ""}}}}},
		{"opae", merge(board, map[string]string{
			"class/fpga/intel-fpga-dev.0":                                     "->../../" + intel + "/fpga/intel-fpga-dev.0",
			intel + "/fpga/intel-fpga-dev.0/device":                           "->../../../0000:5e:00.0",
			intel + "/fpga/intel-fpga-dev.0/intel-fpga-fme.0/bitstream_id":    "0x123",
			intel + "/fpga/intel-fpga-dev.0/intel-fpga-fme.0/pr/interface_id": strings.ToUpper(iface),
			intel + "/fpga/intel-fpga-dev.0/intel-fpga-port.0/afu_id":         afu,
		}), []Board{{Kind: OPAE, Name: "intel-fpga-dev.0", PCI: "0000:5e:00.0", Vendor: "8086", Device: "09c4", NUMANode: 1, InterfaceID: iface,
			BitstreamID: "123", Ports: []Port{{"intel-fpga-port.0", afu}}}}},
		{"xrt", merge(pci(card, "0x120000", "0x10ee", "0x5005", "-1"), map[string]string{
			"bus/pci/drivers/xocl/0000:81:00.1":   "->../../../../" + card,
			"bus/pci/drivers/xocl/module/version": "2.14",
			"bus/pci/devices/0000:81:00.1":        "->../../../" + card,
			card + "/rom.u.4194304/VBNV":          "xilinx_u250_gen3x16_xdma_4_1",
			card + "/interface_uuids":             "1111\n" + iface,
			card + "/xclbinuuid":                  afu,
		}), []Board{{Kind: XRT, Name: "0000:81:00.1", PCI: "0000:81:00.1", Vendor: "10ee", Device: "5005", NUMANode: -1, InterfaceID: iface,
			BitstreamID: afu, Platform: "xilinx_u250_gen3x16_xdma_4_1"}}},
		{"pci", merge(board, pci("devices/pci0000:00/0000:00:02.0", "0x030000", "0x8086", "0x5912", "0"), map[string]string{
			"bus/pci/devices/0000:5e:00.0": "->../../../" + intel,
			"bus/pci/devices/0000:00:02.0": "->../../../devices/pci0000:00/0000:00:02.0",
		}), []Board{{Kind: PCI, Name: "0000:5e:00.0", PCI: "0000:5e:00.0", Vendor: "8086", Device: "09c4", NUMANode: 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Probe(tree(t, c.files))
			if !reflect.DeepEqual(got.Boards, c.want) || len(got.Warnings) > 0 {
				t.Errorf("found %+v, warnings %v\nwant  %+v", got.Boards, got.Warnings, c.want)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	root := tree(t, map[string]string{"class/fpga/intel-fpga-dev.0/intel-fpga-port.0/afu_id/x": ""})
	got := Probe(root)
	if len(got.Boards) != 1 || got.Boards[0].Ports[0].AFU != "" || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "/sys/class/fpga/intel-fpga-dev.0/intel-fpga-port.0/afu_id") {
		t.Errorf("a folder in place of a file: %+v", got)
	}
}

func TestAccepts(t *testing.T) {
	b := Board{Kind: DFL, Name: "region0", InterfaceID: iface}
	if err := b.Accepts(&bitstream.File{InterfaceID: iface}); err != nil {
		t.Errorf("its own image: %v", err)
	}
	other := "0" + iface[1:]
	err := b.Accepts(&bitstream.File{InterfaceID: other})
	if err == nil || !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), iface) || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), "region0") {
		t.Errorf("another image: %v", err)
	}
	if err := (&Board{Kind: PCI, Name: "0000:5e:00.0"}).Accepts(&bitstream.File{}); !errors.Is(err, devices.ErrUnsupported) {
		t.Errorf("a board that says nothing: %v", err)
	}
}
