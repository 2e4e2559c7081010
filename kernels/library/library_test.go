package library

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// TestGoVariants holds every Go variant to its reference, in one piece and in
// random pieces, which have to give the same bits.
func TestGoVariants(t *testing.T) {
	rng := seeded(t)
	split := splitGo(rng)
	seen := map[string]bool{}
	for _, p := range problems(rng) {
		seen[p.k.Name] = true
		t.Run(p.name, func(t *testing.T) {
			one, parts := cloneArgs(p.args), cloneArgs(p.args)
			run(t, wholeGo, p.k, one...)
			run(t, split, p.k, parts...)
			compareArgs(t, "in parts", parts, one)
			if p.check != nil {
				p.check(t, one)
				return
			}
			want := cloneArgs(p.args)
			p.want(want)
			compareArgs(t, "against the reference", one, want)
		})
	}
	for _, k := range All() {
		if !seen[k.Name] {
			t.Errorf("%s has no test", k.Name)
		}
	}
}

func compareArgs(t testing.TB, what string, got, want []any) {
	t.Helper()
	for i := range got {
		if b, ok := got[i].(*buf); ok {
			sameBits(t, what, b, want[i].(*buf))
		}
	}
}

// everyLaunch calls f for each kernel with variants: those that All lists and
// those that composed ones are made of.
func everyLaunch(t *testing.T, f func(c *kernels.Call)) {
	rng := seeded(t)
	for _, p := range problems(rng) {
		run(t, func(_ testing.TB, c *kernels.Call, mem [][]byte) {
			f(c)
			wholeGo(t, c, mem)
		}, p.k, cloneArgs(p.args)...)
	}
}

func TestKernelsAreComplete(t *testing.T) {
	launched := map[*kernels.Kernel]bool{}
	everyLaunch(t, func(c *kernels.Call) { launched[c.Kernel] = true })
	for k := range launched {
		for _, lang := range []devices.Language{devices.LangGo, devices.LangOpenCL} {
			v := k.Variant(lang)
			if v == nil {
				t.Errorf("%s has no %s variant", k.Name, lang)
				continue
			}
			if v.Source.Language != lang {
				t.Errorf("%s: source of the %s variant is %s", k.Name, lang, v.Source.Language)
			}
			if lang == devices.LangGo && v.Source.Go[v.Entry] == nil {
				t.Errorf("%s: no Go function %q", k.Name, v.Entry)
			}
		}
		if k.Variants[0].Language != devices.LangGo {
			t.Errorf("%s: the first variant is %s, want go", k.Name, k.Variants[0].Language)
		}
	}
	for _, k := range All() {
		if k.Doc == "" || strings.Contains(k.Doc, "\n") {
			t.Errorf("%s: Doc is %q, want one line", k.Name, k.Doc)
		}
		if (k.Compose == nil) != (len(k.Variants) > 0) {
			t.Errorf("%s: want either variants or Compose", k.Name)
		}
		for _, p := range k.Params {
			if p.Doc == "" {
				t.Errorf("%s: %s has no Doc", k.Name, p.Name)
			}
		}
		found, err := Lookup(k.Name)
		if err != nil || found != k {
			t.Errorf("Lookup(%q) = %v, %v", k.Name, found, err)
		}
	}
}

// TestSplittable checks that every launch may be divided over devices, apart
// from those that are a single work-item.
func TestSplittable(t *testing.T) {
	want := map[string]string{"vector.sum.i32.final": "it is a single work-item"}
	everyLaunch(t, func(c *kernels.Call) {
		dim, bands, err := c.Splittable()
		if strings.HasSuffix(c.Kernel.Name, ".final") {
			if err == nil {
				t.Errorf("%s may be split, want a refusal", c.Kernel.Name)
			} else if w := want[c.Kernel.Name]; !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q in it", c.Kernel.Name, err, w)
			}
			return
		}
		if err != nil {
			t.Errorf("%s %v: %v", c.Kernel.Name, c.Range.Size, err)
			return
		}
		// The bands of the whole range have to cover a written array.
		for i, a := range c.Args {
			if a.Array == nil || !a.Mode.Writes() {
				continue
			}
			n := a.Array.Elements()
			from, to := bands[i].Elements(0, int64(c.Range.Size[dim]), n)
			if n > 0 && c.Range.Items() > 0 && (from != 0 || to != n) {
				t.Errorf("%s %v: %s covers elements %d to %d of %d", c.Kernel.Name, c.Range.Size, c.Kernel.Params[i].Name, from, to, n)
			}
		}
	})
}

