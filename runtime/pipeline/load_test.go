package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// faultsOf loads text as p.yaml in dir and returns the faults, one a line.
func faultsOf(t *testing.T, dir, text string, o Options) []string {
	t.Helper()
	_, err := Load(write(t, dir, "p.yaml", text), o)
	if err == nil {
		return nil
	}
	return strings.Split(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""), "\n")
}

const twoBuffers = `buffers:
  x: {dtype: float32, shape: [8]}
  y: {dtype: float32, shape: [8]}
`

func TestFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "k.cl", "__kernel void scale(__global const float *x, __global float *y, float k) { size_t i = get_global_id(0); y[i] = k * x[i]; }\n"+
		"__kernel void other(__global float *x) { x[get_global_id(0)] = 1.0f; }\n")
	write(t, dir, "bad.cl", "__kernel void f(__global float *x, size_t n) { x[n] = 1.0f; }\n")
	write(t, dir, "k.txt", "")
	step := "steps:\n  - kernel: {file: k.cl, entry: scale}\n    global: [8]\n    args: [x, y, 2]\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "p.yaml:1:1: the file is empty; a pipeline has steps, and buffers that they work on"},
		"comment only":       {"# nothing\n", "p.yaml:1:1: the file is empty; a pipeline has steps, and buffers that they work on"},
		"not a mapping":      {"- a\n", "p.yaml:1:1: want a pipeline, a mapping with version, vars, buffers, steps, limits; got a list"},
		"syntax":             {"steps: [1, 2\n", "p.yaml:1:8: this is no YAML: sequence end token ']' not found"},
		"two documents":      {"steps: []\n---\nsteps: []\n", "p.yaml:3:1: a second document begins here; a pipeline is one document"},
		"no utf-8":           {"steps: []\n# \xff\n", "p.yaml:2:3: this is no UTF-8 text"},
		"tag":                {"steps: !!seq []\n", "p.yaml:1:8: steps: the tag !!seq is not part of the format\np.yaml:1:8: steps: want a list of steps, got nothing"},
		"unknown alias":      {"steps: *s\n", "p.yaml:1:8: steps: the alias *s has no anchor &s before it\np.yaml:1:8: steps: want a list of steps, got nothing"},
		"alias in itself":    {"steps: &s [*s]\n", "p.yaml:1:12: steps[0]: the alias *s stands inside its own anchor\np.yaml:1:12: steps[0]: want a step, got nothing"},
		"version":            {"version: 2\nsteps: []\n", "p.yaml:1:10: version: want 1, got the number 2; this program reads version 1"},
		"version in quotes":  {"version: \"1\"\nsteps: []\n", "p.yaml:1:10: version: want 1, got text \"1\"; this program reads version 1"},
		"no steps":           {"buffers: {}\n", "p.yaml:1:1: the pipeline has no steps; add steps: [...]"},
		"steps a mapping":    {"steps: {}\n", "p.yaml:1:8: steps: want a list of steps, got a mapping"},
		"variable name":      {"vars: {2n: 1}\nsteps: []\n", "p.yaml:1:8: vars.2n: \"2n\" cannot be the name of a variable; use letters, digits and _"},
		"variable function":  {"vars: {max: 1}\nsteps: []\n", "p.yaml:1:8: vars.max: \"max\" is a function of expressions; choose another name"},
		"variable constant":  {"vars: {pi: 3}\nsteps: []\n", "p.yaml:1:8: vars.pi: \"pi\" has a meaning in expressions; choose another name"},
		"variable order":     {"vars: {m: n, n: 3}\nsteps: []\n", "p.yaml:1:11: vars.m: \"n\": there is no variable \"n\"; define it under vars"},
		"overflow":           {"vars: {n: 9223372036854775807, m: n*n}\nsteps: []\n", "p.yaml:1:35: vars.m: \"n*n\": 9223372036854775807 * 9223372036854775807 does not fit in 64 bits"},
		"column":             {"vars: {n: 3}\nbuffers: {x: {dtype: int8, shape: [n, \"2 * m\"]}}\nsteps: []\n", "p.yaml:2:44: buffers.x.shape[1]: \"2 * m\": there is no variable \"m\"; there is n"},
		"no dtype":           {"buffers: {x: {shape: [3]}}\nsteps: []\n", "p.yaml:1:11: buffers.x: the buffer has no dtype; types are bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64"},
		"no shape":           {"buffers: {x: {dtype: int8}}\nsteps: []\n", "p.yaml:1:11: buffers.x: the buffer has no shape; write shape: [n]"},
		"nothing":            {"buffers: {x: {}}\nsteps: []\n", "p.yaml:1:11: buffers.x: the buffer has no file, and no dtype and shape; write {dtype: float32, shape: [n]}"},
		"dtype":              {"buffers: {x: {dtype: flaot32, shape: [3]}}\nsteps: []\n", "p.yaml:1:22: buffers.x.dtype: there is no element type \"flaot32\"; did you mean \"float32\"?"},
		"dtype of C":         {"buffers: {x: {dtype: uint, shape: [3]}}\nsteps: []\n", "p.yaml:1:22: buffers.x.dtype: there is no element type \"uint\"; did you mean \"uint32\"?"},
		"complex":            {"buffers: {x: {dtype: complex64, shape: [3]}}\nsteps: []\n", "p.yaml:1:22: buffers.x.dtype: there is no element type \"complex64\"; complex numbers are not supported; use two buffers"},
		"shape a number":     {"buffers: {x: {dtype: int8, shape: 3}}\nsteps: []\n", "p.yaml:1:35: buffers.x.shape: want a list with the length of each dimension, got the number 3; write [3]"},
		"shape too large":    {"buffers: {x: {dtype: int64, shape: [4611686018427387904, 4]}}\nsteps: []\n", "p.yaml:1:36: buffers.x.shape: shape (4611686018427387904, 4) of int64 does not fit into 64 bits of address"},
		"shape terabytes":    {"buffers: {x: {dtype: int8, shape: [2**41]}}\nsteps: []\n", "p.yaml:1:35: buffers.x.shape: (2199023255552,) of int8 takes 2199023255552 bytes, at most 1099511627776 are possible"},
		"raw without dtype":  {"buffers: {x: {file: x.raw, shape: [3]}}\nsteps: []\n", "p.yaml:1:21: buffers.x.file: a .raw file does not say what it holds; give dtype and shape"},
		"file and fill":      {"buffers: {x: {file: k.txt, fill: 0}}\nsteps: []\n", "p.yaml:1:21: buffers.x.file: k.txt: unknown extension \".txt\"; array files are .csv .jpeg .jpg .npy .npz .pgm .png .ppm .raw\np.yaml:1:34: buffers.x.fill: a buffer is read from a file or filled, not both"},
		"fill fraction":      {"buffers: {x: {dtype: int32, shape: [3], fill: 1.5}}\nsteps: []\n", "p.yaml:1:47: buffers.x.fill: 1.5 does not fit in int32"},
		"fill range":         {"buffers: {x: {dtype: uint8, shape: [300], fill: i}}\nsteps: []\n", "p.yaml:1:49: buffers.x.fill: \"i\" is 299 at [299], which does not fit in uint8"},
		"fill dimension":     {"buffers: {x: {dtype: uint8, shape: [3], fill: i+j}}\nsteps: []\n", "p.yaml:1:49: buffers.x.fill: \"i+j\": \"j\" is the index of dimension 2, and the shape (3,) has 1"},
		"fill clash":         {"vars: {i: 3}\nbuffers: {x: {dtype: uint8, shape: [3], fill: i}}\nsteps: []\n", "p.yaml:2:47: buffers.x.fill: \"i\": \"i\" is an index of the fill and a variable (line 1); rename the variable"},
		"output folder":      {"buffers: {x: {dtype: uint8, shape: [3], out: no/x.npy}}\nsteps: []\n", "p.yaml:1:46: buffers.x.out: no/x.npy: there is no folder no; create it first: file does not exist"},
		"output format":      {"buffers: {x: {dtype: float32, shape: [3, 3], out: x.png}}\nsteps: []\n", ""},
		"output jpeg":        {"buffers: {x: {dtype: uint8, shape: [3, 3], out: x.jpg}}\nsteps: []\n", "p.yaml:1:49: buffers.x.out: x.jpg: .jpg files are read, not written: a .jpg would change the values; write .png"},
		"output twice":       {"buffers:\n  x: {dtype: uint8, shape: [3], out: x.npy}\n  y: {dtype: uint8, shape: [3], out: ./x.npy}\nsteps: []\n", "p.yaml:3:38: buffers.y.out: x.npy is the output of buffer \"x\" too (line 2)"},
		"kernel missing":     {"steps: [{id: a}]\n", "p.yaml:1:9: steps[0]: the step has no kernel; add kernel: NAME, or kernel: {file: k.cl, entry: name}"},
		"kernel unknown":     {"steps: [{kernel: image.sobl}]\n", "p.yaml:1:18: steps[0].kernel: no built-in kernel \"image.sobl\"; did you mean \"image.sobel\"?"},
		"kernel as text":     {"steps: [{kernel: k.cl}]\n", "p.yaml:1:18: steps[0].kernel: \"k.cl\" is no built-in kernel; for a file write {file: k.cl, entry: NAME}"},
		"kernel file":        {"steps: [{kernel: {file: kk.cl}}]\n", "p.yaml:1:25: steps[0].kernel.file: there is no file kk.cl; did you mean \"k.cl\"?"},
		"kernel entry":       {"steps: [{kernel: {file: k.cl, entry: scael}}]\n", "p.yaml:1:38: steps[0].kernel.entry: k.cl: the source holds no kernel \"scael\"; it has scale, other; did you mean \"scale\"?"},
		"kernel no entry":    {"steps: [{kernel: {file: k.cl}}]\n", "p.yaml:1:25: steps[0].kernel.file: k.cl: the source holds several kernels, name one of them: scale, other"},
		"kernel ptx":         {"steps: [{kernel: {file: k.ptx, entry: f}}]\n", "p.yaml:1:25: steps[0].kernel.file: sources in ptx are not supported by this build yet; kernel files are OpenCL C (.cl), CUDA C (.cu), SPIR-V (.spv), SYCL C++ (.cpp), libraries of SYCL functions (.so) or Verilog (.v, .sv), or programs for FPGAs (.aocx, .xclbin)"},
		"kernel lang":        {"steps: [{kernel: {file: k.cl, entry: f, lang: opncl}}]\n", "p.yaml:1:47: steps[0].kernel.lang: there is no language \"opncl\"; did you mean \"opencl\"?"},
		"kernel extension":   {"steps: [{kernel: {file: k.txt, entry: f}}]\n", "p.yaml:1:25: steps[0].kernel.file: the extension of k.txt does not say its language; add lang: opencl, cuda, spirv, sycl, sycl-library or verilog"},
		"kernel option":      {"steps: [{kernel: {file: k.cl, options: -O}}]\n", "p.yaml:1:40: steps[0].kernel.options: want a list, got text \"-O\"; write [-O]"},
		"kernel include":     {"steps: [{kernel: {file: k.cl, entry: scale, include: [inc]}}]\n", "p.yaml:1:55: steps[0].kernel.include: there is no folder inc"},
		"kernel source":      {"steps: [{kernel: {file: bad.cl, entry: f}}]\n", "bad.cl:1:43: kernel f: parameter \"n\" is of type size_t, whose size is not the same on every device; OpenCL C forbids it in a kernel's parameters; steps[0].kernel.entry of p.yaml line 1 uses it"},
		"global missing":     {twoBuffers + strings.Replace(step, "    global: [8]\n", "", 1), "p.yaml:5:5: steps[0].global: kernel scale: the global size is missing; it does not follow from the arguments"},
		"global four":        {twoBuffers + strings.Replace(step, "[8]", "[1, 2, 3, 4]", 1), "p.yaml:6:13: steps[0].global: want one to three sizes, got 4"},
		"global truth":       {twoBuffers + strings.Replace(step, "[8]", "[true]", 1), "p.yaml:6:14: steps[0].global[0]: want a number or an expression, got the truth value true"},
		"global huge":        {twoBuffers + strings.Replace(step, "[8]", "[2**40, 2**40]", 1), "p.yaml:6:13: steps[0].global: [1099511627776 1099511627776] are more work-items than can be counted"},
		"local zero":         {twoBuffers + strings.Replace(step, "[8]\n", "[8]\n    local: [0]\n", 1), "p.yaml:7:13: steps[0].local[0]: want at least 1, got 0"},
		"local dimensions":   {twoBuffers + strings.Replace(step, "[8]\n", "[8]\n    local: [2, 2]\n", 1), "p.yaml:7:12: steps[0].local: 2 dimensions, and global has 1"},
		"buffer unknown":     {twoBuffers + strings.Replace(step, "[x, y, 2]", "[{buf: z}, yy, 2]", 1), "p.yaml:7:18: steps[0].args[0].buf: there is no buffer \"z\"; there are x, y\np.yaml:7:22: steps[0].args[1]: there is no buffer and no variable \"yy\"; there are x, y"},
		"arg of two kinds":   {twoBuffers + strings.Replace(step, "[x, y, 2]", "[{buf: x, val: 2}, y, 2]", 1), "p.yaml:7:12: steps[0].args[0]: the argument has buf and val; it takes one of them"},
		"arg of no kind":     {twoBuffers + strings.Replace(step, "[x, y, 2]", "[{mode: r}, y, 2]", 1), "p.yaml:7:12: steps[0].args[0]: the argument has none of buf, val, local_bytes, bytes and struct"},
		"mode":               {twoBuffers + strings.Replace(step, "[x, y, 2]", "[{buf: x, mode: wr}, y, 2]", 1), "p.yaml:7:27: steps[0].args[0].mode: want r, w or rw, got \"wr\"; did you mean \"rw\"?"},
		"mode of a value":    {twoBuffers + strings.Replace(step, "[x, y, 2]", "[x, y, {val: 2, mode: r}]", 1), "p.yaml:7:33: steps[0].args[2].mode: mode belongs to a buffer; val takes none"},
		"mode writes const":  {twoBuffers + strings.Replace(step, "[x, y, 2]", "[{buf: x, mode: w}, y, 2]", 1), "p.yaml:7:12: steps[0].args[0]: kernel scale: x is read-only in the kernel, but mode w was asked for"},
		"type of the value":  {twoBuffers + strings.Replace(step, "[x, y, 2]", "[x, y, {val: 2, type: int}]", 1), "p.yaml:7:18: steps[0].args[2]: kernel scale: k is of type float, got int"},
		"too many arguments": {twoBuffers + strings.Replace(step, "[x, y, 2]", "[x, y, 2, 3]", 1), "p.yaml:7:21: steps[0].args[3]: kernel scale: argument 4 one argument too many; scale(x r float[], y w float[], k float)"},
		"argument by name":   {twoBuffers + strings.Replace(step, "[x, y, 2]", "{x: x, z: y, k: 2}", 1), "p.yaml:7:11: steps[0].args: kernel scale: y missing; scale(x r float[], y w float[], k float)\np.yaml:7:21: steps[0].args.z: kernel scale: z no such parameter; it has x, y, k; did you mean \"x\"?"},
		"dtype of a buffer":  {strings.Replace(twoBuffers, "x: {dtype: float32", "x: {dtype: float64", 1) + step, "p.yaml:7:12: steps[0].args[0]: kernel scale: x is an array of float (float32), buffer x is float64"},
		"two faults":         {twoBuffers + strings.Replace(strings.Replace(step, "global", "globla", 1), "x, y, 2", "x, z, 2", 1), "p.yaml:6:5: steps[0].globla: unknown key \"globla\" on line 6; did you mean \"global\"?\np.yaml:7:15: steps[0].args[1]: there is no buffer and no variable \"z\"; there are x, y"},
		"split":              {twoBuffers + step + "    split: atuo\n", "p.yaml:8:12: steps[0].split: want auto, none, or a list of shares; got text \"atuo\"; did you mean \"auto\"?"},
		"split sum":          {twoBuffers + step + "    split: [0.5, 0.4]\n", "p.yaml:8:12: steps[0].split: the shares add up to 0.9, not 1"},
		"split negative":     {twoBuffers + step + "    split: [1.5, -0.5]\n", "p.yaml:8:13: steps[0].split[0]: a share is from 0 to 1, got 1.5\np.yaml:8:18: steps[0].split[1]: a share is from 0 to 1, got -0.5"},
		"device":             {twoBuffers + step + "    device: \"kind:\"\n", "p.yaml:8:13: steps[0].device: device selector \"kind:\": \"kind:\": nothing after the colon: invalid use"},
		"device negative":    {twoBuffers + step + "    device: -1\n", "p.yaml:8:13: steps[0].device: want a position in the device list, from 0; got the number -1"},
		"repeat":             {twoBuffers + step + "    repeat: 0\n", "p.yaml:8:13: steps[0].repeat: want at least 1, got 0"},
		"after":              {twoBuffers + step + "    after: scale\n", "p.yaml:8:12: steps[0].after: want a list, got text \"scale\"; write [scale]"},
		"id twice":           {"steps:\n  - {id: a, kernel: fractal.mandelbrot}\n  - {id: a, kernel: fractal.mandelbrot}\n", ""},
		"id with brackets":   {"steps: [{id: \"a[0]\", kernel: {file: k.cl, entry: other}, global: 1, args: [1]}]\n", "p.yaml:1:14: steps[0].id: the name of a step must not hold brackets or control characters, got \"a[0]\""},
		"loop range":         {"steps: [{for: {k: 5}, steps: []}]\n", "p.yaml:1:19: steps[0].for.k: want [from, to] or [from, to, step], got the number 5"},
		"loop without steps": {"steps: [{for: {k: [0, 5]}}]\n", "p.yaml:1:9: steps[0]: the loop has no steps"},
		"loop key":           {"steps: [{for: {k: [0, 5]}, stpes: []}]\n", "p.yaml:1:9: steps[0]: the loop has no steps\np.yaml:1:28: steps[0].stpes: unknown key \"stpes\" on line 1; did you mean \"steps\"?"},
		"loop step 0":        {"steps: [{for: {k: [0, 5, 0]}, steps: []}]\n", "p.yaml:1:26: steps[0].for.k[2]: a loop with the step 0 does not end"},
		"loop variable":      {"vars: {k: 1}\nsteps: [{for: {k: [0, 5]}, steps: []}]\n", "p.yaml:2:16: steps[0].for.k: there is a variable \"k\" already (line 1)"},
		"loop inside":        {"steps: [{for: {k: [0, 5]}, steps: [{for: {k: [0, 5]}, steps: []}]}]\n", "p.yaml:1:43: steps[0].steps[0].for.k: a loop around this one has the variable \"k\" already"},
		"loop fraction":      {"steps: [{for: {k: [0, 2.5]}, steps: []}]\n", "p.yaml:1:23: steps[0].for.k[1]: want a whole number, got 2.5"},
		"limits":             {"limits: {step_timeout: 2}\nsteps: []\n", "p.yaml:1:10: limits.step_timeout: unknown key \"step_timeout\" on line 1; did you mean \"step_timeout_s\"?"},
		"limits zero":        {"limits: {step_timeout_s: 0}\nsteps: []\n", "p.yaml:1:26: limits.step_timeout_s: want more than 0 and at most 1e+09 seconds, got 0"},
		"value in a loop": {twoBuffers + "steps:\n  - for: {n: [0, 3]}\n    steps:\n      - {id: s, kernel: {file: k.cl, entry: scale}, global: [8], args: [x, y, {val: 1/(n-1)}]}\n",
			"p.yaml:7:85: steps[0].steps[0].args[2].val: \"1/(n-1)\": 1 / 0"},
		"argument in a loop": {twoBuffers + "steps:\n  - for: {n: [1, 3]}\n    steps:\n      - {id: s, kernel: {file: k.cl, entry: scale}, global: [n], args: [x, y, {local_bytes: n}]}\n",
			"p.yaml:7:79: steps[0].steps[0].args[2]: s[n=1]: kernel scale: k is a value of type float, got local memory"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == "" { // checked elsewhere, or only that it is refused
				if got := faultsOf(t, dir, c.text, Options{}); len(got) == 0 {
					t.Error("no fault")
				}
				return
			}
			if got := strings.Join(faultsOf(t, dir, c.text, Options{}), "\n"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestCUDA: kernels in CUDA C are read from their source; overloads are refused
// with the list.
func TestCUDA(t *testing.T) {
	dir := t.TempDir()
	const text = `namespace mine { __global__ void scale(const float *x, float *y, float f, int n) {} }
__global__ void twice(float *x) {}
__global__ void twice(double *x) {}
`
	if err := os.WriteFile(filepath.Join(dir, "k.cu"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	step := func(kernel string) string {
		return twoBuffers + "steps:\n  - {id: s, kernel: {file: k.cu, entry: \"" + kernel + "\"}, global: [8], args: [x, y, 2.5, 8]}\n"
	}
	path := filepath.Join(dir, "p.yaml")
	if err := os.WriteFile(path, []byte(step("mine::scale")), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Load(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := p.Kernels()[0]
	if got, want := k.Signature(), "mine::scale(x r float[], y rw float[], f float, n int)"; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if v := k.Variant(devices.LangCUDA); v == nil || v.Entry != "mine::scale" {
		t.Errorf("variants %+v", k.Variants)
	}
	got := strings.Join(faultsOf(t, dir, step("twice"), Options{}), "\n")
	if !strings.Contains(got, "k.cu:3:31: kernel twice is overloaded, and its name does not say which one is meant: twice(x rw float[]) (line 2), twice(x rw double[]) (line 3)") {
		t.Errorf("overloads: %s", got)
	}
}

// TestAllFaultsAtOnce holds that faults of every kind come together, in the
// order of the file.
func TestAllFaultsAtOnce(t *testing.T) {
	text := `vars: {n: 8}
priorty: high
buffers:
  x: {dtype: float32, shape: [n], fil: 0}
  y: {dtype: float33, shape: [n]}
steps:
  - {id: a, kernel: image.sobl}
  - {id: a, kernel: vector.add, args: {x: x, y: y, z: z}}
  - {id: b, kernel: vector.scale, args: {x: x}, after: [c], loacl: 3}
limits: {step_timeout_s: soon}
`
	got := faultsOf(t, t.TempDir(), text, Options{})
	var at []string
	for _, f := range got {
		at = append(at, strings.Join(strings.SplitN(f, ":", 5)[1:4], ":"))
	}
	want := []string{"2:1: priorty", "4:35: buffers.x.fil", "5:14: buffers.y.dtype", "7:21: steps[0].kernel", "8:10: steps[1].id",
		"8:55: steps[1].args.z", "9:57: steps[2].after[0]", "9:61: steps[2].loacl", "10:26: limits.step_timeout_s"}
	if !slices.Equal(at, want) {
		t.Errorf("got  %q\nwant %q\n%s", at, want, strings.Join(got, "\n"))
	}
}

func TestSet(t *testing.T) {
	dir := t.TempDir()
	text := "vars: {n: 8, alpha: 1.5, half: n/2}\nbuffers: {x: {dtype: float32, shape: [n, half]}}\nsteps: []\n"
	path := write(t, dir, "p.yaml", text)
	p, err := Load(path, Options{Set: []string{"n=0x20", "alpha=2"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Var{{"n", int64(32)}, {"alpha", 2.0}, {"half", int64(16)}}
	if got := p.Vars(); !slices.Equal(got, want) {
		t.Errorf("variables %v, want %v", got, want)
	}
	if shape := p.Buffers()[0].Shape; !slices.Equal(shape, []int64{32, 16}) {
		t.Errorf("shape %v", shape)
	}
	for set, want := range map[string]string{
		"m=3":   `--set m=3: there is no variable "m"; there are n, alpha, half`,
		"n":     "--set n: want name=value",
		"n=a":   `--set n=a: "a" is no number`,
		"n=2.5": "--set n=2.5: n is a whole number in the file (8), got 2.5",
	} {
		if _, err := Load(path, Options{Set: []string{set}}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
	if _, err := Load(path, Options{Set: []string{"n=1e3"}}); err != nil {
		t.Error(err)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir, Options{}); err == nil || err.Error() != dir+": the folder holds no pipeline.yaml" || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	other := write(t, dir, "job.yml", "steps: []\n")
	if _, err := Load(dir, Options{}); err == nil || err.Error() != dir+": the folder holds no pipeline.yaml; name the file: "+other {
		t.Error(err)
	}
	if _, err := Load(filepath.Join(dir, "jbo.yml"), Options{}); err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("no such file or directory; did you mean %q?", other)) {
		t.Error(err)
	}
	write(t, dir, FileName, "steps: []\n")
	p, err := Load(dir, Options{})
	if err != nil || p.File() != filepath.Join(dir, FileName) || p.Name() != filepath.Base(dir) {
		t.Errorf("%v, %v", p, err)
	}
}

func TestAliases(t *testing.T) {
	text := `buffers:
  x: &b {dtype: float32, shape: [4]}
  y: *b
  z: {<<: *b, shape: [5]}
steps: []
`
	p, err := parse("p.yaml", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{4, 4, 5} {
		if b := p.Buffers()[i]; b.DType != devices.Float32 || b.Shape[0] != want {
			t.Errorf("%s is %s %v", b.Name, b.DType, b.Shape)
		}
	}
}

// TestBombs holds that small files cannot take much time or memory.
func TestBombs(t *testing.T) {
	laughs := "vars:\n  a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for i := 1; i < 20; i++ {
		laughs += fmt.Sprintf("  a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	loop := "{for: {k: [0, 100000000]}, steps: []}"
	for i := range 8 {
		loop = fmt.Sprintf("{for: {m%d: [0, 1000]}, steps: [%s]}", i, loop)
	}
	for name, c := range map[string]struct{ text, want string }{
		"aliases":         {laughs + "steps: []\n", "with its aliases the file holds more than 200000 values"},
		"brackets":        {"steps: " + strings.Repeat("[", 50000), "nested more than 64 deep"},
		"dashes":          {strings.Repeat("- ", 30000), "nested more than 64 deep"},
		"keys":            {strings.Repeat("a:\n", 30000), "more than 2000 keys"},
		"anchors":         {strings.Repeat("&a ", 30000), "more than 1000 anchors"},
		"words":           {"steps: [" + strings.Repeat("1, ", 100000) + "]", "more than 100000 words"},
		"size":            {"steps: []\n" + strings.Repeat("# a comment\n", 100000), "more than 1048576 bytes"},
		"loops":           {"steps: [" + loop + "]\n", "the loops make more than 1000000 tasks"},
		"steps":           {"steps: [{for: {k: [0, 2000000]}, steps: [{kernel: fractal.mandelbrot, args: {}}]}]\n", ""},
		"loop to the end": {"steps: [{for: {k: [9223372036854775800, 9223372036854775807, 5]}, steps: []}]\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			got := strings.Join(faultsOf(t, t.TempDir(), c.text, Options{}), "\n")
			if c.want != "" && !strings.Contains(got, c.want) {
				t.Errorf("%.300s, want %s", got, c.want)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.raw"), make([]byte, 32), 0o644); err != nil {
		t.Fatal(err)
	}
	text := `buffers:
  unused: {dtype: float32, shape: [4]}
  zeros: {dtype: float32, shape: [8]}
  never: {dtype: float32, shape: [8], out: never.npy}
  x: {dtype: float32, shape: [8], file: in.raw}
  z: {dtype: float32, shape: [8], out: in.raw}
steps:
  - {kernel: vector.add, args: {x: x, y: zeros, z: z}}
`
	p, err := Load(write(t, dir, "p.yaml", text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range p.Warnings() {
		got = append(got, fmt.Sprintf("%d:%d %s: %s", w.Line, w.Column, w.Path, strings.ReplaceAll(w.Msg, dir+string(filepath.Separator), "")))
	}
	want := []string{
		`6:40 buffers.z.out: in.raw is also the input of buffer "x"; it is read first and replaced at the end`,
		"2:3 buffers.unused: no step uses the buffer",
		"3:3 buffers.zeros: the buffer is read before any step writes it: it holds zeros then",
		"4:44 buffers.never.out: no step writes the buffer: the file will hold zeros",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
