package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad reads anything: it must not panic, hang or report a fault without
// a reason, and what is accepted must describe itself.
func FuzzLoad(f *testing.F) {
	seeds, err := filepath.Glob("testdata/cases/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range seeds {
		text, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, seed := range []string{
		"vars: {n: 4, m: n**2/3}\nbuffers:\n  x: &b {dtype: float32, shape: [n, \"2*n\"], fill: i == j ? 1 : sin(pi*j)}\n  y: {<<: *b, fill: nan}\nsteps:\n" +
			"  - for: {k: [0, n], q: [n, 0, -1]}\n    steps:\n      - {id: a, kernel: vector.add, args: {x: x, y: y, z: y}, repeat: k+1, after: [a]}\nlimits: {step_timeout_s: .5}\n",
		"steps:\n- kernel: vector.dot\n  args: [x, {buf: x, mode: r}, y]\n  split: [1, 0]\n  device: 0\nbuffers: {x: {dtype: int8, shape: [3]}, y: {dtype: int8, shape: [1], out: y.npy}}\n",
		"buffers: {x: {file: x.npy, out: x.csv}}\nsteps: [{kernel: {file: k.cl, defines: {A: , B: 1}}, args: [{struct: [{a: [1, 2], type: int2}, {b: [[1], [2]]}]}, {val: 18446744073709551615}]}]\n",
		"? a\n: b\n", "{a: 1, a: 2}", "a: |\n  b\n", "steps: >-\n  x\n", "\ufeffsteps: []", "steps: []\r\nvars: {a: 0x1F}\r\n",
	} {
		f.Add(seed)
	}
	// Files that the text names are looked for in an empty folder, and nothing
	// is ever written to it.
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "/") || strings.Contains(text, "\\") {
			t.Skip("a path could lead out of the folder")
		}
		p, err := parse(filepath.Join(dir, "p.yaml"), []byte(text), Options{MaxTasks: 2000})
		if err != nil {
			for _, e := range flatten(err) {
				var fault *Fault
				if !errors.As(e, &fault) || fault.Msg == "" {
					t.Fatalf("%T: %v", e, e)
				}
				if strings.Contains(e.Error(), "\n") {
					t.Fatalf("a fault of more than one line: %q", e.Error())
				}
			}
			return
		}
		if len(p.Steps()) > 0 && p.Tasks() > 2000 {
			t.Fatalf("%d tasks", p.Tasks())
		}
		p.Buffers()
		p.Kernels()
		for _, w := range p.Warnings() {
			if w.Error() == "" {
				t.Fatal("an empty warning")
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Fatalf("files %v (%v)", left, err)
		}
	})
}

// FuzzFormula evaluates anything: it must not panic, and the same text has the
// same value.
func FuzzFormula(f *testing.F) {
	for _, seed := range []string{"n*2+i", "idiv(n, 3) % 7", "2**62*2", "i == j ? 1/zero : abs(-big-1)", "min(1, max(2, nan))", "1e400", "not (n > 3) and true", "-(-9223372036854775808)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		eval, fixed, err := parseFormula(text, testScope())
		if err != nil {
			if err.msg == "" || err.at < 0 || err.at > len(text) {
				t.Fatalf("fault %+v", err)
			}
			return
		}
		a, b := frame{v: []int64{1, 2}}, frame{v: []int64{1, 2}}
		x, y := eval(&a), eval(&b)
		if x.String() != y.String() || (a.err == nil) != (b.err == nil) {
			t.Fatalf("%v (%v) and %v (%v)", x, a.err, y, b.err)
		}
		if c := (frame{}); fixed {
			if z := eval(&c); z.String() != x.String() {
				t.Fatalf("fixed, but %v and %v", x, z)
			}
		}
	})
}
