package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/sim"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

func (a *app) planCommand() *cobra.Command {
	var set, links []string
	var explain bool
	var simFile, svgFile string
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show where a pipeline would run, and why, without running it",
		Long: `plan reads a pipeline, places its tasks on the selected devices and shows the
predicted schedule. Nothing is compiled and nothing runs. With --explain every
task is shown with all devices it could have run on: the predicted time to run,
to move its data and to wait for the device, and the reason for the choice.

What if: --sim plans for the devices that a file describes, --devices leaves
some out ('!opencl:0'), --link halves a link ('opencl:0=0.5') or doubles it.`,
		Example: `  tandem plan examples/edges --explain
  tandem plan examples/edges --sim machine.yaml --devices '!sim:1' --svg plan.svg`,
		Args: files(1, 1, "one pipeline file or its folder"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.plan(c.Context(), args[0], planFlags{set, links, explain, simFile, svgFile})
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil, "set a variable of the pipeline: NAME=VALUE")
	c.Flags().BoolVar(&explain, "explain", false, "show every candidate device of every task")
	c.Flags().StringVar(&simFile, "sim", "", "plan for the simulated devices that this YAML file describes")
	c.Flags().StringVar(&svgFile, "svg", "", "write the schedule as a picture to this file")
	c.Flags().StringArrayVar(&links, "link", nil, "what if a device's links were as fast times a factor: DEVICE=FACTOR")
	return c
}

// planFlags are the flags of plan.
type planFlags struct {
	set, links []string
	explain    bool
	sim, svg   string
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

func (a *app) plan(ctx context.Context, file string, f planFlags) error {
	p, err := a.load(file, f.set)
	if err != nil {
		return err
	}
	if err := checkFolder("--svg", f.svg); err != nil {
		return err
	}
	c := tandem.Config{Emulate: p.Asks}
	if f.sim != "" {
		d, err := sim.Open(f.sim)
		if err != nil {
			return err
		}
		a.driverList = []devices.Driver{d}
		c.Calibrations = d.Calibrations()
	}
	if c.Calibrations, err = a.scaleLinks(ctx, c.Calibrations, f.links); err != nil {
		return err
	}
	s, _, err := a.open(ctx, c)
	if err != nil {
		return err
	}
	job, err := a.prepare(ctx, s, p)
	if err == nil {
		err = a.showPlan(s, job.plan, f.explain)
	}
	if err == nil && f.svg != "" {
		doc := describePlan(s, job.plan)
		err = arrayfile.Replace(f.svg, func(w io.Writer) error { return writeGanttSVG(w, &doc) })
	}
	return joinClose(err, s)
}

// scaleLinks answers "what if the link were faster or slower": it multiplies the
// bandwidths of the named devices. A device that was not calibrated has no link
// to scale.
func (a *app) scaleLinks(ctx context.Context, known map[string]devices.Calibration, links []string) (map[string]devices.Calibration, error) {
	if len(links) == 0 {
		return known, nil
	}
	scaled := maps.Clone(known)
	if scaled == nil {
		scaled = a.calibrations(ctx)
	}
	for _, l := range links {
		id, text, _ := strings.Cut(l, "=")
		factor, err := strconv.ParseFloat(text, 64)
		if err != nil || !(factor > 0) || math.IsInf(factor, 1) {
			return nil, fmt.Errorf("--link %s: want DEVICE=FACTOR with a factor above 0", l)
		}
		cal, ok := scaled[id]
		if !ok {
			return nil, fmt.Errorf("--link %s: the links of %q have not been measured; see: tandem probe --calibrate", l, id)
		}
		cal.Upload.Bandwidth *= factor
		cal.Download.Bandwidth *= factor
		scaled[id] = cal
	}
	return scaled, nil
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
	if p.Schedule() == nil {
		return doc // an empty graph
	}
	doc.LowerBoundS = p.Schedule().LowerBound.Seconds()
	decisions := p.Decisions()
	for i, t := range p.Tasks() {
		placed := &p.Schedule().Tasks[i]
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
	for _, m := range p.Schedule().Transfers {
		d := &p.Problem().Data[m.Datum]
		doc.Transfers = append(doc.Transfers, planMoveJSON{Buffer: d.Name, From: p.Problem().Nodes[m.From].Name, To: p.Problem().Nodes[m.To].Name,
			Bytes: m.Hi - m.Lo, StartS: m.Start.Seconds(), FinishS: m.End.Seconds()})
	}
	return doc
}
