package opencl

import (
	"encoding/json"
	"os"
	"slices"

	"github.com/tandemrun/tandem/devices/internal/dl"
)

// An Installation is an OpenCL implementation that the system's list of vendors does
// not name.
type Installation struct {
	// Library is the path of the vendor library. Empty: there is none.
	Library string

	// Platform is the name of its platform. It is listed after all others, so
	// that they have the ordinals they have without it.
	Platform string

	// Needs are the paths of libraries that have to be loaded before Library
	// and Loader, in this order. One that does not load is left to them to
	// complain about.
	Needs []string

	// Loader is the path of an OpenCL loader that comes with it, used where the
	// system has none. Empty: none does.
	Loader string
}

// besideVariable hands Driver.Beside to a probe child, as JSON.
const besideVariable = "TANDEM_PROBE_BESIDE"

func besideFromEnvironment() (v Installation) {
	if err := json.Unmarshal([]byte(os.Getenv(besideVariable)), &v); err != nil {
		return Installation{}
	}
	return v
}

func (v *Installation) environment() []string {
	if v.Library == "" {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return []string{besideVariable + "=" + string(b)}
}

// load loads what the vendor library and its loader need.
func (v *Installation) load() {
	for _, path := range v.Needs {
		_, _ = dl.Open(path)
	}
}

// entries are the entries that the loader is to look at: the system's, and
// Beside where it is not among them. The second result reports whether that
// takes a list of our own.
func (d *Driver) entries() (list []icd, own bool) {
	list = icds()
	path := d.Beside.Library
	if path == "" || slices.ContainsFunc(list, func(i icd) bool { return sameFile(i.Library, path) }) {
		return list, false
	}
	return append(list, icd{File: besideEntry, Library: path}), true
}

// besideEntry is the name of the .icd file that is made for Driver.Beside.
const besideEntry = "beside.icd"

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
