package opencl

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The variables by which users point the two common loaders (ocl-icd and
// Khronos') to vendor libraries.
const (
	vendorsVariable   = "OCL_ICD_VENDORS"
	filenamesVariable = "OCL_ICD_FILENAMES"
	systemVendors     = "/etc/OpenCL/vendors"
)

// icd is an installable client driver: an entry that leads the loader to a
// vendor library.
type icd struct {
	File    string // the .icd file; "" for an entry of OCL_ICD_FILENAMES
	Library string // what it names; "" when the file is blank
}

// name is what to call the entry in a message.
func (i icd) name() string {
	switch {
	case i.File == "", i.File == besideEntry:
		return i.Library
	case i.Library == "":
		return i.File
	}
	return fmt.Sprintf("%s (from %s)", i.Library, i.File)
}

// icds lists the entries that the loader will look at, sorted.
func icds() []icd {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return nil // the registry, or no loader at all
	}
	var list []icd
	for name := range strings.SplitSeq(os.Getenv(filenamesVariable), ":") {
		if name != "" {
			list = append(list, icd{Library: name})
		}
	}
	vendors := os.Getenv(vendorsVariable)
	if vendors == "" {
		vendors = systemVendors
	}
	if strings.HasSuffix(vendors, ".icd") {
		return append(list, readICD(vendors))
	}
	files, _ := filepath.Glob(filepath.Join(vendors, "*.icd"))
	slices.Sort(files)
	for _, file := range files {
		list = append(list, readICD(file))
	}
	return list
}

// Listed reports whether the list of vendors' libraries that the system's
// OpenCL loader goes by has an entry for a library of that file name.
func Listed(base string) bool {
	return slices.ContainsFunc(icds(), func(i icd) bool { return filepath.Base(i.Library) == base && i.missing() == "" })
}

func readICD(file string) icd {
	b, err := os.ReadFile(file)
	if err != nil {
		return icd{File: file}
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return icd{File: file, Library: strings.TrimSpace(line)}
}

// libraryDirs are where the dynamic linker of common systems looks; only used
// to notice that a library has changed.
func libraryDirs() []string {
	dirs := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	for _, pattern := range []string{"/usr/lib/*-linux-*", "/lib/*-linux-*", "/usr/lib64", "/usr/lib", "/usr/local/lib"} {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	return dirs
}

// stamp identifies the state of a file: path, size, time of last change.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " absent"
	}
	return fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
}

// stamp identifies the entry and the library it names, as they are now.
func (i icd) stamp() string {
	s := stamp(i.File)
	if i.Library == "" {
		return s
	}
	if filepath.IsAbs(i.Library) {
		return s + "|" + stamp(i.Library)
	}
	for _, dir := range libraryDirs() {
		path := filepath.Join(dir, i.Library)
		if _, err := os.Stat(path); err == nil {
			return s + "|" + stamp(path)
		}
	}
	return s + "|" + i.Library
}

// missing says what is wrong with an entry as far as that shows without
// loading it; "" for nothing.
func (i icd) missing() string {
	if i.Library == "" {
		return i.File + " names no library"
	}
	if filepath.IsAbs(i.Library) {
		if _, err := os.Stat(i.Library); err != nil {
			return fmt.Sprintf("%s: %v", i.name(), err)
		}
	}
	return ""
}

// restriction is the environment that makes a loader see only some entries.
// dir is a folder of the caller's, made for this.
func restriction(dir string, only []icd) ([]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.icd"))
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	var names []string
	for n, i := range only {
		if i.File == "" {
			names = append(names, i.Library)
			continue
		}
		path := filepath.Join(dir, fmt.Sprintf("%03d-%s", n, filepath.Base(i.File)))
		wanted[path] = true
		if err := os.WriteFile(path, []byte(i.Library+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	for _, path := range old {
		if !wanted[path] {
			_ = os.Remove(path)
		}
	}
	return []string{
		vendorsVariable + "=" + dir,
		filenamesVariable + "=" + strings.Join(names, ":"),
	}, nil
}