// TestBands checks the access mappings: each part of a launch gets arrays of
// which only its bands hold the input and everything else is rubbish, and has
// to compute its part of the result all the same, and to write nothing outside.
func TestBands(t *testing.T) {
	rng := seeded(t)
	for _, p := range problems(rng) {
		t.Run(p.name, func(t *testing.T) {
			args := cloneArgs(p.args)
			run(t, func(t testing.TB, c *kernels.Call, mem [][]byte) {
				checkBands(t, rng.IntN, c, mem)
				wholeGo(t, c, mem)
			}, p.k, args...)
		})
	}
}

func checkBands(t testing.TB, intn func(int) int, c *kernels.Call, mem [][]byte) {
	dim, bands, err := c.Splittable()
	if err != nil || c.Range.Items() == 0 {
		return
	}
	n := c.Range.Size[dim]
	lo := intn(n)
	hi := lo + 1 + intn(n-lo)
	want, got := make([][]byte, len(mem)), make([][]byte, len(mem))
	span := func(i int) (from, to int) {
		size := c.Args[i].Array.DType.Size()
		if bands[i] == nil {
			return 0, len(mem[i])
		}
		f, e := bands[i].Elements(int64(lo), int64(hi), c.Args[i].Array.Elements())
		return int(f) * size, int(e) * size
	}
	for i, m := range mem {
		if c.Args[i].Array == nil {
			continue
		}
		want[i], got[i] = aligned(len(m)), aligned(len(m))
		copy(want[i], m)
		for j := range got[i] {
			got[i][j] = 0x5a
		}
		if c.Args[i].Mode.Reads() {
			from, to := span(i)
			copy(got[i][from:to], m[from:to])
		}
	}
	r := wholeRange(c.Range)
	all := hostArgs(c, want)
	goFunc(c.Kernel)(r, &all)
	r.Lo[dim], r.Hi[dim] = lo, hi
	part := hostArgs(c, got)
	goFunc(c.Kernel)(r, &part)
	for i := range mem {
		a := c.Args[i]
		if a.Array == nil || !a.Mode.Writes() {
			continue
		}
		from, to := span(i)
		g := &buf{Array: kernels.Array{DType: devices.Uint8}, data: got[i][from:to]}
		w := &buf{Array: kernels.Array{DType: devices.Uint8}, data: want[i][from:to]}
		sameBits(t, c.Kernel.Name+" "+c.Kernel.Params[i].Name+" in its band", g, w)
		for j, b := range got[i] {
			if (j < from || j >= to) && b != 0x5a {
				t.Fatalf("%s: work-items %d to %d wrote byte %d of %s, outside %d to %d", c.Kernel.Name, lo, hi, j, c.Kernel.Params[i].Name, from, to)
			}
		}
	}
}

func TestLookupSuggests(t *testing.T) {
	for name, want := range map[string]string{
		"vector.ad": `"vector.add"`, "blur": `"image.blur"`, "Image.Sobel": `"image.sobel"`, "linalg.gmem": `"linalg.gemm"`,
		"quite different": "there are finance.blackscholes, fractal.mandelbrot",
	} {
		_, err := Lookup(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Lookup(%q): %v, want %s in it", name, err, want)
		}
	}
}

// TestNothingIsFused disassembles the package for a processor with fused
// multiply-add: a fused operation rounds once instead of twice, and results
// would depend on the processor.
func TestNothingIsFused(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the package for arm64")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	cmd := exec.Command(goTool, "build", "-gcflags=-S", ".")
	cmd.Env = append(cmd.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go build for arm64: %v\n%.2000s", err, text)
	}
	if n := strings.Count(string(text), "\tFMULS\t"); n < 50 {
		t.Fatalf("only %d FMULS in the listing; is it the package's?", n)
	}
	for _, line := range regexp.MustCompile(`(?m)^.*\tFN?M(ADD|SUB)[SD]\t.*$`).FindAllString(string(text), -1) {
		t.Errorf("fused: %s", line)
	}
}
