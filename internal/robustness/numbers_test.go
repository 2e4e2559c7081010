package robustness

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestNaN: tests for NaN are not optimised away unless the user asks for that,
// and a binary built with such an option is not used for a build without.
func TestNaN(t *testing.T) {
	needOpenCL(t)
	const name = "09-nan"
	inf := math.Inf(1)
	marked := func(t *testing.T, dir string) {
		t.Helper()
		sameFile(t, dir, "y.npy", "want_marked.npy")
		holds(t, dir, "y.npy", 1, -1, inf, -inf, math.Copysign(0, -1), 2)
		holds(t, dir, "m.npy", inf, 3)
	}
	t.Run("as it is", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-a.yaml")
		marked(t, dir)
	})
	t.Run("beside a build with fast math", func(t *testing.T) {
		dir, cache := folder(t, name), filepath.Join(t.TempDir(), "cache")
		setting := "TANDEM_CACHE_DIR=" + cache
		builds := func() int { return count(t, filepath.Join(cache, "builds")) }
		ran(t, dir, "job-b.yaml", setting)
		fast := builds()
		ran(t, dir, "job-a.yaml", setting)
		marked(t, dir)
		if n := builds(); fast == 0 || n <= fast {
			t.Errorf("%d builds are kept, %d before the one without the option", n, fast)
		}
		both := builds()
		ran(t, dir, "job-b.yaml", setting)
		ran(t, dir, "job-a.yaml", setting)
		marked(t, dir)
		if n := builds(); n != both {
			t.Errorf("%d builds are kept, want %d as before", n, both)
		}
	})
	for _, c := range []struct {
		dtype devices.DType
		c     string
	}{{devices.Float64, "double"}, {devices.Float32, "float"}} {
		t.Run(c.c, func(t *testing.T) {
			dir := put(t, t.TempDir(), "k.cl", fmt.Sprintf("__kernel void mark(__global const %s *x, __global %s *y) { size_t i = get_global_id(0); y[i] = x[i] != x[i] ? -1 : x[i]; }", c.c, c.c))
			put(t, dir, "x.csv", "1,nan,inf,-inf,-0.0,NaN\n")
			put(t, dir, "job.yaml", fmt.Sprintf(`
buffers: {x: {file: x.csv, dtype: %s}, y: {dtype: %s, shape: [6], out: y.npy}}
steps:
  - {kernel: {file: k.cl, entry: mark, lang: opencl}, global: [6], args: [{buf: x, mode: r}, {buf: y, mode: w}]}
`, c.dtype, c.dtype))
			ran(t, dir, "job.yaml")
			holds(t, dir, "y.npy", 1, -1, inf, -inf, math.Copysign(0, -1), -1)
		})
	}
}

