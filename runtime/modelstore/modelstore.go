// Package modelstore keeps a cost model between runs: one file for each device
// and driver version in the user's cache folder.
//
// Several processes may use one folder at once: saving takes a lock, adds what
// this process has learnt to what is on disk, and replaces files in one step. A
// damaged file is set aside and never fatal.
package modelstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"
	"github.com/zeebo/xxh3"

	"github.com/tandemrun/tandem/partitioner/costmodel"
)

const (
	suffix  = ".json"
	damaged = ".damaged"
	lock    = "lock"
	// lockRetry is how often a lock that another process holds is tried again.
	lockRetry = 5 * time.Millisecond
)

// Store is a folder of models, which need not exist yet. It is safe for
// concurrent use, by several processes too.
type Store struct {
	// Dir is the folder. Empty: nothing is kept and nothing found.
	Dir string
}

// DefaultDir is the folder "model" in TANDEM_CACHE_DIR if that is set, else in
// "tandem" in the user's cache directory; "" if there is none.
func DefaultDir() string {
	if dir := os.Getenv("TANDEM_CACHE_DIR"); dir != "" {
		return filepath.Join(dir, "model")
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tandem", "model")
}

// Load reads everything that was learnt. What goes wrong is in err, for a
// warning: the model is usable in any case, with what could be read. A damaged
// file is renamed to end in ".damaged" and its device begins anew; a folder that
// does not exist is an empty model and no error.
func (s *Store) Load(ctx context.Context) (m *costmodel.Model, err error) {
	m = &costmodel.Model{}
	if !s.exists() {
		return m, nil
	}
	unlock, err := s.acquire(ctx)
	if err != nil {
		// Files are replaced in one step, so reading needs no lock; but without
		// one nothing may be renamed.
		return m, errors.Join(err, s.read(m, false))
	}
	return m, errors.Join(s.read(m, true), unlock())
}

func (s *Store) exists() bool {
	if s.Dir == "" {
		return false
	}
	_, err := os.Stat(s.Dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// read adds all files to m. With mend damaged ones are set aside.
func (s *Store) read(m *costmodel.Model, mend bool) error {
	names, err := s.files()
	if err != nil {
		return err
	}
	var faults []error
	for _, name := range names {
		b, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // cleared meanwhile
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("cost model: %w", err))
			continue
		}
		if err := m.UnmarshalJSON(b); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			if mend {
				if e := os.Rename(name, name+damaged); e != nil {
					err = fmt.Errorf("%w; setting it aside: %w", err, e)
				} else {
					err = fmt.Errorf("%w; set aside as %s", err, filepath.Base(name)+damaged)
				}
			}
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

func (s *Store) files() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cost model: %w", err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), suffix) {
			names = append(names, filepath.Join(s.Dir, e.Name()))
		}
	}
	return names, nil
}

// Save adds what m has learnt since it was loaded or last saved to the store,
// and to m what other processes have learnt meanwhile. A folder that cannot be
// written is an error that the caller may take as a warning: m stays as it is
// and keeps what was not saved. ctx bounds the wait for other processes.
func (s *Store) Save(ctx context.Context, m *costmodel.Model) error {
	samples, mark := m.Pending()
	if len(samples) == 0 || s.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("cost model: %w", err)
	}
	unlock, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	disk := &costmodel.Model{}
	faults := []error{s.read(disk, true)}
	touched := map[string]bool{}
	for _, sample := range samples {
		touched[sample.Key.Device] = true
		faults = append(faults, disk.Observe(sample))
	}
	var failed []error
	for device := range touched {
		failed = append(failed, s.write(disk, device))
	}
	err = errors.Join(failed...)
	if err == nil {
		m.Settle(disk, mark)
	}
	return errors.Join(errors.Join(faults...), err, unlock())
}

// write replaces the file of one device. Caches and temporary files of a
// process that died are harmless: they do not end in the suffix.
func (s *Store) write(m *costmodel.Model, device string) error {
	b, err := m.MarshalDevice(device)
	if err != nil {
		return fmt.Errorf("cost model of %s: %w", device, err)
	}
	if err := maybe.WriteFile(s.file(device), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("cost model of %s: %w", device, err)
	}
	return nil
}

// file is where a device's series are.
func (s *Store) file(device string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, device)
	return filepath.Join(s.Dir, fmt.Sprintf("%.40s-%016x%s", name, xxh3.HashString(device), suffix))
}

// Clear forgets the series for which drop returns true, on disk, and returns
// how many there were.
func (s *Store) Clear(ctx context.Context, drop func(costmodel.Key) bool) (n int, err error) {
	if !s.exists() {
		return 0, nil
	}
	unlock, err := s.acquire(ctx)
	if err != nil {
		return 0, err
	}
	disk := &costmodel.Model{}
	err = s.read(disk, true)
	touched := map[string]bool{}
	for _, e := range disk.Entries() {
		if drop(e.Key) {
			touched[e.Key.Device] = true
		}
	}
	n = disk.Forget(drop)
	left := map[string]bool{}
	for _, e := range disk.Entries() {
		left[e.Key.Device] = true
	}
	for device := range touched {
		if left[device] {
			err = errors.Join(err, s.write(disk, device))
		} else if e := os.Remove(s.file(device)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("cost model: %w", e))
		}
	}
	return n, errors.Join(err, unlock())
}

// acquire locks the store against other processes and other calls.
func (s *Store) acquire(ctx context.Context) (unlock func() error, err error) {
	l := flock.New(filepath.Join(s.Dir, lock))
	if _, err := l.TryLockContext(ctx, lockRetry); err != nil {
		return nil, fmt.Errorf("cost model: locking %s: %w", s.Dir, err)
	}
	return l.Close, nil
}
