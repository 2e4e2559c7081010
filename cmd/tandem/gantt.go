package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// ganttLetters name the tasks in the chart; later tasks begin again.
const ganttLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// maxListedTasks bounds the lines of the task table without --explain.
const maxListedTasks = 60

// printPlan writes the schedule as a chart of width columns, a table of the
// tasks, and with explain the candidates of each.
func printPlan(w io.Writer, doc *planJSON, width int, explain bool) {
	fmt.Fprintf(w, "%d task(s) on %d device(s), predicted %s\n", len(doc.Tasks), len(doc.Devices), secondsText(doc.PredictedS))
	if len(doc.Tasks) == 0 {
		return
	}
	fmt.Fprintln(w)
	printGantt(w, doc, width)
	fmt.Fprintln(w)
	name := 4
	for i := range doc.Tasks {
		name = min(max(name, utf8.RuneCountInString(doc.Tasks[i].Name)), 28)
	}
	fmt.Fprintf(w, "    %-*s  %10s  %10s  device\n", name, "task", "start", "finish")
	for i := range doc.Tasks {
		t := &doc.Tasks[i]
		if !explain && i == maxListedTasks {
			fmt.Fprintf(w, "    ... and %d more (--explain or --json shows all)\n", len(doc.Tasks)-i)
			break
		}
		fmt.Fprintf(w, "  %c %-*s  %10s  %10s  %s\n", ganttLetters[i%len(ganttLetters)], name, clipName(t.Name, name), secondsText(t.StartS), secondsText(t.FinishS), sharesText(t))
		if explain {
			explainTask(w, t)
		}
	}
}

// printGantt draws one line for each device, time from left to right.
func printGantt(w io.Writer, doc *planJSON, width int) {
	label := 0
	for _, d := range doc.Devices {
		label = max(label, len(d))
	}
	columns := max(width-label-4, 20)
	end := doc.PredictedS
	for i := range doc.Tasks {
		end = max(end, doc.Tasks[i].FinishS)
	}
	if end <= 0 {
		end = 1e-9
	}
	for _, d := range doc.Devices {
		line := []byte(strings.Repeat(".", columns))
		for i := range doc.Tasks {
			for _, s := range doc.Tasks[i].Shares {
				if s.Device != d {
					continue
				}
				from := min(int(s.StartS/end*float64(columns)), columns-1)
				to := min(max(int(s.FinishS/end*float64(columns)), from+1), columns)
				for c := from; c < to; c++ {
					line[c] = ganttLetters[i%len(ganttLetters)]
				}
			}
		}
		fmt.Fprintf(w, "  %-*s %s\n", label, d, line)
	}
	right := secondsText(end)
	fmt.Fprintf(w, "  %-*s 0%*s\n", label, "", columns-1, right)
}

func sharesText(t *planTaskJSON) string {
	if len(t.Shares) == 1 {
		return t.Shares[0].Device
	}
	var parts []string
	for _, s := range t.Shares {
		parts = append(parts, fmt.Sprintf("%s [%d, %d)", s.Device, s.Lo, s.Hi))
	}
	return strings.Join(parts, ", ")
}

// explainTask lists the candidates of a task.
func explainTask(w io.Writer, t *planTaskJSON) {
	chosen := map[string]bool{}
	for _, s := range t.Shares {
		chosen[s.Device] = true
	}
	for _, c := range t.Candidates {
		mark := " "
		if chosen[c.Device] {
			mark = "*"
		}
		if c.Refused != "" {
			fmt.Fprintf(w, "      %s %-10s refused: %s\n", mark, c.Device, c.Refused)
			continue
		}
		fmt.Fprintf(w, "      %s %-10s run %s, move %s, wait %s, done at %s (%s)\n", mark, c.Device,
			secondsText(c.RunS), secondsText(c.MoveS), secondsText(c.WaitS), secondsText(c.FinishS), c.Source)
	}
	if t.Reason != "" {
		fmt.Fprintf(w, "        because: %s\n", t.Reason)
	}
}

func clipName(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
