package bridge

import (
	"fmt"
	"strings"
)

// settings are the options of a build.
type settings struct {
	options []string // NVRTC's
	single  bool     // literals without a suffix are float
}

// always are the options of every build. Contraction of a * b + c is off: it is
// what keeps results bit for bit those of other devices.
var always = []string{"--std=c++17", "--fmad=false", "--diag-suppress=68,177,550,2361"}

// ignored are options that mean nothing here, or allow what is not made use of.
var ignored = map[string]bool{
	"-cl-kernel-arg-info": true, "-cl-opt-disable": true, "-cl-strict-aliasing": true, "-cl-finite-math-only": true,
	"-cl-no-signed-zeros": true, "-cl-fp32-correctly-rounded-divide-sqrt": true, "-cl-uniform-work-group-size": true,
	"-cl-nv-verbose": true, "-cl-no-subgroup-ifp": true, "": true,
}

// mapped are options with a meaning for NVRTC.
var mapped = map[string][]string{
	"-cl-mad-enable":                {"--fmad=true"},
	"-cl-unsafe-math-optimizations": {"--fmad=true"},
	"-cl-denorms-are-zero":          {"--ftz=true"},
	"-cl-fast-relaxed-math":         {"--fmad=true", "--ftz=true", "--prec-div=false", "--prec-sqrt=false"},
	"-w":                            {"--disable-warnings"},
	"-g":                            {"--generate-line-info"},
}

// readOptions turns OpenCL's options into NVRTC's. One that has no counterpart
// is an error.
func readOptions(list []string) (settings, error) {
	s := settings{options: append([]string(nil), always...)}
	for _, o := range list {
		o = strings.TrimSpace(o)
		switch {
		case ignored[o] || strings.HasPrefix(o, "-cl-std=CL") || o == "-Werror":
		case mapped[o] != nil:
			for _, n := range mapped[o] {
				if n == "--fmad=true" {
					s.options[1] = n
					continue
				}
				s.options = append(s.options, n)
			}
		case o == "-cl-single-precision-constant":
			s.single = true
		case strings.HasPrefix(o, "-cl-nv-maxrregcount="):
			s.options = append(s.options, "--maxrregcount="+strings.TrimPrefix(o, "-cl-nv-maxrregcount="))
		case strings.HasPrefix(o, "--") || strings.HasPrefix(o, "-use_fast_math"):
			s.options = append(s.options, o) // NVRTC's own
		default:
			return s, fmt.Errorf("the option %q has no counterpart in CUDA C", o)
		}
	}
	return s, nil
}
