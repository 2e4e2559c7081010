package devices

import "slices"

// Language is what a device can compile.
type Language string

// The languages of kernels.
const (
	LangGo     Language = "go"
	LangOpenCL Language = "opencl"
	LangSPIRV  Language = "spirv"
	LangCUDA   Language = "cuda"
	LangPTX    Language = "ptx"
	LangSYCL   Language = "sycl"
	// Functions of a shared library that submit to a sycl::queue themselves.
	LangSYCLLibrary Language = "sycl-library"
	LangRTL         Language = "verilog"
	LangBinary      Language = "binary" // a vendor's own: cached builds, AOCX, xclbin, cubin
)

// A Source is what Compile takes. It is self-contained: text languages come
// with their includes already put in place, marked by #line directives, so
// that a compiler's messages name the user's files.
type Source struct {
	Name     string // for messages; the file's name
	Language Language
	Text     []byte            // source text or binary
	Options  []string          // compiler options, passed on unchanged and part of the cache key
	Go       map[string]GoFunc // LangGo: entry points
}

// Entries lists the entry points of a LangGo source, sorted.
func (s *Source) Entries() []string {
	names := make([]string, 0, len(s.Go))
	for n := range s.Go {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
