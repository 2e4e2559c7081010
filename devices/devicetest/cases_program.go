package devicetest

import (
	"errors"
	"strings"

	"github.com/tandemrun/tandem/devices"
)

func programCases() []testCase {
	return []testCase{
		{"bad-source", "without the compiler's words nobody can mend a kernel", badSource},
		{"bad-language", "the planner tries the next variant on ErrUnsupported, and on nothing else", badLanguage},
		{"missing-entry", "a mistyped entry point is found fastest beside the list of those there are", missingEntry},
		{"kernel-info", "launches are checked against what the device says of a kernel", kernelInfo},
		{"compile-twice", "programs do not share state", compileTwice},
	}
}

func badSource(e *env) {
	if e.o.BadSource == nil {
		e.skipf("Options.BadSource is not set for language %q", e.o.Kernels.Language)
	}
	for range 2 { // the second answer may come from a cache
		p, err := e.device().Compile(e.ctx, e.o.BadSource)
		if err == nil {
			_ = p.Close()
			e.fatalf("%s compiled", e.o.BadSource.Name)
		}
		ce, ok := errors.AsType[*devices.CompileError](err)
		if !ok {
			e.fatalf("Compile gave %T %q, want a *CompileError", err, err)
		}
		if ce.Source != e.o.BadSource.Name || ce.Device != e.id() {
			e.fatalf("the error is about %q on %q, want %q on %q", ce.Source, ce.Device, e.o.BadSource.Name, e.id())
		}
		if !strings.Contains(ce.Log, e.o.BadWord) {
			e.fatalf("the log does not say %q:\n%s", e.o.BadWord, ce.Log)
		}
		if strings.Contains(err.Error(), "\n") {
			e.fatalf("the error is more than one line: %q", err)
		}
	}
	roundTrip(e, 64)
}

func badLanguage(e *env) {
	p, err := e.device().Compile(e.ctx, &devices.Source{Name: "k.unheard", Language: "unheard-of", Text: []byte("x")})
	if err == nil {
		_ = p.Close()
	}
	e.wantErr(err, devices.ErrUnsupported, `Compile of language "unheard-of"`, e.id(), "unheard-of")
}

func missingEntry(e *env) {
	k, err := e.program().Kernel("no_such_kernel")
	if err == nil {
		_ = k.Close()
	}
	e.wantErr(err, devices.ErrInvalid, `Kernel("no_such_kernel")`, "no_such_kernel", "fill", "mad_u32", "spin")
}

func kernelInfo(e *env) {
	for entry, args := range map[string]int{"fill": 2, "count": 4, "scalars": 10} {
		i := e.kernel(entry).Info()
		if i.Entry != entry {
			e.fatalf("kernel %s calls itself %q", entry, i.Entry)
		}
		if i.Args != 0 && i.Args != args {
			e.fatalf("kernel %s has %d arguments by its Info, in truth %d", entry, i.Args, args)
		}
		if i.MaxWorkGroup < 0 || i.LocalBytes < 0 || i.BuildTime < 0 {
			e.fatalf("kernel %s: negative values in %+v", entry, i)
		}
	}
	if log := e.program().Log(); log != "" && strings.TrimSpace(log) == "" {
		e.fatalf("a log of blanks only: %q", log)
	}
}

func compileTwice(e *env) {
	q, b := e.compute(), e.alloc(8)
	e.write(q, b, 0, make([]byte, 8))
	p, err := e.device().Compile(e.ctx, e.o.Kernels)
	e.must(err, "second Compile")
	k1, err := p.Kernel("fill")
	e.must(err, "Kernel")
	k2 := e.kernel("fill")
	e.finish(e.launch(q, k1, line(8), nil, buf(b), num(uint8(1))))
	e.must(k1.Close(), "Kernel.Close")
	e.must(p.Close(), "Program.Close")
	e.finish(e.launch(q, k2, line(4), nil, buf(b), num(uint8(2))))
	if got := e.read(q, b, 0, 8); string(got) != "\x02\x02\x02\x02\x01\x01\x01\x01" {
		e.fatalf("two programs of one source filled %v", got)
	}
}
