package opencl

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// besideTest names the vendor library that TestBeside's child is to use.
const besideTest = "TANDEM_TEST_BESIDE"

// TestBeside has a vendor library that the system's list does not name: one
// that works, with and without asking in a child, and one that breaks.
func TestBeside(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("vendor libraries are entries of the registry, or there is no loader")
	}
	if os.Getenv("TANDEM_TEST_ALONE") == "" {
		good := goodVendor(t)
		if !filepath.IsAbs(good) {
			for _, dir := range libraryDirs() {
				if path := filepath.Join(dir, good); !filepath.IsAbs(good) {
					if _, err := os.Stat(path); err == nil {
						good = path
					}
				}
			}
		}
		nothing := vendorFolder(t, map[string]string{"z.txt": "no entry"})
		listed := vendorFolder(t, map[string]string{"pocl.icd": good})
		for name, env := range map[string][]string{
			"works":    {vendorsVariable + "=" + nothing, besideTest + "=" + good},
			"is there": {vendorsVariable + "=" + listed, besideTest + "=" + good},
			"breaks":   {vendorsVariable + "=" + listed, besideTest + "=" + buildVendor(t, "libbreaks.so", 1)},
			"is gone":  {vendorsVariable + "=" + listed, besideTest + "=/nonexistent/libgone.so"},
		} {
			t.Run(name, func(t *testing.T) {
				inChild(t, append(env, "TANDEM_CACHE_DIR="+filepath.Join(t.TempDir(), "cache"))...)
			})
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	library := os.Getenv(besideTest)
	before := os.Getenv(vendorsVariable)
	d := &Driver{Child: self, ProbeTimeout: time.Minute, Beside: Installation{
		Library: library, Platform: "Portable Computing Language", Needs: []string{"/nonexistent/libneeded.so"}}}
	b := d.Probe(t.Context())
	if len(b.Devices) != 1 || b.Devices[0].Platform != "Portable Computing Language" {
		t.Fatalf("devices %v, reason %v, warnings %q", b.Devices, b.Reason, b.Warnings)
	}
	bad := strings.Contains(library, "libbreaks.so") || strings.Contains(library, "libgone.so")
	if named := slices.ContainsFunc(b.Warnings, func(w string) bool { return strings.Contains(w, library) }); named != bad || len(b.Warnings) > 1 {
		t.Errorf("warnings about %s: %q", library, b.Warnings)
	}
	if after := os.Getenv(vendorsVariable); after != before {
		t.Errorf("%s was %q and is %q", vendorsVariable, before, after)
	}
	// The verdict is kept: a child that cannot be run is not needed.
	again := &Driver{Child: "/nonexistent/child", Beside: d.Beside}
	v, err := again.askInChild(t.Context())
	if err != nil || len(v.Warnings) != len(b.Warnings) || slices.ContainsFunc(v.Use, func(i icd) bool { return strings.Contains(i.Library, "libbreaks.so") }) {
		t.Errorf("kept verdict %+v, %v", v, err)
	}
}

// TestListWithBeside: who asks in this process alone gets the entry too, the list
// of the system is used as it is where it names the library, and the platform
// comes last.
func TestListWithBeside(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no .icd files")
	}
	library := filepath.Join(t.TempDir(), "libvendor.so")
	if err := os.WriteFile(library, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(filenamesVariable, "")
	t.Setenv(vendorsVariable, vendorFolder(t, map[string]string{"a.icd": "liba.so"}))
	d := &Driver{Beside: Installation{Library: library, Loader: "/x/libOpenCL.so.1"}}
	v, err := d.askInChild(t.Context())
	if want := []string{"liba.so", library}; err != nil || len(v.Use) != 2 || v.Use[0].Library != want[0] || v.Use[1].Library != want[1] || v.Use[1].name() != library {
		t.Errorf("got %+v, %v, want %v", v.Use, err, want)
	}
	if names := d.libraryNames(); names[len(names)-1] != "/x/libOpenCL.so.1" || len(names) < 2 {
		t.Errorf("libraries %v: the loader beside is not the last resort", names)
	}
	link := filepath.Join(t.TempDir(), "link.so")
	if err := os.Symlink(library, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv(vendorsVariable, vendorFolder(t, map[string]string{"a.icd": link}))
	if v, err := d.askInChild(t.Context()); err != nil || v.Use != nil {
		t.Errorf("listed already, and a list of our own is made: %+v, %v", v, err)
	}
	names := []string{"A", "Z", "M", "B"}
	slices.SortFunc(names, func(x, y string) int { return comparePlatforms(platform{name: x}, platform{name: y}, "M") })
	if want := []string{"A", "B", "Z", "M"}; !slices.Equal(names, want) {
		t.Errorf("platforms %v, want %v", names, want)
	}
}
