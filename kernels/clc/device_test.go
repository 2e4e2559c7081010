package clc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
	"github.com/tandemrun/tandem/kernels/clc"
)

// TestCompilersTakeTheText compiles self-contained sources on a real device:
// they need no file, and faults come back with the user's file and line.
func TestCompilersTakeTheText(t *testing.T) {
	ctx := context.Background()
	drv := &opencl.Driver{CacheDir: t.TempDir()}
	if b := drv.Probe(ctx); len(b.Devices) == 0 {
		reason := b.Reason
		if reason == nil {
			reason = errors.New("no device")
		}
		devicetest.Require(t, "opencl", reason)
	}
	dev, err := drv.Open(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}()
	root := filepath.Join(t.TempDir(), "my kernels-g")
	for name, text := range map[string]string{
		"inc dir/coef.h":     "#ifndef COEF_H\n#define COEF_H\n#define COEF 3.0f\n#endif\n",
		"inc dir/bad_coef.h": "/* the mistake is in line 3 of this header */\n#define COEF 3.0f\ninline float twice(float v) { return v * missing_constant; }\n",
		"good.cl":            "#include \"coef.h\"\n#include \"coef.h\"\nkernel void affine(global const float *x, global float *y)\n{ size_t i = get_global_id(0); y[i] = COEF * x[i] + BIAS; }",
		"bad.cl":             "#include \"bad_coef.h\"\nkernel void affine(global float *y) { y[0] = twice(BIAS); }\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := clc.Options{Include: []string{filepath.Join(root, "inc dir")}, Defines: []clc.Define{{Name: "BIAS", Value: "0.5f"}}}
	good, err := clc.Load(filepath.Join(root, "good.cl"), "affine", o)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := dev.Compile(ctx, good.Variants[0].Source)
	if err != nil {
		t.Fatal(err)
	}
	if err := prog.Close(); err != nil {
		t.Error(err)
	}
	bad, err := clc.Load(filepath.Join(root, "bad.cl"), "affine", o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dev.Compile(ctx, bad.Variants[0].Source)
	var ce *devices.CompileError
	if !errors.As(err, &ce) || !strings.Contains(ce.Log, "bad_coef.h:3:") || !strings.Contains(ce.Log, "missing_constant") {
		t.Errorf("the log does not lead to line 3 of bad_coef.h: %+v", err)
	}
}
