package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionJSON is the document of `tandem version --json`.
type versionJSON struct {
	Name     string `json:"name"`
	Module   string `json:"module"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a changed working tree
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Cgo      bool   `json:"cgo"`
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Say which tandem this is",
		Example:           "  tandem version --json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			v := version()
			rev := ""
			if v.Revision != "" {
				rev = fmt.Sprintf(" (%.12s)", v.Revision)
			}
			fmt.Fprintf(a.text(), "tandem %s%s, %s, %s/%s\n", v.Version, rev, v.Go, v.OS, v.Arch)
			return a.result(v)
		},
	}
}

func version() versionJSON {
	v := versionJSON{Name: "tandem", Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Module = info.Main.Path
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "CGO_ENABLED":
			v.Cgo = s.Value == "1"
		}
	}
	return v
}
