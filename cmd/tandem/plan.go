package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	tandem "github.com/tandemrun/tandem/runtime"
)

func (a *app) planCommand() *cobra.Command {
	var set []string
	var explain bool
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show where a pipeline would run, and why, without running it",
		Long: `plan reads a pipeline, places its tasks on the selected devices and shows the
predicted schedule. Nothing is compiled and nothing runs. With --explain every
task is shown with all devices it could have run on: the predicted time to run,
to move its data and to wait for the device, and the reason for the choice.`,
		Example: "  tandem plan examples/edges --explain",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.plan(c.Context(), args[0], set, explain)
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable of the pipeline: NAME=VALUE")
	c.Flags().BoolVar(&explain, "explain", false, "show every candidate device of every task")
	return c
}

// planJSON is the document of `tandem plan --json`.
type planJSON struct {
	PredictedS  float64        `json:"predicted_makespan_s"`
	LowerBoundS float64        `json:"lower_bound_s"`
	Devices     []string       `json:"devices"`
	Tasks       []planTaskJSON `json:"tasks"`
	Transfers   []planMoveJSON `json:"transfers"`
}

type planTaskJSON struct {
	ID         int                 `json:"id"`
	Name       string              `json:"name"`
	Kernel     string              `json:"kernel"`
	After      []int               `json:"after"`
	StartS     float64             `json:"start_s"`
	FinishS    float64             `json:"finish_s"`
	Shares     []planShareJSON     `json:"shares"`
	Reason     string              `json:"reason"`
	Candidates []planCandidateJSON `json:"candidates"`
}

type planShareJSON struct {
	Device  string  `json:"device"`
	Dim     int     `json:"dim"`
	Lo      int     `json:"lo"`
	Hi      int     `json:"hi"`
	StartS  float64 `json:"start_s"`
	FinishS float64 `json:"finish_s"`
}

type planCandidateJSON struct {
	Device  string  `json:"device"`
	RunS    float64 `json:"run_s"`
	MoveS   float64 `json:"move_s"`
	WaitS   float64 `json:"wait_s"`
	FinishS float64 `json:"finish_s"`
	Source  string  `json:"source,omitempty"` // of the estimate
	Refused string  `json:"refused,omitempty"`
}

type planMoveJSON struct {
	Buffer  string  `json:"buffer"`
	From    string  `json:"from"`
	To      string  `json:"to"`
	Bytes   int64   `json:"bytes"`
	StartS  float64 `json:"start_s"`
	FinishS float64 `json:"finish_s"`
}

func (a *app) plan(ctx context.Context, file string, set []string, explain bool) error {
	p, err := a.load(file, set)
	if err != nil {
		return err
	}
	s, _, err := a.open(ctx, tandem.Config{})
	if err != nil {
		return err
	}
	job, err := a.prepare(ctx, s, p)
	if err == nil {
		err = a.showPlan(s, job.plan, explain)
	}
	return joinClose(err, s)
}

// showPlan writes a plan as text and as the command's document.
func (a *app) showPlan(s *tandem.Session, p *tandem.Plan, explain bool) error {
	doc := describePlan(s, p)
	printPlan(a.text(), &doc, a.width(), explain)
	return a.result(doc)
}

// describePlan turns a plan into its document.
func describePlan(s *tandem.Session, p *tandem.Plan) planJSON {
	doc := planJSON{PredictedS: p.Predicted.Seconds(), Devices: []string{}, Tasks: []planTaskJSON{}, Transfers: []planMoveJSON{}}
	for _, d := range s.Devices() {
		doc.Devices = append(doc.Devices, d.ID)
	}
	if p.Schedule == nil {
		return doc // an empty graph
	}
	doc.LowerBoundS = p.Schedule.LowerBound.Seconds()
	decisions := p.Decisions()
	for i, t := range p.Tasks() {
		placed := &p.Schedule.Tasks[i]
		j := planTaskJSON{ID: t.ID, Name: t.Name, Kernel: t.Kernel, After: slices.Concat([]int{}, t.After),
			StartS: placed.Start.Seconds(), FinishS: placed.Finish.Seconds(), Reason: decisions[i].Reason,
			Shares: []planShareJSON{}, Candidates: []planCandidateJSON{}}
		for n, share := range decisions[i].Chosen {
			sj := planShareJSON{Device: share.Device, Dim: share.Dim, Lo: share.Lo, Hi: share.Hi}
			if n < len(placed.Shares) {
				sj.StartS, sj.FinishS = placed.Shares[n].Start.Seconds(), placed.Shares[n].Finish.Seconds()
			}
			j.Shares = append(j.Shares, sj)
		}
		for _, c := range placed.Candidates {
			j.Candidates = append(j.Candidates, planCandidateJSON{Device: doc.Devices[c.Device], RunS: c.Run.Seconds(), MoveS: c.Move.Seconds(),
				WaitS: c.Wait.Seconds(), FinishS: c.Finish.Seconds(), Source: c.Source, Refused: c.Refused})
		}
		doc.Tasks = append(doc.Tasks, j)
	}
	for _, m := range p.Schedule.Transfers {
		d := &p.Problem.Data[m.Datum]
		doc.Transfers = append(doc.Transfers, planMoveJSON{Buffer: d.Name, From: p.Problem.Nodes[m.From].Name, To: p.Problem.Nodes[m.To].Name,
			Bytes: m.Hi - m.Lo, StartS: m.Start.Seconds(), FinishS: m.End.Seconds()})
	}
	return doc
}
