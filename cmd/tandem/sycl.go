package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices/sycl"
)

// syclBuildJSON is the document of `tandem sycl build --json`.
type syclBuildJSON struct {
	Shim    string `json:"shim"`
	Runtime string `json:"runtime"`
	Headers string `json:"headers"`
}

func (a *app) syclCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "sycl",
		Short: "Look after the bridge to SYCL",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(a.syclBuildCommand())
	return c
}

func (a *app) syclBuildCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "build",
		Short: "Build the shim that devices of a SYCL runtime are reached through",
		Long: `build compiles the shim for the SYCL runtime of this machine. Without -o it goes
where the sycl driver finds it by itself, which builds it on first use anyway;
with -o into a file for a machine without a compiler, where TANDEM_SYCL_SHIM
names it.`,
		Example:           "  tandem sycl build -o libtandem-sycl.so",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, r, err := sycl.BuildShim(cmd.Context(), out)
			if err != nil {
				if hint := sycl.Hint(err); hint != "" {
					err = fmt.Errorf("%w\n  %s", err, hint)
				}
				return &workError{err}
			}
			fmt.Fprintf(a.text(), "%s, for %s\n", path, r.SYCL)
			return a.result(syclBuildJSON{path, r.SYCL, r.Include})
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "write the shim to `FILE`")
	return c
}