// count is the number of files below a folder.
func count(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCompare: NaN against a number is a difference, NaN against NaN is none,
// and reports are JSON whatever the numbers.
func TestCompare(t *testing.T) {
	dir := folder(t, "09-nan")
	for _, c := range []struct {
		file string
		code int
		says string
	}{
		{"cmp_same.npy", 0, "equal: 4 elements"},
		{"cmp_nan_for_number.npy", 1, "at (1,)"},
		{"cmp_number_for_nan.npy", 1, "at (2,)"},
		{"cmp_inf_for_number.npy", 1, "at (3,)"},
	} {
		for _, flags := range [][]string{nil, {"--rtol", "1e-6"}, {"--atol", "1e30"}, {"--rtol", "Inf"}, {"--max-ulp", "1000000"}} {
			args := append([]string{"compare", c.file, "cmp_want.npy"}, flags...)
			o := tandem(t, dir, nil, args...).exits(c.code)
			inOrder(t, o.command(), o.stdout, c.says)
			swapped := append([]string{"compare", "cmp_want.npy", c.file, "--json"}, flags...)
			if o = tandem(t, dir, nil, swapped...).exits(c.code); !json.Valid([]byte(o.stdout)) {
				t.Errorf("%s: no JSON: %s", o.command(), o.stdout)
			}
		}
	}
}

// TestCompareKinds: other types and shapes, tolerances, files that are none.
func TestCompareKinds(t *testing.T) {
	dir := t.TempDir()
	nan := math.NaN()
	save(t, dir, "f64.npy", devices.Float64, []int64{2, 2}, 1, nan, math.Inf(1), 0)
	save(t, dir, "f64-nan.npy", devices.Float64, []int64{2, 2}, 1, 2, math.Inf(1), 0)
	save(t, dir, "f64-inf.npy", devices.Float64, []int64{2, 2}, 1, nan, math.Inf(-1), 0)
	save(t, dir, "f64-zero.npy", devices.Float64, []int64{2, 2}, 1, nan, math.Inf(1), math.Copysign(0, -1))
	save(t, dir, "flat.npy", devices.Float64, []int64{4}, 1, nan, math.Inf(1), 0)
	save(t, dir, "f32.npy", devices.Float32, []int64{2, 2}, float32(1), float32(nan), float32(math.Inf(1)), 0)
	save(t, dir, "f16.npy", devices.Float16, []int64{2}, uint16(0x3c00), uint16(0x7e00))     // 1, NaN
	save(t, dir, "f16-nan.npy", devices.Float16, []int64{2}, uint16(0x3c00), uint16(0x7d01)) // another NaN
	save(t, dir, "f16-num.npy", devices.Float16, []int64{2}, uint16(0x3c00), uint16(0x3c00))
	save(t, dir, "i64.npy", devices.Int64, []int64{2}, int64(1)<<53+1, math.MinInt64)
	save(t, dir, "i64-off.npy", devices.Int64, []int64{2}, int64(1)<<53, math.MinInt64)
	save(t, dir, "u64.npy", devices.Uint64, []int64{1}, uint64(math.MaxUint64))
	save(t, dir, "u64-off.npy", devices.Uint64, []int64{1}, uint64(math.MaxUint64-1))
	save(t, dir, "one.npy", devices.Float32, []int64{1}, float32(1))
	save(t, dir, "next.npy", devices.Float32, []int64{1}, math.Nextafter32(1, 2))
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"f64.npy f64-nan.npy", 1, "at (0, 1)"},
		{"f64-nan.npy f64.npy --atol 1e300", 1, "at (0, 1)"},
		{"f64.npy f64-inf.npy --rtol 1", 1, "at (1, 0)"},
		{"f64.npy f64-zero.npy", 0, "equal"},
		{"f64.npy flat.npy", 1, "(2, 2)"},
		{"f64.npy f32.npy", 1, "float32"},
		{"f16.npy f16-nan.npy", 0, "equal"},
		{"f16.npy f16-num.npy --atol 10", 1, "at (1,)"},
		{"i64.npy i64-off.npy", 1, "9007199254740993"},
		{"i64.npy i64-off.npy --atol 1", 0, "equal"},
		{"i64.npy i64-off.npy --atol 0.5", 1, "at (0,)"},
		{"u64.npy u64-off.npy", 1, "18446744073709551615"},
		{"one.npy next.npy", 1, "at (0,)"},
		{"one.npy next.npy --max-ulp 1", 0, "equal"},
		{"one.npy missing.npy", 2, ""},
		{"one.npy one.npy --rtol NaN", 2, ""},
		{"one.npy one.npy --atol -1", 2, ""},
		{"one.npy", 2, ""},
	} {
		o := tandem(t, dir, nil, append([]string{"compare"}, strings.Fields(c.args)...)...).exits(c.code)
		inOrder(t, o.command(), o.stdout, c.says)
		if c.code == 2 && o.stderr == "" {
			t.Errorf("%s: no word on standard error", o.command())
		}
	}
}

// TestNonFiniteCSV: nan, inf and -inf survive a table, and its reader takes the
// spellings of others.
func TestNonFiniteCSV(t *testing.T) {
	needOpenCL(t)
	dir := folder(t, "09-nan")
	edit(t, dir, "job-a.yaml", "out: m.npy", "out: m.csv")
	edit(t, dir, "job-a.yaml", "out: y.npy", "out: y.csv")
	ran(t, dir, "job-a.yaml")
	b, err := os.ReadFile(filepath.Join(dir, "y.csv"))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(string(b), func(r rune) bool { return r == ',' || r == '\n' })
	if want := []string{"1", "-1", "inf", "-inf", "-0", "2"}; !slices.Equal(words, want) {
		t.Errorf("y.csv holds %q, want %q", words, want)
	}
	if got := values(t, array(t, dir, "m.csv")); !math.IsInf(got[0], 1) || got[1] != 3 {
		t.Errorf("m.csv read back: %v", got)
	}
}
