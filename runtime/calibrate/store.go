package calibrate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tandemrun/tandem/devices"
)

// A Store keeps calibrations in a folder, one small file for each device and
// driver version. It is safe for concurrent use, also by several processes:
// files are replaced whole.
type Store struct {
	// Dir is the folder. Empty: nothing is kept and nothing found.
	Dir string
}

// DefaultDir is the folder "calibration" in TANDEM_CACHE_DIR if that is set,
// else in "tandem" in the user's cache directory; "" if there is none.
func DefaultDir() string {
	if dir := os.Getenv("TANDEM_CACHE_DIR"); dir != "" {
		return filepath.Join(dir, "calibration")
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "tandem", "calibration")
}

// entry is the content of a file. The identity is repeated in it: a file that
// was copied from another device is not believed.
type entry struct {
	Version     int                 `json:"version"`
	Identity    identity            `json:"device"`
	Calibration devices.Calibration `json:"calibration"`
}

// identity is what has to be the same for a calibration to hold. A changed
// number of compute units is another device: a container's budget may differ
// from run to run.
type identity struct {
	Backend       string `json:"backend"`
	Platform      string `json:"platform"`
	Name          string `json:"name"`
	UUID          string `json:"uuid"`
	PCI           string `json:"pci"`
	Ordinal       int    `json:"ordinal"`
	ComputeUnits  int    `json:"compute_units"`
	DriverVersion string `json:"driver_version"`
}

const entryVersion = 1

func identityOf(d *devices.Info) identity {
	id := identity{d.Backend, d.Platform, d.Name, d.UUID, d.PCI, d.Ordinal, d.ComputeUnits, d.DriverVersion}
	if d.UUID != "" || d.PCI != "" {
		id.Ordinal = 0 // it is known wherever it stands in the list
	}
	return id
}

func (s Store) path(id identity) string {
	b, _ := json.Marshal(id) // strings and numbers: cannot fail
	sum := sha256.Sum256(b)
	return filepath.Join(s.Dir, hex.EncodeToString(sum[:12])+".json")
}

// Get finds the calibration of a device. A file that cannot be read as one is
// set aside with ".damaged" added to its name, and the error says so; it
// counts as not measured.
func (s Store) Get(d *devices.Info) (c devices.Calibration, found bool, err error) {
	if s.Dir == "" {
		return c, false, nil
	}
	id := identityOf(d)
	path := s.path(id)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("calibration of %s: %w", d.ID, err)
	}
	var e entry
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err == nil && e.Version == entryVersion && e.Identity == id && plausible(&e.Calibration) {
		return e.Calibration, true, nil
	}
	aside := path + ".damaged"
	if err := os.Rename(path, aside); err != nil {
		return c, false, fmt.Errorf("calibration of %s: %s is damaged and could not be set aside: %w", d.ID, path, err)
	}
	return c, false, fmt.Errorf("calibration of %s was damaged and is set aside as %s; measure again with: tandem probe --calibrate", d.ID, aside)
}

// Put keeps the calibration of a device.
func (s Store) Put(d *devices.Info, c devices.Calibration) error {
	if s.Dir == "" {
		return nil
	}
	id := identityOf(d)
	b, err := json.MarshalIndent(entry{entryVersion, id, c}, "", "  ")
	if err != nil {
		return fmt.Errorf("calibration of %s: %w", d.ID, err)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("calibration of %s: %w", d.ID, err)
	}
	return replace(s.path(id), append(b, '\n'))
}

// replace writes a file under another name and renames it.
func replace(path string, b []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// plausible refuses numbers that no measurement gives.
func plausible(c *devices.Calibration) bool {
	for _, v := range []float64{c.LaunchLatency, c.PeakFlops, c.StreamBytes, c.Upload.Bandwidth, c.Download.Bandwidth} {
		if !(v >= 0 && v < 1e18) {
			return false
		}
	}
	return c.Upload.Latency >= 0 && c.Download.Latency >= 0 && !c.MeasuredAt.IsZero()
}
