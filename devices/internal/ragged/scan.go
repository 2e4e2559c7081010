package ragged

import (
	"slices"
)

// Scan answers for the kernels of one source. It is not safe for concurrent
// use.
type Scan struct {
	look    func(identifier string) Usage
	cpp     bool
	all     Usage               // of the whole text
	defs    map[string][]string // identifiers in the bodies of functions, types and macros, by name
	sound   bool                // the text could be cut into definitions
	answers map[string]Usage
}

// OpenCL scans a source in OpenCL C. It need not understand everything: where
// it does not, a kernel is taken to use all that the text mentions.
func OpenCL(src string) *Scan { return scan(src, openCL, false) }

// SYCL scans a source in SYCL C++, with free functions as kernels.
func SYCL(src string) *Scan { return scan(src, sycl, true) }

func scan(src string, look func(string) Usage, cpp bool) *Scan {
	s := &Scan{look: look, cpp: cpp, defs: map[string][]string{}, sound: true, answers: map[string]Usage{}}
	tokens := tokenize(src)
	var (
		braces, parens int
		transparent    int      // braces of namespaces that are open
		names          []string // of what may begin: the last word before a parenthesis, or those of a type
		fixed          bool     // it is the name: the list of initial values of a constructor follows
		head           []string // identifiers since the last definition ended
		body           []string
	)
	skip := false // within the parentheses of an __attribute__
	for i, t := range tokens {
		if t.paste {
			// The name of a function may be put together by the preprocessor.
			s.all, s.sound = All, false
		}
		if t.macro != "" {
			s.defs[t.macro] = append(s.defs[t.macro], t.words...)
			for _, w := range t.words {
				s.all |= look(w)
			}
			continue
		}
		if isWord(t.text) {
			s.all |= look(t.text)
		}
		switch {
		case t.text == "{":
			if braces == 0 && parens == 0 {
				if cpp && len(names) == 0 && (slices.Contains(head, "namespace") || slices.Equal(head, []string{"extern"})) {
					transparent++
					head = nil
					continue
				}
				if len(names) == 0 && cpp && len(head) > 0 {
					names = slices.Clone(head) // a type with its members, or a function object
				}
				body = append([]string(nil), head...)
			}
			braces++
		case t.text == "}":
			if braces == 0 && transparent > 0 {
				transparent--
				continue
			}
			braces--
			if braces == 0 {
				for _, name := range names {
					s.defs[name] = append(s.defs[name], body...)
				}
				names, head, fixed = nil, nil, false
			}
		case braces > 0:
			if isWord(t.text) {
				body = append(body, t.text)
			}
		case t.text == "(":
			if parens == 0 && !skip && i > 0 && isWord(tokens[i-1].text) {
				if prev := tokens[i-1].text; prev == "__attribute__" {
					skip = true
				} else if !fixed {
					names = append(names[:0], prev)
				}
			}
			parens++
		case t.text == ")":
			parens--
			if parens == 0 {
				skip = false
			}
		case t.text == ";" && parens == 0:
			names, head, fixed = nil, nil, false
		case cpp && t.text == ":" && parens == 0 && len(names) > 0:
			fixed = true
		case isWord(t.text):
			head = append(head, t.text)
		}
	}
	if braces != 0 || parens != 0 || transparent != 0 {
		s.sound = false
	}
	return s
}

// Of is what the kernel with the given entry uses, itself and through what it
// calls.
func (s *Scan) Of(entry string) Usage {
	if _, known := s.defs[entry]; !known || !s.sound {
		return s.all
	}
	if a, ok := s.answers[entry]; ok {
		return a
	}
	var a Usage
	seen := map[string]bool{entry: true}
	for todo := []string{entry}; len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, word := range s.defs[name] {
			a |= s.look(word)
			if _, def := s.defs[word]; def && !seen[word] {
				seen[word] = true
				todo = append(todo, word)
			}
		}
	}
	s.answers[entry] = a
	return a
}
