package ragged

import "sync"

// MaxBuilds bounds the builds that a program, and the handles that a kernel,
// keeps for geometries. One that goes while a launch of it is still in flight
// lives on in the vendor's library until that is done.
const MaxBuilds = 16

// Builds are a program's builds for geometries, each an H of the driver. A
// kernel that asks for its group id or the global size sees the launch of a box,
// not the whole: it is built once more with those functions replaced by macros
// that answer for the whole (Prelude). The zero Builds is empty.
type Builds[H any] struct {
	mu    sync.Mutex
	built map[Geometry]*built[H]
	clock uint64
}

type built[H any] struct {
	handle H
	used   uint64
}

// Use calls use with the build for a geometry, which it makes if need be; drop
// gives back the one that was used longest ago where there are too many. No
// build is dropped while use runs.
func (b *Builds[H]) Use(g Geometry, build func() (H, error), drop func(H), use func(H) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock++
	if found := b.built[g]; found != nil {
		found.used = b.clock
		return use(found.handle)
	}
	h, err := build()
	if err != nil {
		return err
	}
	if b.built == nil {
		b.built = map[Geometry]*built[H]{}
	}
	if len(b.built) >= MaxBuilds {
		var oldest Geometry
		first := true
		for k, v := range b.built {
			if first || v.used < b.built[oldest].used {
				oldest, first = k, false
			}
		}
		drop(b.built[oldest].handle)
		delete(b.built, oldest)
	}
	b.built[g] = &built[H]{h, b.clock}
	return use(h)
}

// Len is how many builds there are.
func (b *Builds[H]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.built)
}

// Clear drops them all.
func (b *Builds[H]) Clear(drop func(H)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range b.built {
		drop(v.handle)
	}
	b.built = nil
}
