package tandem_test

import (
	"slices"
	"testing"

	tandem "github.com/tandemrun/tandem/runtime"
)

// TestSelectorBackends: only a selector whose positive terms all name a backend
// restricts which drivers are asked.
func TestSelectorBackends(t *testing.T) {
	for text, want := range map[string][]string{
		"":                     nil,
		"cpu":                  {"cpu"},
		"opencl:1,cpu":         {"opencl", "cpu"},
		"cuda:GPU-5e2a,cuda:1": {"cuda"},
		"cpu,kind=gpu":         nil,
		"name=H200":            nil,
		"!fpga":                nil,
		"cpu,!opencl":          {"cpu"},
		"cuda?":                nil,
	} {
		s, err := tandem.ParseSelector(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Backends(); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
