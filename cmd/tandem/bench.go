package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/bench"
)

func (a *app) benchCommand() *cobra.Command {
	var quick bool
	var seed uint64
	c := &cobra.Command{
		Use:   "bench [NAME...]",
		Short: "Measure tandem: overlap, plans, predictions, co-execution, overhead",
		Long:  benchLong(),
		Example: `  tandem bench overlap schedule
  tandem bench overhead --json --devices cpu`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, p := range bench.Problems() {
				names = append(names, p.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.bench(c.Context(), args, bench.Options{Drivers: a.drivers(), Devices: a.devices, Quick: quick, Seed: seed})
		},
	}
	c.Flags().BoolVar(&quick, "quick", false, "measure less: noisier figures in less time")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of everything random")
	return c
}

func benchLong() string {
	s := "bench measures what tandem is about and prints one figure a line. Problems that\nask about decisions run on simulated devices, where times are exact; the others\nrun on this machine. Without a name all of them run:\n"
	for _, p := range bench.Problems() {
		s += fmt.Sprintf("\n  %-10s %s", p.Name, p.Doc)
	}
	return s
}

// benchJSON is the document of `tandem bench --json`.
type benchJSON struct {
	Results []bench.Result `json:"results"`
}

func (a *app) bench(ctx context.Context, names []string, o bench.Options) error {
	problems, err := bench.Select(names...)
	if err != nil {
		return err
	}
	if o.Program, err = os.Executable(); err != nil {
		a.note("what is measured of a whole process is left out: %v", err)
	}
	o.Note = func(text string) { a.note("%s", text) }
	doc := benchJSON{Results: []bench.Result{}}
	t := table.NewWriter()
	t.SetOutputMirror(a.text())
	t.AppendHeader(table.Row{"figure", "value", "unit", "better"})
	for _, p := range problems {
		results, err := p.Run(ctx, o)
		a.rearm()
		if err != nil {
			return &workError{fmt.Errorf("bench %s: %w", p.Name, err)}
		}
		for _, r := range results {
			t.AppendRow(table.Row{r.Name, fmt.Sprintf("%.4g", r.Value), r.Unit, r.Better})
		}
		doc.Results = append(doc.Results, results...)
	}
	t.Render()
	return a.result(doc)
}
