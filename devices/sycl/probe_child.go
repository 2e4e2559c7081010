package sycl

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/internal/probechild"
	"github.com/tandemrun/tandem/devices/sycl/find"
)

// childReport is what a probe child found.
type childReport struct {
	Devices int    `json:"devices"`
	Error   string `json:"error,omitempty"` // it did not load: not the child's failure
}

// RunProbeChild loads the SYCL runtime, lists its devices and reports whether
// it did. A program whose path is a Driver's Child calls it before anything
// else and returns at once when it is true. It does nothing unless a Driver of
// the parent process started the program for that.
func RunProbeChild() (handled bool) {
	return probechild.Answer(backend, func() any {
		var report childReport
		if r, ok := find.SYCL(); !ok {
			report.Error = "the runtime is gone"
		} else if a, err := load(r, os.Getenv(ShimVariable)); err != nil {
			report.Error = err.Error()
		} else if list, err := a.describe(); err != nil {
			report.Error = err.Error()
		} else {
			report.Devices = len(list)
		}
		return report
	})
}

// verdict is what asking in a child led to. It is kept on disk for as long as
// the libraries do not change.
type verdict struct {
	Broken string // "": it went well
	At     time.Time
}

// badFor is how long a verdict against a runtime holds: it may have been the
// machine's state and not the runtime.
const badFor = 24 * time.Hour

// askInChild finds out whether the runtime can be loaded. Without a Child it
// is taken to be so.
func (d *Driver) askInChild(ctx context.Context, r find.Runtime, shim string) error {
	if d.Child == "" {
		return nil
	}
	dir := ""
	if root := d.cacheRoot(); root != "" {
		dir = filepath.Join(root, "probe")
	}
	cache := buildcache.Open(dir, 1<<20)
	key := buildcache.MakeKey("sycl probe 1", stamp(r.SYCL), stamp(r.OpenCL), stamp(r.IntelOpenCL), stamp(shim),
		os.Getenv("ONEAPI_DEVICE_SELECTOR"), os.Getenv("OCL_ICD_VENDORS"), os.Getenv(filenamesVariable), os.Getenv("LD_LIBRARY_PATH"))
	var v verdict
	if e, ok := cache.Get(key); !ok || json.Unmarshal(e.Meta, &v) != nil || v.Broken != "" && time.Since(v.At) > badFor {
		how, err := d.runChild(ctx, shim)
		if err != nil {
			return err
		}
		v = verdict{Broken: how, At: time.Now()}
		if b, err := json.Marshal(v); err == nil {
			cache.Put(key, buildcache.Entry{Meta: b})
		}
	}
	if v.Broken == "" {
		return nil
	}
	return &devices.LoadError{Driver: backend, Tried: []string{r.SYCL},
		Err: &missingError{v.Broken, "see what `sycl-ls` says, or name another runtime with " + find.RootVariable}}
}

// runChild asks in a child. The text says how the runtime broke; "" that it
// did not.
func (d *Driver) runChild(ctx context.Context, shim string) (string, error) {
	var report childReport
	err := probechild.Ask(ctx, d.Child, backend, d.timeout(), &report, ShimVariable+"="+shim)
	var broken *probechild.BrokenError
	switch {
	case errors.As(err, &broken):
		return broken.How, nil
	case context.Cause(ctx) != nil:
		return "", context.Cause(ctx)
	}
	// An error in the report comes again, as an error and not as a crash. Where
	// the child itself cannot be run it is asked in this process, as without one.
	return "", nil
}
