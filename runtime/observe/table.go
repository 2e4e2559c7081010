package observe

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	tandem "github.com/tandemrun/tandem/runtime"
)

// Table writes what each device did, a line each and the sum of several, in at
// most 80 columns: the table that closes a run.
func Table(w io.Writer, rows []tandem.DeviceStats) error {
	var sum tandem.DeviceStats
	for _, r := range rows {
		sum.Tasks += r.Tasks
		sum.WorkItems += r.WorkItems
		sum.Busy += r.Busy
		sum.BytesH2D += r.BytesH2D
		sum.BytesD2H += r.BytesD2H
		sum.BytesD2D += r.BytesD2D
		sum.BytesZeroCopy += r.BytesZeroCopy
	}
	for _, f := range []fit{{"  ", 16}, {" ", 16}, {" ", 12}, {" ", 8}} {
		text, widest := render(rows, sum, f)
		if widest <= 80 || f.device == 8 {
			_, err := fmt.Fprintln(w, text)
			return err
		}
	}
	return nil
}

// fit is what gives way in a table that is too wide.
type fit struct {
	gap    string
	device int // characters of an id
}

func render(rows []tandem.DeviceStats, sum tandem.DeviceStats, f fit) (string, int) {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options.DrawBorder = false
	style.Options.SeparateColumns = false
	style.Format.Header, style.Format.Footer = text.FormatDefault, text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", f.gap
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	peers := sum.BytesD2D > 0 // few machines have any: not worth a column otherwise
	head := table.Row{"device", "tasks", "work-items", "busy", "up", "down"}
	if peers {
		head = append(head, "across")
	}
	t.AppendHeader(append(head, "not moved"))
	row := func(s tandem.DeviceStats, name string) table.Row {
		r := table.Row{name, formatCount(s.Tasks), formatCount(s.WorkItems), formatTime(s.Busy), formatBytes(s.BytesH2D), formatBytes(s.BytesD2H)}
		if peers {
			r = append(r, formatBytes(s.BytesD2D))
		}
		return append(r, formatBytes(s.BytesZeroCopy))
	}
	for _, r := range rows {
		t.AppendRow(row(r, printable(r.ID, f.device)))
	}
	if len(rows) > 1 {
		t.AppendFooter(row(sum, "all"))
	}
	var columns []table.ColumnConfig
	for i := 2; i <= len(head)+1; i++ {
		columns = append(columns, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight, AlignFooter: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	out := t.Render()
	widest := 0
	for line := range strings.Lines(out) {
		widest = max(widest, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return out, widest
}
