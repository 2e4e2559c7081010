package opencl

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/ragged"
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
	built map[ragged.Geometry]*special
	clock uint64
}

type special struct {
	handle uintptr // cl_program
	used   uint64
}

// special builds p for a geometry, or finds the build.
func (p *program) special(g ragged.Geometry) (uintptr, error) {
	s := &p.specials
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	if found := s.built[g]; found != nil {
		found.used = s.clock
		return found.handle, nil
	}
	src := *p.src
	src.Text = append(ragged.Prelude(g), named(&src)...)
	b, err := p.d.compile(&src)
	if err != nil {
		return 0, fmt.Errorf("build for a launch in parts: %w", err)
	}
	if s.built == nil {
		s.built = map[ragged.Geometry]*special{}
	}
	if len(s.built) >= maxSpecials {
		var oldest ragged.Geometry
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
