package bridge

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/library"
)

var dump = flag.String("dump", "", "write the CUDA C and the PTX of the built-in kernels to this folder")

// archs are compute capabilities from the oldest to the newest that matter.
var archs = []int{75, 80, 90, 120}

func compiler(t testing.TB) *nvrtc.Library {
	t.Helper()
	l, err := nvrtc.Open(nvrtc.Options{})
	devicetest.Require(t, "nvrtc", err)
	return l
}

// compile translates a source and compiles the result for several
// architectures, two at a time.
func compile(t *testing.T, l *nvrtc.Library, src *devices.Source, archs []int) (*Program, map[int][]byte) {
	t.Helper()
	p, err := Translate(src)
	if err != nil {
		t.Fatalf("%s: %+v", src.Name, err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	ptx := map[int][]byte{}
	gate := make(chan struct{}, 2)
	if testing.Short() {
		archs = archs[:1]
	}
	for _, a := range archs {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			res, err := l.Compile(nvrtc.Request{Name: src.Name, Text: p.Text, Arch: a, Options: p.Options})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%s for %d: %+v", src.Name, a, err)
				return
			}
			if res.Log != "" {
				t.Errorf("%s for %d: the compiler says %s", src.Name, a, res.Log)
			}
			ptx[a] = res.Image
		})
	}
	wg.Wait()
	return p, ptx
}

// builtins are the sources in OpenCL C of all built-in kernels and of the
// kernels that those are composed of, with the entries of each.
func builtins(t *testing.T) (sources []*devices.Source, entries map[*devices.Source][]string) {
	t.Helper()
	entries = map[*devices.Source][]string{}
	var add func(k *kernels.Kernel)
	add = func(k *kernels.Kernel) {
		if k.Compose != nil {
			c := &kernels.Call{Kernel: k, Args: make([]kernels.Arg, len(k.Params))}
			for i, p := range k.Params {
				if p.Kind == kernels.Buffer {
					c.Args[i].Array = &kernels.Array{Name: p.Name, DType: p.Type.Elem, Shape: []int64{300, 400}}
				}
			}
			steps, err := k.Compose(c)
			if err != nil {
				t.Fatalf("%s: %v", k.Name, err)
			}
			for _, s := range steps {
				add(s.Kernel)
			}
			return
		}
		v := k.Variant(devices.LangOpenCL)
		if v == nil {
			t.Fatalf("%s has no variant in OpenCL C", k.Name)
		}
		if entries[v.Source] == nil {
			sources = append(sources, v.Source)
		}
		if !slices.Contains(entries[v.Source], v.Entry) {
			entries[v.Source] = append(entries[v.Source], v.Entry)
		}
	}
	for _, k := range library.All() {
		add(k)
	}
	return sources, entries
}

// TestBuiltin: every built-in kernel compiles for every architecture, with
// nothing said by the compiler.
func TestBuiltin(t *testing.T) {
	l := compiler(t)
	sources, entries := builtins(t)
	if len(sources) < 15 {
		t.Fatalf("%d sources: the test would prove little", len(sources))
	}
	count := 0
	for i, src := range sources {
		p, ptx := compile(t, l, src, archs)
		for _, e := range entries[src] {
			k, err := p.Kernel(e)
			if err != nil {
				t.Errorf("%s: %v", src.Name, err)
				continue
			}
			for a, text := range ptx {
				if !strings.Contains(string(text), ".entry "+k.Symbol+"(") {
					t.Errorf("%s: the PTX for %d has no entry %s", src.Name, a, k.Symbol)
				}
				count++
			}
		}
		if *dump != "" {
			base := filepath.Join(*dump, fmt.Sprintf("%02d-%s", i, strings.TrimSuffix(src.Name, ".cl")))
			for name, text := range map[string][]byte{base + ".cu": []byte(p.Text), base + ".75.ptx": ptx[75], base + ".90.ptx": ptx[90]} {
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("%d sources, %d kernels times architectures", len(sources), count)
}
