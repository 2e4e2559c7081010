package opencl

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tandemrun/tandem/devices"
)

// A kernel that asks for its group id or the global size sees the launch of a
// box, not the whole. Such a kernel is built once more with those functions
// replaced by macros that answer for the whole; builds are kept per geometry.

// maxSpecials bounds the builds that a program, and the handles that a
// kernel, keeps for geometries. One that goes while a launch of it is still
// in flight lives on in the library until that is done.
const maxSpecials = 16

// specials are a program's builds for geometries.
type specials struct {
	mu    sync.Mutex
	built map[geometry]*special
	clock uint64
}

type special struct {
	handle uintptr // cl_program
	used   uint64
}

// special builds p for a geometry, or finds the build.
func (p *program) special(g geometry) (uintptr, error) {
	s := &p.specials
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	if found := s.built[g]; found != nil {
		found.used = s.clock
		return found.handle, nil
	}
	src := *p.src
	src.Text = append(prelude(g), named(&src)...)
	b, err := p.d.compile(&src)
	if err != nil {
		return 0, fmt.Errorf("build for a launch in parts: %w", err)
	}
	if s.built == nil {
		s.built = map[geometry]*special{}
	}
	if len(s.built) >= maxSpecials {
		var oldest geometry
		first := true
		for k, v := range s.built {
			if first || v.used < s.built[oldest].used {
				oldest, first = k, false
			}
		}
		p.d.api.call(p.d.api.releaseProgram, s.built[oldest].handle)
		delete(s.built, oldest)
	}
	s.built[g] = &special{b.handle, s.clock}
	return b.handle, nil
}

func (s *specials) clear(a *api) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.built {
		a.call(a.releaseProgram, b.handle)
	}
	s.built = nil
}

// prelude defines the index functions for a geometry. Each has a function of
// its own, so that its argument is evaluated once and may be anything.
func prelude(g geometry) []byte {
	var b strings.Builder
	define := func(name string, of func(d int) string, other string) {
		fmt.Fprintf(&b, "static size_t tandem_%s(uint d) { return d == 0 ? %s : d == 1 ? %s : d == 2 ? %s : %s; }\n#define %s(d) tandem_%s(d)\n",
			name, of(0), of(1), of(2), other, "get_"+name, name)
	}
	constant := func(n int) string { return fmt.Sprintf("(size_t)%dUL", n) }
	if g.uses&usesSize != 0 {
		define("global_size", func(d int) string { return constant(max(g.whole[d], 1)) }, "(size_t)1UL")
	}
	if g.uses&usesOffset != 0 {
		define("global_offset", func(d int) string { return constant(g.offset[d]) }, "(size_t)0UL")
	}
	if g.uses&usesGroupID != 0 {
		define("group_id", func(d int) string {
			return fmt.Sprintf("(get_global_id(%d) - %s) / %s", d, constant(g.origin[d]), constant(max(g.local[d], 1)))
		}, "(size_t)0UL")
		define("num_groups", func(d int) string {
			l := max(g.local[d], 1)
			return constant((max(g.whole[d], 1) + l - 1) / l)
		}, "(size_t)1UL")
	}
	if g.uses&usesEnqueued != 0 {
		define("enqueued_local_size", func(d int) string { return constant(max(g.local[d], 1)) }, "(size_t)1UL")
	}
	if g.uses&usesLinear != 0 {
		fmt.Fprintf(&b, "static size_t tandem_global_linear_id(void) { return ((get_global_id(2) - %s) * %s + get_global_id(1) - %s) * %s + get_global_id(0) - %s; }\n#define get_global_linear_id() tandem_global_linear_id()\n",
			constant(g.offset[2]), constant(max(g.whole[1], 1)), constant(g.offset[1]), constant(max(g.whole[0], 1)), constant(g.offset[0]))
	}
	return []byte(b.String())
}

// named is the text of a source with its name as the first line's, so that a
// compiler's messages name the user's file and not a temporary one.
func named(src *devices.Source) []byte {
	text := src.Text
	if src.Language != devices.LangOpenCL || src.Name == "" || strings.HasPrefix(strings.TrimLeft(string(text[:min(len(text), 64)]), " \t\r\n"), "#line") {
		return text
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", " ").Replace(src.Name)
	return append([]byte("#line 1 \""+quoted+"\"\n"), text...)
}
