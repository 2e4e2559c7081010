package binary

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"k.aocx":   {"\x7fELF and more", ""},
		"k.xclbin": {"xclbin2\x00 and more", ""},
		"text":     {"__kernel void k() {}", "no program for FPGAs"},
		"empty":    {"", "no program for FPGAs"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Load(path)
		if c.want != "" {
			if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		k := f.Kernel("k", nil)
		fpga := devices.Info{ID: "fpga:0", Kind: devices.KindFPGA, Languages: []devices.Language{devices.LangBinary}}
		cpu := devices.Info{ID: "opencl:0", Kind: devices.KindCPU, Languages: []devices.Language{devices.LangBinary}}
		if v, err := k.VariantFor(fpga); err != nil || string(v.Source.Text) != c.text || v.Source.Name != name {
			t.Errorf("%s on an FPGA: %v", name, err)
		}
		if _, err := k.VariantFor(cpu); !errors.Is(err, devices.ErrUnsupported) || !strings.Contains(err.Error(), "opencl:0 cannot run k: it is no fpga") {
			t.Errorf("%s on a CPU: %v", name, err)
		}
	}
	if _, err := Load(dir); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
