// Package devicetest is the conformance kit that every driver passes. One call
// of [Run] in a driver's conformance_test.go holds the driver to the contract
// of package devices, case by case; a case that fails prints why it is there.
//
// The cases use a handful of kernels, each of which exists as a Go function
// ([GoKernels]) and as OpenCL C ([OpenCLKernels]); [Options] says which of the
// two the device compiles.
package devicetest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Options describe the driver that is tested.
type Options struct {
	// Driver is the driver. Its zero value or any other one that works.
	Driver devices.Driver

	// Ordinal is the device that is opened.
	Ordinal int

	// Kernels holds the kernels of the kit in a language that the device
	// compiles: GoKernels() or OpenCLKernels(). Required.
	Kernels *devices.Source

	// BadSource does not compile. Default: a source with an undefined
	// identifier (OpenCL C), an entry point without a function (Go).
	BadSource *devices.Source

	// BadWord is a word that the log of BadSource has to contain. Default:
	// the name that is undefined in the default BadSource.
	BadWord string

	// Fail enqueues a command on q that fails after it was accepted, and
	// returns its event. Default: a launch of the kernel "fail"; a device
	// whose kernels cannot fail gives another means here or skips the cases.
	Fail func(q devices.Queue) (devices.Event, error)

	// Tolerance is the largest relative error of a float32 that the device
	// gives back after one multiplication and one addition. Default 1e-6.
	Tolerance float64

	// CaseTimeout is how long one case may take before it counts as hung.
	// Default 60 s.
	CaseTimeout time.Duration

	// Skip names cases that the device cannot pass, each with the reason.
	// It prints as a skipped test. A name that is no case is an error.
	Skip map[string]string

	// MaxAlloc bounds the bytes that the case that allocates everything may
	// take. Default: no bound but what the device says it has.
	MaxAlloc int64
}

// Run runs every case as a subtest, and checks at the end that no goroutine
// was left behind.
func Run(t *testing.T, o Options) {
	t.Helper()
	if o.Driver == nil || o.Kernels == nil {
		t.Fatal("devicetest: Options.Driver and Options.Kernels are required")
	}
	o = o.withDefaults()
	all := cases()
	for name := range o.Skip {
		if !slices.ContainsFunc(all, func(c testCase) bool { return c.name == name }) {
			t.Errorf("devicetest: Options.Skip names %q, which is no case", name)
		}
	}
	CheckGoroutines(t)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			if reason, ok := o.Skip[c.name]; ok {
				t.Skip(reason)
			}
			skip, err := runCase(t.Context(), o, c)
			if err != nil {
				t.Errorf("%v\n\twhy this case: %s", err, c.why)
			} else if skip != "" {
				t.Skip(skip)
			}
		})
	}
}

// CaseNames lists the cases, in the order in which Run runs them.
func CaseNames() []string {
	var names []string
	for _, c := range cases() {
		names = append(names, c.name)
	}
	return names
}

func (o Options) withDefaults() Options {
	if o.BadSource == nil {
		switch o.Kernels.Language {
		case devices.LangGo:
			o.BadSource = &devices.Source{Name: "bad.go", Language: devices.LangGo, Go: map[string]devices.GoFunc{badName: nil}}
		case devices.LangOpenCL:
			o.BadSource = &devices.Source{Name: "bad.cl", Language: devices.LangOpenCL, Text: []byte(badOpenCL)}
		}
		if o.BadWord == "" {
			o.BadWord = badName
		}
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-6
	}
	if o.CaseTimeout == 0 {
		o.CaseTimeout = time.Minute
	}
	return o
}

// badName is what the default bad sources lack.
const badName = "quux_is_not_defined"

const badOpenCL = "__kernel void bad(__global int *x) {\n  x[0] = " + badName + ";\n}\n"

// Require skips t with the reason, or fails it when the comma-separated list
// in the environment variable TANDEM_REQUIRE holds name: what a machine is
// supposed to have must not be skipped over. A nil reason does nothing.
func Require(t testing.TB, name string, reason error) {
	t.Helper()
	if reason == nil {
		return
	}
	for word := range strings.SplitSeq(os.Getenv("TANDEM_REQUIRE"), ",") {
		if strings.TrimSpace(word) == name {
			t.Fatalf("TANDEM_REQUIRE names %s, but: %v", name, reason)
		}
	}
	t.Skipf("no %s here: %v", name, reason)
}

// A testCase is one promise of the contract.
type testCase struct {
	name string
	why  string // printed when the case fails
	run  func(e *env)
}

// runCase runs c against a fresh device and returns the reason for which it
// was skipped or what is wrong. A case that hangs is given up after the time
// limit; its goroutine stays.
func runCase(ctx context.Context, o Options, c testCase) (skip string, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.CaseTimeout)
	defer cancel()
	e := &env{ctx: ctx, o: o}
	type outcome struct {
		skip string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		var out outcome
		defer func() { done <- out }()
		out.skip, out.err = e.run(c.run)
	}()
	select {
	case out := <-done:
		return out.skip, out.err
	case <-time.After(o.CaseTimeout + 5*time.Second):
		return "", fmt.Errorf("hung: not finished after %v", o.CaseTimeout)
	}
}
