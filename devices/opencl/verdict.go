package opencl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/buildcache"
	"github.com/tandemrun/tandem/devices/internal/probechild"
)

// verdict is what asking the vendor libraries in child processes led to. It
// is kept on disk for as long as the libraries do not change.
type verdict struct {
	Use      []icd     // entries to use; nil: all
	Warnings []string  // one for each entry that is left out or has no effect
	Broken   string    // the whole library breaks and nothing of it can be left out
	At       time.Time // when
}

// badFor is how long a verdict against a library holds: it may have been the
// machine's state and not the library.
const badFor = 24 * time.Hour

// askInChild finds out which vendor libraries can be asked in this process.
// Without a Child it is all of them.
func (d *Driver) askInChild(ctx context.Context) (verdict, error) {
	var list []icd
	own := false
	if !d.Vendor {
		list, own = d.entries()
	}
	if d.Child == "" {
		v := verdict{Warnings: missing(list)}
		if own {
			v.Use = list
		}
		return v, nil
	}
	cache, key := buildcache.Open(under(d.cacheRoot(), "probe"), 1<<20), d.verdictKey(list)
	var v verdict
	if e, ok := cache.Get(key); !ok || json.Unmarshal(e.Meta, &v) != nil || v.bad() && time.Since(v.At) > badFor {
		var err error
		if v, err = d.judge(ctx, list, own); err != nil {
			return verdict{}, err
		}
		if b, err := json.Marshal(v); err == nil {
			cache.Put(key, buildcache.Entry{Meta: b})
		}
	}
	if v.Broken != "" {
		return v, &devices.LoadError{Driver: backend, Tried: d.libraryNames(),
			Err: fmt.Errorf("%s: %w", v.Broken, devices.ErrUnavailable)}
	}
	if v.Use == nil && own {
		v.Use = list
	}
	return v, nil
}

func (v *verdict) bad() bool { return v.Broken != "" || v.Use != nil }

// missing names the entries that plainly lead nowhere.
func missing(list []icd) (notes []string) {
	for _, i := range list {
		if m := i.missing(); m != "" {
			notes = append(notes, "vendor entry without effect: "+m)
		}
	}
	return notes
}

// verdictKey covers what a verdict depends on.
func (d *Driver) verdictKey(list []icd) buildcache.Key {
	parts := append([]string{"opencl probe 2"}, d.Beside.Needs...)
	for _, name := range d.libraryNames() {
		loader := icd{Library: name}
		parts = append(parts, loader.stamp())
	}
	for _, i := range list {
		parts = append(parts, i.name(), i.stamp())
	}
	for _, name := range []string{"POCL_DEVICES", "LD_LIBRARY_PATH", "LD_PRELOAD"} {
		parts = append(parts, name+"="+os.Getenv(name))
	}
	return buildcache.MakeKey(parts...)
}

// judge asks all vendor libraries at once, and only if that goes wrong each
// one by itself.
func (d *Driver) judge(ctx context.Context, list []icd, own bool) (verdict, error) {
	v := verdict{At: time.Now()}
	var report childReport
	var err error
	if own {
		report, err = d.askList(ctx, list)
	} else {
		report, err = d.runChild(ctx)
	}
	var broken *probechild.BrokenError
	switch {
	case err == nil:
		v.Warnings = report.Notes
		return v, nil
	case context.Cause(ctx) != nil:
		return v, context.Cause(ctx)
	case !errors.As(err, &broken):
		// The child itself cannot be run: ask in this process, as without it.
		v.Warnings = append(missing(list), fmt.Sprintf("the vendor libraries were asked in this process: %v", err))
		return v, nil
	case len(list) == 0:
		v.Broken = strings.Join(d.libraryNames(), ", ") + ": " + broken.How
		return v, nil
	}
	return d.judgeEach(ctx, list, broken)
}

// judgeEach finds the entries that can be asked together.
func (d *Driver) judgeEach(ctx context.Context, list []icd, all *probechild.BrokenError) (verdict, error) {
	v := verdict{At: time.Now(), Use: []icd{}}
	dir, err := os.MkdirTemp("", "tandem-probe-")
	if err != nil {
		return v, fmt.Errorf("opencl: a folder to ask vendor libraries one by one: %w: %w", err, devices.ErrUnavailable)
	}
	defer os.RemoveAll(dir)

	results := make([]error, len(list))
	notes := make([][]string, len(list))
	var wg sync.WaitGroup
	for n := range list {
		wg.Go(func() { notes[n], results[n] = d.askOnly(ctx, filepath.Join(dir, fmt.Sprint(n)), list[n:n+1]) })
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return v, err
	}
	for n, i := range list {
		v.Warnings = append(v.Warnings, notes[n]...)
		if results[n] != nil {
			v.leaveOut(i, results[n])
			continue
		}
		v.Use = append(v.Use, i)
	}
	if len(v.Use) == 0 {
		return v, nil
	}
	if len(v.Use) == len(list) {
		v.Warnings = append(v.Warnings, "the vendor libraries broke when they were asked together: "+all.How)
	}
	if _, err := d.askOnly(ctx, filepath.Join(dir, "all"), v.Use); err == nil {
		return v, nil
	}
	// Sound alone and not together (two copies of one compiler, say): take
	// one after the other for as long as it goes well.
	sound := v.Use
	v.Use = []icd{}
	for n, i := range sound {
		_, err := d.askOnly(ctx, filepath.Join(dir, fmt.Sprint("with", n)), append(v.Use[:len(v.Use):len(v.Use)], i))
		if cause := context.Cause(ctx); cause != nil {
			return v, cause
		}
		if err != nil {
			v.leaveOut(i, fmt.Errorf("beside the libraries before it %w", err))
			continue
		}
		v.Use = append(v.Use, i)
	}
	return v, nil
}

func (v *verdict) leaveOut(i icd, err error) {
	v.Warnings = append(v.Warnings, fmt.Sprintf("vendor library %s is left out: %v", i.name(), err))
}

// askList asks with a list that is not the system's.
func (d *Driver) askList(ctx context.Context, list []icd) (childReport, error) {
	dir, err := os.MkdirTemp("", "tandem-probe-")
	if err != nil {
		return childReport{}, fmt.Errorf("opencl: a folder for the list of vendor libraries: %w: %w", err, devices.ErrUnavailable)
	}
	defer os.RemoveAll(dir)
	var there []icd
	for _, i := range list {
		if i.missing() == "" {
			there = append(there, i)
		}
	}
	notes, err := d.askOnly(ctx, dir, there)
	return childReport{Notes: append(missing(list), notes...)}, err
}

// askOnly asks with a list of entries only.
func (d *Driver) askOnly(ctx context.Context, dir string, only []icd) ([]string, error) {
	env, err := restriction(dir, only)
	if err != nil {
		return nil, err
	}
	report, err := d.runChild(ctx, env...)
	for n := range report.Notes { // they name the copy made for the child
		for _, i := range only {
			if i.Library != "" && strings.Contains(report.Notes[n], i.Library) {
				report.Notes[n] = "vendor entry without effect: " + i.name() + " does not load"
			}
		}
	}
	return report.Notes, err
}
