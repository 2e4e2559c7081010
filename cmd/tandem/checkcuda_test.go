package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/devicetest"
)

func TestCapabilities(t *testing.T) {
	got, err := capabilities([]string{"8.0", " 90", "12.1", "120"})
	if want := []int{80, 90, 121, 120}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for _, bad := range []string{"", "8", "x.y", "8.10", "4.0", "8.", "-8.0"} {
		if _, err := capabilities([]string{bad}); !errors.Is(err, devices.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestCheckCUDA: a kernel in CUDA C and one in OpenCL C are compiled by NVRTC
// where there is no GPU, and what it says names file and line.
func TestCheckCUDA(t *testing.T) {
	_, err := nvrtc.Open(nvrtc.Options{})
	devicetest.Require(t, "nvrtc", err)
	t.Setenv("TANDEM_CACHE_DIR", t.TempDir())
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	job := put("job.yaml", `buffers:
  x: {dtype: float32, shape: [8], fill: 1}
  y: {dtype: float32, shape: [8], out: y.npy}
steps:
  - {id: b, kernel: {file: k.cl, entry: copy}, global: [8], args: [x, y]}
  - {id: a, kernel: {file: k.cu, entry: "mine::scale"}, global: [8], args: [x, y, 2.5]}
`)
	cu := func(more string) {
		put("k.cu", "namespace mine {\n__global__ void scale(const float *x, float *y, float f) {\n  int i = threadIdx.x;\n  y[i] = f * x[i]"+more+";\n}\n}\n")
	}
	cl := func(more string) {
		put("k.cl", "__kernel void copy(__global const float *x, __global float *y) {\n  size_t i = get_global_id(0);\n  y[i] = x[i]"+more+";\n}\n")
	}
	check := func(args ...string) (checkJSON, int) {
		t.Helper()
		var doc checkJSON
		var out, said bytes.Buffer
		code := run(append([]string{"check", job, "--json", "--devices", "cpu"}, args...), strings.NewReader(""), &out, &said)
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v: exit code %d, %v\n%s\n%s", args, code, err, out.Bytes(), said.Bytes())
		}
		return doc, code
	}
	cu("")
	cl("")
	doc, code := check("--cuda", "8.0,9.0")
	if code != 0 || !doc.OK || len(doc.Devices) != 3 {
		t.Fatalf("exit code %d, %+v", code, doc)
	}
	for i, id := range []string{"cpu:0", "cuda 8.0", "cuda 9.0"} {
		d := doc.Devices[i]
		if d.ID != id || len(d.Kernels) != 2 || d.Kernels[0].Built != (i > 0) || d.Kernels[1].Built != (i > 0) {
			t.Errorf("device %d is %+v", i, d)
		}
	}
	// Without the flag, what no device takes and NVRTC does is compiled all the same.
	doc, code = check()
	if n := len(doc.Devices); code != 0 || n != 2 || doc.Devices[1].ID != "cuda 7.5" || len(doc.Devices[1].Kernels) != 1 || !doc.Devices[1].Kernels[0].Built {
		t.Errorf("without --cuda: exit code %d, %+v", code, doc.Devices)
	}
	cu(" + missing(i)")
	cl(" + absent[i]")
	doc, code = check("--cuda", "80")
	if code != 2 || len(doc.Faults) != 2 {
		t.Fatalf("exit code %d, faults %+v", code, doc.Faults)
	}
	for i, want := range []struct {
		file         string
		line, column int
		message, log string
	}{
		{"k.cl", 3, 17, `identifier "absent" is undefined (cuda 8.0)`, "    y[i] = x[i] + absent[i];\n                  ^"},
		{"k.cu", 4, 21, `identifier "missing" is undefined (cuda 8.0)`, "    y[i] = f * x[i] + missing(i);\n                      ^"},
	} {
		f := doc.Faults[i]
		if filepath.Base(f.File) != want.file || f.Line != want.line || f.Column != want.column || !strings.Contains(f.Message, want.message) || !strings.Contains(f.Log, want.log) {
			t.Errorf("fault %d is %+v\n%s", i, f, f.Log)
		}
	}
	if _, code = check("--cuda", "eight"); code != 2 {
		t.Errorf("a wrong capability: exit code %d", code)
	}
}
