package pipeline

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance reads YAML as the values that a JSON Schema is about.
func instance(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := yaml.UnmarshalWithOptions(text, &v, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchema holds the schema against every pipeline in the repository: those
// whose keys are right are valid.
func TestSchema(t *testing.T) {
	s := compiledSchema(t)
	var files []string
	for _, pattern := range []string{"testdata/cases/*/*.yaml", "../../examples/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 40 {
		t.Fatalf("only %d pipelines found", len(files))
	}
	// What a schema can see of the bad ones.
	bad := []string{"job-typo-at-top.yaml", "job-typo-in-arg.yaml", "job-typo-in-step.yaml", "job-fraction.yaml"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Validate(instance(t, text))
		if isBad := slices.Contains(bad, filepath.Base(file)); isBad != (err != nil) {
			t.Errorf("%s: bad %v, the schema says %v", file, isBad, err)
		}
	}
}

func TestSchemaForms(t *testing.T) {
	s := compiledSchema(t)
	step := func(more string) string { return "steps: [{kernel: image.gray" + more + "}]" }
	for text, valid := range map[string]bool{
		"steps: []":                                      true,
		"buffers: {}":                                    false, // no steps
		"version: 1\nsteps: []":                          true,
		"version: 2\nsteps: []":                          false,
		"vars: {n: 1, m: n*2}\nsteps: []":                true,
		"vars: {n: [1]}\nsteps: []":                      false,
		step(", global: 4, local: [2, n]"):               true,
		step(", global: [1, 2, 3, 4]"):                   false,
		step(", split: none"):                            true,
		step(", split: [0.5, 0.5]"):                      true,
		step(", split: some"):                            false,
		step(", device: 0"):                              true,
		step(", device: -1"):                             false,
		step(", device: kind=gpu"):                       true,
		step(", args: {src: photo, n: 3}"):               true,
		step(", args: [{buf: x, mode: r}]"):              true,
		step(", args: [{buf: x, mode: read}]"):           false,
		step(", args: [{struct: [{id: 7, type: int}]}]"): true,
		step(", args: [{val: [1, 2, 3], type: float3}, {local_bytes: 4*n}]"):        true,
		"steps: [{kernel: image.gary}]":                                             false,
		"steps: [{kernel: {file: k.cl, entry: f, defines: {T: float, N: 4, D: }}}]": true,
		"steps: [{kernel: {entry: f}}]":                                             false,
		"steps: [{for: {k: [0, n]}, steps: [{kernel: image.gray}]}]":                true,
		"steps: [{for: {k: [0]}, steps: []}]":                                       false,
		"steps: [{for: {k: [0, n]}}]":                                               false,
		"buffers: {x: {dtype: float32, shape: [], fill: true}}\nsteps: []":          true,
		"buffers: {x: {dtype: float, shape: []}}\nsteps: []":                        false,
		"buffers: {x: {dtype: float32, shape: 3}}\nsteps: []":                       false,
		"limits: {step_timeout_s: 2}\nsteps: []":                                    true,
		"limits: {step_timeout: 2}\nsteps: []":                                      false,
	} {
		if err := s.Validate(instance(t, []byte(text))); valid != (err == nil) {
			t.Errorf("%s: want valid %v, the schema says %v", text, valid, err)
		}
	}
}

// TestSchemaDescribes holds that every key has a description.
func TestSchemaDescribes(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	known := slices.Concat(keysOf[document](), keysOf[bufferFormat](), keysOf[stepFormat](), keysOf[loopFormat](), keysOf[kernelFormat](), keysOf[argFormat](), keysOf[limitsFormat]())
	seen := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		if props, ok := m["properties"].(map[string]any); ok {
			for key, p := range props {
				seen[key] = true
				if d, _ := p.(map[string]any)["description"].(string); len(d) < 10 || !strings.HasSuffix(d, ".") {
					t.Errorf("%s.%s is described by %q", path, key, d)
				}
			}
		}
		for key, c := range m {
			walk(path+"."+key, c)
		}
	}
	walk("", doc)
	for _, key := range known {
		if !seen[key] {
			t.Errorf("the schema has no %q", key)
		}
	}
}
