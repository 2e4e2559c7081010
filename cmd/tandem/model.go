package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/partitioner/costmodel"
	"github.com/tandemrun/tandem/runtime/modelstore"
)

func (a *app) modelCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "model",
		Short: "Show, clear or export what tandem has learnt about run times",
		Long: `Every run tells the cost model how long its launches took. The model is kept for
the user, one series for each kernel variant, device and driver version; plans are
made from it.`,
		Example: "  tandem model show\n  tandem model clear image.blur\n  tandem model export > model.json",
	}
	c.AddCommand(
		&cobra.Command{
			Use: "show [TEXT]", Short: "Show the series whose kernel or device contains the text",
			Example: "  tandem model show image.blur", Args: cobra.MaximumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return a.modelShow(c.Context(), first(args)) },
		},
		&cobra.Command{
			Use: "clear [TEXT]", Short: "Forget the series whose kernel or device contains the text; without one, all",
			Example: "  tandem model clear opencl", Args: cobra.MaximumNArgs(1),
			RunE: func(c *cobra.Command, args []string) error { return a.modelClear(c.Context(), first(args)) },
		},
		&cobra.Command{
			Use: "export", Short: "Write everything that was learnt as JSON to standard output",
			Example: "  tandem model export > model.json", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return a.modelExport(c.Context()) },
		})
	return c
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func modelStore() *modelstore.Store { return &modelstore.Store{Dir: modelstore.DefaultDir()} }

// modelJSON is the document of `tandem model show --json`.
type modelJSON struct {
	Dir    string            `json:"dir"`
	Series []modelSeriesJSON `json:"series"`
}

type modelSeriesJSON struct {
	Kernel string           `json:"kernel"`
	Device string           `json:"device"`
	Runs   int              `json:"runs"`
	Law    string           `json:"law,omitempty"` // of the fit over sizes
	Error  float64          `json:"relative_error,omitempty"`
	Sizes  []modelPointJSON `json:"sizes"`
}

type modelPointJSON struct {
	WorkItems float64 `json:"work_items"`
	Runs      int     `json:"runs"`
	RunS      float64 `json:"run_s"`
	SpreadS   float64 `json:"spread_s"`
}

func matchesKey(k costmodel.Key, text string) bool {
	return strings.Contains(k.Kernel, text) || strings.Contains(k.Device, text)
}

func (a *app) modelShow(ctx context.Context, text string) error {
	m, err := modelStore().Load(ctx)
	if err != nil {
		a.warn("%v", err)
	}
	doc := modelJSON{Dir: modelstore.DefaultDir(), Series: []modelSeriesJSON{}}
	t := table.NewWriter()
	t.SetOutputMirror(a.text())
	t.AppendHeader(table.Row{"kernel", "device", "runs", "sizes", "fit", "error"})
	for _, e := range m.Entries() {
		if !matchesKey(e.Key, text) {
			continue
		}
		s := modelSeriesJSON{Kernel: e.Key.Kernel, Device: e.Key.Device, Runs: e.Runs, Law: e.Law, Error: e.Error, Sizes: []modelPointJSON{}}
		for _, p := range e.Points {
			s.Sizes = append(s.Sizes, modelPointJSON{p.Size.Items, p.Runs, p.Run.Seconds(), p.Spread.Seconds()})
		}
		doc.Series = append(doc.Series, s)
		fit := ""
		if e.Law != "" {
			fit = fmt.Sprintf("%.0f %%", 100*e.Error)
		}
		t.AppendRow(table.Row{e.Key.Kernel, e.Key.Device, e.Runs, len(e.Points), e.Law, fit})
	}
	if len(doc.Series) == 0 {
		fmt.Fprintf(a.text(), "nothing learnt yet%s\n", map[bool]string{true: " about " + text}[text != ""])
	} else {
		t.Render()
	}
	return a.result(doc)
}

func (a *app) modelClear(ctx context.Context, text string) error {
	n, err := modelStore().Clear(ctx, func(k costmodel.Key) bool { return matchesKey(k, text) })
	if err != nil {
		return &workError{err}
	}
	fmt.Fprintf(a.text(), "%d series forgotten\n", n)
	return a.result(map[string]int{"forgotten": n})
}

// modelExport writes the model as it is stored, with or without --json.
func (a *app) modelExport(ctx context.Context) error {
	m, err := modelStore().Load(ctx)
	if err != nil {
		a.warn("%v", err)
	}
	b, err := m.MarshalJSON()
	if err != nil {
		return &workError{err}
	}
	a.wroteJSON = true
	if _, err := a.stdout.Write(append(b, '\n')); err != nil {
		return &workError{fmt.Errorf("write the model: %w", err)}
	}
	return nil
}
