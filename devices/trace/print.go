package trace

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// String is the call on one line.
func (c Call) String() string {
	var b strings.Builder
	b.WriteString(c.Device)
	if c.Queue != "" {
		b.WriteString(" " + c.Queue)
	}
	b.WriteString(" " + string(c.Op))
	switch c.Op {
	case Launch:
		fmt.Fprintf(&b, " %s %s (%s)", c.Name, rangeText(c.Range), argsText(c.Args))
	case Copy:
		fmt.Fprintf(&b, " %v %d bytes", c.Kind, c.Size)
		if c.Buffer != 0 {
			fmt.Fprintf(&b, " b%d", c.Buffer)
		}
	case Alloc:
		fmt.Fprintf(&b, " %d bytes", c.Size)
		if c.Buffer != 0 {
			fmt.Fprintf(&b, " -> b%d", c.Buffer)
		}
	case Free:
		fmt.Fprintf(&b, " b%d", c.Buffer)
	case Open:
		fmt.Fprintf(&b, " %d", c.Size)
	case Notify, Done, Release:
		fmt.Fprintf(&b, " e%d", c.Event)
		if c.Run != 0 {
			fmt.Fprintf(&b, " ran %v", round(c.Run))
		}
	default:
		if c.Name != "" {
			b.WriteString(" " + c.Name)
		}
	}
	if len(c.Wait) > 0 {
		b.WriteString(" after")
		for _, e := range c.Wait {
			fmt.Fprintf(&b, " e%d", e)
		}
	}
	if (c.Op == Launch || c.Op == Copy) && c.Event != 0 {
		fmt.Fprintf(&b, " -> e%d", c.Event)
	}
	if c.Err != nil {
		fmt.Fprintf(&b, " FAILED: %v", c.Err)
	}
	if c.Took > 0 {
		fmt.Fprintf(&b, " %v", round(c.Took))
	}
	return b.String()
}

// round keeps three digits or so of a time.
func round(d time.Duration) time.Duration {
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}

// rangeText is "[10 20]", with "+[offset]", "/[local]" and " of [whole]"
// where they are given.
func rangeText(r devices.NDRange) string {
	n := min(max(r.Dims, 0), 3)
	text := fmt.Sprint(r.Size[:n])
	none := [3]int{}
	if r.Offset != none {
		text += "+" + fmt.Sprint(r.Offset[:n])
	}
	if r.Local != none {
		text += "/" + fmt.Sprint(r.Local[:n])
	}
	if r.Whole != none {
		text += " of " + fmt.Sprint(r.Whole[:n])
	}
	return text
}

func argsText(args []Arg) string {
	parts := make([]string, len(args))
	for i, a := range args {
		switch {
		case a.Buffer != 0:
			parts[i] = fmt.Sprintf("b%d", a.Buffer)
		case a.Null:
			parts[i] = "null"
		case a.LocalBytes != 0:
			parts[i] = fmt.Sprintf("local %d", a.LocalBytes)
		case len(a.Value) > 8:
			parts[i] = fmt.Sprintf("%d bytes", len(a.Value))
		case a.Value != nil:
			v := slices.Clone(a.Value)
			slices.Reverse(v) // most hosts are little-endian; people are not
			parts[i] = "0x" + hex.EncodeToString(v)
		default:
			parts[i] = fmt.Sprintf("buffer of %d bytes", a.Bytes)
		}
	}
	return strings.Join(parts, ", ")
}

// To is a sink that writes one line per call to w. It may be used from any
// number of goroutines. What w cannot take is lost.
func To(w io.Writer) Sink {
	var mu sync.Mutex
	return func(c Call) {
		line := c.String() + "\n"
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.WriteString(w, line)
	}
}

// EnvCalls is the environment variable that turns tracing on.
const EnvCalls = "TANDEM_TRACE_CALLS"

// FromEnv is the sink that the environment variable TANDEM_TRACE_CALLS asks
// for: none if it is empty, standard error for "1" or "stderr", otherwise the
// file of that name, which calls are appended to. The caller closes it at the
// end of the program.
func FromEnv(stderr io.Writer) (sink Sink, closeSink func() error, err error) {
	nothing := func() error { return nil }
	switch name := os.Getenv(EnvCalls); name {
	case "", "0":
		return nil, nothing, nil
	case "1", "stderr":
		return To(stderr), nothing, nil
	default:
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nothing, fmt.Errorf("%s: %w", EnvCalls, err)
		}
		return To(f), f.Close, nil
	}
}

// Recorder keeps calls, for tests. The zero value is ready to use; all
// methods may be called from any goroutine.
type Recorder struct {
	mu    sync.Mutex
	calls []Call
}

// Sink keeps c.
func (r *Recorder) Sink(c Call) {
	c.Wait = slices.Clone(c.Wait)
	c.Args = slices.Clone(c.Args)
	for i := range c.Args {
		c.Args[i].Value = slices.Clone(c.Args[i].Value)
	}
	r.mu.Lock()
	r.calls = append(r.calls, c)
	r.mu.Unlock()
}

// Calls are the calls so far, in the order in which they returned, of the
// given kinds; of all kinds if none is given.
func (r *Recorder) Calls(of ...Op) []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Call
	for _, c := range r.calls {
		if len(of) == 0 || slices.Contains(of, c.Op) {
			found = append(found, c)
		}
	}
	return found
}

// Count is how many calls of a kind there were, refused ones included.
func (r *Recorder) Count(op Op) int { return len(r.Calls(op)) }

// CopiedBytes is how many bytes were asked to be copied in one direction.
func (r *Recorder) CopiedBytes(kind devices.CopyKind) (n int64) {
	for _, c := range r.Calls(Copy) {
		if c.Kind == kind && c.Err == nil {
			n += c.Size
		}
	}
	return n
}

// Reset forgets all calls.
func (r *Recorder) Reset() {
	r.mu.Lock()
	r.calls = nil
	r.mu.Unlock()
}
