package tandem

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// A Selector chooses devices: terms separated by commas, each one of
//
//	cpu              every device of a backend
//	opencl:1         a device by id
//	cuda:GPU-5e2a    a device by its UUID, or the beginning of it
//	kind=gpu         every device of a kind
//	name=H200        the device whose name contains the text; it has to be one
//	!TERM            not these
//	TERM?            these, if there are any
//
// Devices match that fit any positive term (all, if there is none, or none but
// terms with "?" that nothing fits) and no negative one. The order of the
// result is probe order.
type Selector struct {
	text  string
	terms []selectorTerm
}

type selectorTerm struct {
	not, optional    bool
	text             string // without "!"
	backend, id      string
	kind, name, uuid string
}

// ParseSelector reads a selector; "" selects everything.
func ParseSelector(text string) (Selector, error) {
	s := Selector{text: text}
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		t := selectorTerm{text: strings.TrimSpace(part)}
		if rest, ok := strings.CutPrefix(t.text, "!"); ok {
			t.not, t.text = true, strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutSuffix(t.text, "?"); ok {
			t.optional, t.text = true, strings.TrimSpace(rest)
		}
		key, value, isKey := strings.Cut(t.text, "=")
		backend, which, isID := strings.Cut(t.text, ":")
		switch {
		case t.text == "":
			return s, fmt.Errorf("device selector %q: empty term: %w", text, devices.ErrInvalid)
		case isKey && key == "kind":
			t.kind = value
		case isKey && key == "name" && value != "":
			t.name = value
		case isKey:
			return s, fmt.Errorf("device selector %q: %q: want kind=… or name=…: %w", text, t.text, devices.ErrInvalid)
		case isID && which == "":
			return s, fmt.Errorf("device selector %q: %q: nothing after the colon: %w", text, t.text, devices.ErrInvalid)
		case isID:
			if _, err := strconv.Atoi(which); err == nil {
				t.id = t.text
			} else {
				t.backend, t.uuid = backend, which
			}
		default:
			t.backend = t.text
		}
		s.terms = append(s.terms, t)
	}
	return s, nil
}

func (t *selectorTerm) matches(d *devices.Info) bool {
	switch {
	case t.id != "":
		return d.ID == t.id
	case t.kind != "":
		return string(d.Kind) == t.kind
	case t.name != "":
		return strings.Contains(strings.ToLower(d.Name), strings.ToLower(t.name))
	case t.uuid != "":
		return d.Backend == t.backend && (strings.HasPrefix(d.UUID, t.uuid) || strings.HasPrefix("GPU-"+d.UUID, t.uuid))
	}
	return d.Backend == t.backend
}

// Select returns the devices that match, in the order of all. A positive term
// that matches nothing, and a name that fits several devices, are errors that
// list what there is.
func (s Selector) Select(all []devices.Info) ([]devices.Info, error) {
	positive := false
	for i := range s.terms {
		t := &s.terms[i]
		if t.not {
			continue
		}
		var hits []string
		for j := range all {
			if t.matches(&all[j]) {
				hits = append(hits, all[j].ID)
			}
		}
		if len(hits) == 0 && t.optional {
			continue
		}
		positive = true
		if len(hits) == 0 {
			return nil, fmt.Errorf("no device matches %q%s: %w", t.text, listDevices(all, t), devices.ErrUnavailable)
		}
		if t.name != "" && len(hits) > 1 {
			return nil, fmt.Errorf("name %q is ambiguous: it fits %s: %w", t.name, strings.Join(hits, " and "), devices.ErrInvalid)
		}
	}
	var out []devices.Info
	for i := range all {
		in := !positive
		for j := range s.terms {
			if t := &s.terms[j]; !t.not && t.matches(&all[i]) {
				in = true
			}
		}
		for j := range s.terms {
			if t := &s.terms[j]; t.not && t.matches(&all[i]) {
				in = false
			}
		}
		if in {
			out = append(out, all[i])
		}
	}
	if len(out) == 0 && len(all) > 0 {
		return nil, fmt.Errorf("selector %q leaves no device%s: %w", s.text, listDevices(all, nil), devices.ErrUnavailable)
	}
	return out, nil
}

// Names reports whether a term asks for d: a positive one, and no negative one
// speaks against it.
func (s Selector) Names(d *devices.Info) bool {
	named := false
	for i := range s.terms {
		t := &s.terms[i]
		if t.matches(d) {
			if t.not {
				return false
			}
			named = true
		}
	}
	return named
}

// Backends are the names of the only backends whose devices s can select, in the
// order of its terms; nil: it may select any. Other drivers need not be asked.
func (s Selector) Backends() []string {
	var names []string
	for i := range s.terms {
		t := &s.terms[i]
		if t.not {
			continue
		}
		name := t.backend
		if t.id != "" {
			name, _, _ = strings.Cut(t.id, ":")
		}
		// Without a device for an optional term all are selected.
		if name == "" || t.optional {
			return nil
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Choose is Select for work: emulated devices are left out unless s names
// them, ask wants them (nil: none), or there is nothing else. An emulation is
// slow, and no use where any other processor does.
func (s Selector) Choose(all []devices.Info, ask func(*devices.Info) bool) ([]devices.Info, error) {
	list, err := s.Select(all)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(list), func(d devices.Info) bool {
		return d.Emulated && !s.Names(&d) && (ask == nil || !ask(&d))
	})
	if len(left) == 0 {
		return list, nil
	}
	return left, nil
}

// listDevices says what there is, and the nearest spelling of a term that is
// none of it.
func listDevices(all []devices.Info, t *selectorTerm) string {
	if len(all) == 0 {
		return "; there are no devices"
	}
	var ids, words []string
	for i := range all {
		ids = append(ids, fmt.Sprintf("%s (%s)", all[i].ID, all[i].Name))
		words = append(words, all[i].ID, all[i].Backend)
	}
	s := "; there are " + strings.Join(ids, ", ")
	if t != nil && t.id != "" {
		backend, _, _ := strings.Cut(t.id, ":")
		n := 0
		for i := range all {
			if all[i].Backend == backend {
				n++
			}
		}
		switch {
		case n == 1:
			return fmt.Sprintf("; %s has index 0 only%s", backend, s)
		case n > 1:
			return fmt.Sprintf("; %s has the indices 0 to %d%s", backend, n-1, s)
		}
	}
	if t != nil {
		if near := kernels.Nearest(t.text, words); near != "" {
			s += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	return s
}

// namesFaces reports whether the selector names several faces of one processor
// on purpose: positive terms of different backends or several ids.
func (s Selector) namesFaces(chosen []devices.Info) bool {
	byPhysical := map[string]int{}
	for i := range chosen {
		for j := range s.terms {
			if t := &s.terms[j]; !t.not && (t.id != "" || t.backend != "") && t.matches(&chosen[i]) {
				byPhysical[chosen[i].PhysicalID]++
				break
			}
		}
	}
	for _, n := range byPhysical {
		if n > 1 {
			return true
		}
	}
	return false
}
