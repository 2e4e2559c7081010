package robustness

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestIncludeFolders: folders with blanks, or with what looks like an option in
// their names, and headers that include headers.
func TestIncludeFolders(t *testing.T) {
	needOpenCL(t)
	t.Run("blanks and -g", func(t *testing.T) {
		dir := folder(t, "07-include-and-build-log")
		ran(t, dir, "job-a.yaml")
		holds(t, dir, "y.npy", 3.5, 6.5, 9.5, 12.5)
	})
	for _, name := range []string{"-g", "-I inc", "it's", "a$HOME b", "Größe µ", "x;y", "(a) [b] {c}", "a\"b", "back\\slash", "%d %s"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, filepath.Join(name, "k.cl"), "#include \"one.h\"\n#include <deep.h>\n__kernel void k(__global int *x) { x[get_global_id(0)] = ONE + DEEP + NEAR; }\n")
			put(t, dir, filepath.Join(name, "one.h"), "#define ONE 1\n")
			put(t, dir, filepath.Join(name, "inc dir", "deep.h"), "#include \"near.h\"\n#define DEEP 10\n")
			put(t, dir, filepath.Join(name, "inc dir", "near.h"), "#define NEAR 100\n")
			quoted, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			q := strings.Trim(string(quoted), `"`)
			put(t, dir, "job.yaml", fmt.Sprintf(`
buffers: {x: {dtype: int32, shape: [2], out: x.npy}}
steps:
  - {kernel: {file: "%s/k.cl", entry: k, lang: opencl, include: ["%s", "%s/inc dir"]}, global: [2], args: [{buf: x, mode: w}]}
`, q, q, q))
			ran(t, dir, "job.yaml")
			holds(t, dir, "x.npy", 111, 111)
		})
	}
}

// TestControlCharacters: what no compiler takes as a path is refused in the file.
func TestControlCharacters(t *testing.T) {
	dir := put(t, t.TempDir(), "job.yaml", strings.ReplaceAll(kernelJob, "file: k.cl", `file: "tab\tk.cl"`))
	refused(t, dir, "job.yaml", `job.yaml:4:28: steps[0].kernel.file: "tab\tk.cl" holds a control character`)
}

// TestBuildMessages: what the compiler says is about the user's own files, on
// failure and on success, also from a cache.
func TestBuildMessages(t *testing.T) {
	needOpenCL(t)
	const name = "07-include-and-build-log"
	t.Run("error in a header", func(t *testing.T) {
		refused(t, folder(t, name), "job-b.yaml", "my kernels-g/inc dir/bad_coef.h:3:", "missing_constant").silentOn("tempfile", ".cl/program", scratch)
	})
	t.Run("function that is nowhere", func(t *testing.T) {
		refused(t, folder(t, name), "job-d.yaml", "my kernels-g/no_such_function.cl:5:12:", "smooth", "defined nowhere").silentOn("instructions in function")
	})
	t.Run("two functions that are nowhere", func(t *testing.T) {
		dir := put(t, t.TempDir(), "k.cl", `float first(float);
float second(float);
__kernel void k(__global float *x)
{
    x[0] = first(x[0]);
    x[1] = second(x[1]);
}
`)
		put(t, dir, "job.yaml", kernelJob)
		o := tandem(t, dir, nil, "run", "job.yaml").exits(2)
		if !strings.Contains(o.stderr, "k.cl:5:12: ") || !strings.Contains(o.stderr, "'first'") {
			t.Errorf("no word of first in line 5:\n%s", o.stderr)
		}
	})
	t.Run("warning on success", func(t *testing.T) {
		dir := folder(t, name)
		fresh := "TANDEM_CACHE_DIR=" + filepath.Join(t.TempDir(), "cache")
		for _, how := range []string{"compiled", "from the cache"} {
			t.Log(how)
			tandem(t, dir, []string{fresh}, "run", "job-c.yaml").exits(0).says("warning", "my kernels-g/only_warns.cl:5:")
			holds(t, dir, "y.npy", 4, 4, 4, 4)
		}
	})
	t.Run("nothing to say", func(t *testing.T) {
		dir := folder(t, name)
		if o := tandem(t, dir, nil, "run", "job-a.yaml", "--json").exits(0); o.stderr != "" {
			t.Errorf("standard error: %q", o.stderr)
		}
	})
	t.Run("changed header", func(t *testing.T) { // is not answered from a cache
		dir := folder(t, name)
		ran(t, dir, "job-a.yaml")
		b, err := os.ReadFile(filepath.Join(dir, "my kernels-g", "inc dir", "coef.h"))
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, filepath.Join("my kernels-g", "inc dir", "coef.h"), strings.ReplaceAll(string(b), "3.0f", "5.0f"))
		ran(t, dir, "job-a.yaml")
		if got := values(t, array(t, dir, "y.npy")); same(got[0], 3.5) {
			t.Errorf("y = %v after the header changed", got)
		}
	})
}

// kernelJob runs kernel k of k.cl on two floats.
const kernelJob = `
buffers: {x: {dtype: float32, shape: [2], fill: 1, out: x.npy}}
steps:
  - {id: s, kernel: {file: k.cl, entry: k, lang: opencl}, global: [1], args: [{buf: x, mode: rw}]}
`

// TestDoublePrecision: where a device has it, results keep it; see
// TestMissingPrecision for devices without.
func TestDoublePrecision(t *testing.T) {
	needOpenCL(t)
	const name = "08-needs-fp64"
	t.Run("double", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-a.yaml")
		sameFile(t, dir, "y.npy", "want64.npy")
		if v := values(t, array(t, dir, "y.npy")); v[0] != 1.000088900582341e-12 {
			t.Errorf("first value %v", v[0])
		}
	})
	t.Run("a literal without f", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-b.yaml")
		sameFile(t, dir, "y.npy", "want32.npy")
	})
	t.Run("half as a storage format", func(t *testing.T) {
		dir := folder(t, name)
		ran(t, dir, "job-d.yaml")
		sameFile(t, dir, "y.npy", "want16.npy")
		shape(t, dir, "y.npy", devices.Float16, 4)
	})
	t.Run("half arithmetic", func(t *testing.T) {
		p := needOpenCL(t)
		dir := folder(t, name)
		o := tandem(t, dir, nil, "run", "job-c.yaml")
		if o.code == 0 { // a device that has it
			sameFile(t, dir, "y.npy", "want16.npy")
			return
		}
		o.exits(2).says(`task "s"`, p.ids("opencl")[0], "fp16 (cl_khr_fp16)", "half_direct.cl:5:")
	})
}
