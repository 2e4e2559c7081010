package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/runtime/pipeline"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of pipeline files",
		Long: `schema prints the JSON Schema of pipeline files, for editors that check and
complete YAML as it is typed. Put this on the first line of a pipeline:
# yaml-language-server: $schema=tandem.schema.json`,
		Example:           "  tandem schema > tandem.schema.json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			b, err := pipeline.Schema()
			if err != nil {
				return err
			}
			a.wroteJSON = true // the schema is a JSON document, with and without --json
			if _, err := fmt.Fprintf(a.stdout, "%s\n", b); err != nil {
				return &workError{err}
			}
			return nil
		},
	}
}
