package opencl

import (
	"context"
	"fmt"

	"github.com/tandemrun/tandem/devices/internal/dl"
	"github.com/tandemrun/tandem/devices/internal/probechild"
)

// vendorMode is what a child is asked for where the library is no loader.
const vendorMode = "opencl-vendor"

// childReport is what a probe child found.
type childReport struct {
	Platforms int      `json:"platforms"`
	Devices   int      `json:"devices"`
	Error     string   `json:"error,omitempty"` // the library did not load: not the child's failure
	Notes     []string `json:"notes,omitempty"` // entries whose library does not load
}

// RunProbeChild asks the vendor libraries and reports whether it did. A
// program whose path is a Driver's Child calls it before anything else and
// returns at once when it is true:
//
//	func main() {
//		if opencl.RunProbeChild() {
//			return
//		}
//
// It does nothing unless a Driver of the parent process started the program
// for that.
func RunProbeChild() (handled bool) {
	return probechild.Answer(backend, func() any { return ask(icds()) }) ||
		probechild.Answer(vendorMode, func() any { return ask(nil) })
}

// ask asks the library, and tries to load those of the given entries.
func ask(entries []icd) (report childReport) {
	d := &Driver{Beside: besideFromEnvironment()}
	d.Beside.load()
	if a, err := load(d.libraryNames()); err != nil {
		report.Error = err.Error()
	} else {
		found := (&library{api: a}).list(selection{})
		report.Platforms, report.Devices = found.platforms, len(found.devices)
	}
	for _, i := range entries {
		note := i.missing()
		if note == "" {
			if _, err := dl.Open(i.Library); err != nil {
				note = fmt.Sprintf("%s: %v", i.name(), err)
			}
		}
		if note != "" {
			report.Notes = append(report.Notes, "vendor entry without effect: "+note)
		}
	}
	return report
}

// runChild asks with env added to the environment. A *probechild.BrokenError is
// the vendor library's doing, another error is not.
func (d *Driver) runChild(ctx context.Context, env ...string) (report childReport, err error) {
	mode := backend
	if d.Vendor {
		mode = vendorMode
	}
	var all []string
	if name := d.customLibrary(); name != "" {
		all = append(all, LibraryVariable+"="+name)
	}
	all = append(append(all, d.Beside.environment()...), env...)
	err = probechild.Ask(ctx, d.Child, mode, d.timeout(), &report, all...)
	return report, err
}
