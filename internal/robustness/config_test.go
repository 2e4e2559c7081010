package robustness

import (
	"strings"
	"testing"
)

// TestUnknownKeys: misspelt, repeated and wrong entries are faults with line,
// column, path and a suggestion; nothing runs. `tandem check` says the same.
func TestUnknownKeys(t *testing.T) {
	const name = "21-unknown-keys"
	for _, c := range []struct {
		job   string
		words []string
	}{
		{"job-typo-in-step.yaml", []string{":8:5:", "steps[0].loacl", `"loacl"`, "line 8", `did you mean "local"?`}},
		{"job-typo-at-top.yaml", []string{":4:1:", `"priorty"`, "line 4", "there are version, vars, buffers, steps, limits"}},
		{"job-typo-in-arg.yaml", []string{":9:40:", "steps[0].args[1].moed", "line 9", `did you mean "mode"?`}},
		{"job-key-twice.yaml", []string{":8:5:", `"global"`, "line 8 (again; first on line 7)"}},
		{"job-text-for-number.yaml", []string{":7:14:", "global", `"64"`}},
		{"job-fraction.yaml", []string{":7:14:", "global", "64.5"}},
		{"job-negative.yaml", []string{":3:31:", "shape", "-64"}},
	} {
		t.Run(c.job, func(t *testing.T) {
			dir := folder(t, name)
			words := append([]string{c.job + c.words[0]}, c.words[1:]...)
			refused(t, dir, c.job, words...)
			tandem(t, dir, nil, "check", c.job).exits(2).says(words...)
		})
	}
	t.Run("good", func(t *testing.T) {
		needOpenCL(t)
		for _, job := range []string{"job-good.yaml", "job-number-for-list.yaml"} { // local: 16 is [16]
			dir := folder(t, name)
			ran(t, dir, job)
			totals(t, dir, "y.npy", 4032, map[int]float64{0: 0, 63: 126})
		}
	})
	t.Run("all in one go", func(t *testing.T) {
		dir := put(t, folder(t, name), "job.yaml", `version: 2
bufers: {}
buffers:
  x: {file: x.npy, shap: [64]}
  y: {dtype: floot32, shape: [64], out: y.npy}
limits: {step_timeout: 3}
steps:
  - id: s
    kernel: {file: scale.cl, entri: scale, lang: opncl}
    global: [64]
    device: kind=gpu
    args: [{buf: z, mode: r}, {buf: y, mode: q}, {vall: 2.0}]
    splt: none
`)
		o := refused(t, dir, "job.yaml", "job.yaml:1:", "job.yaml:2:1:", `did you mean "buffers"?`, "job.yaml:4:", `did you mean "shape"?`,
			"job.yaml:5:", `did you mean "float32"?`, "job.yaml:6:", `did you mean "step_timeout_s"?`, "job.yaml:9:", `did you mean "entry"?`,
			"job.yaml:12:", "job.yaml:13:5:", `did you mean "split"?`)
		if n := strings.Count(o.stderr, "job.yaml:"); n < 10 {
			t.Errorf("%d faults are shown at once, want at least 10:\n%s", n, o.stderr)
		}
	})
}
