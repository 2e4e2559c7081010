package observe

import (
	"io"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	tandem "github.com/tandemrun/tandem/runtime"
)

// Progress is an observer that draws a bar for each run on w: tasks done out
// of all. isTerminal says whether w is a terminal; on anything else, nothing is
// drawn. stop ends the drawing and leaves the last state of the bars; it has to
// be called before something else is written to w, and w is not used after it.
func Progress(w io.Writer, isTerminal bool) (o tandem.Observer, stop func()) {
	if !isTerminal {
		return tandem.Observer{}, func() {}
	}
	p := &progress{
		bars: mpb.New(mpb.WithOutput(w), mpb.WithWidth(78), mpb.WithAutoRefresh()),
		runs: map[int64]*runBar{},
	}
	return tandem.Observer{
		RunStarted:  p.start,
		Launched:    p.launched,
		RunFinished: p.finish,
	}, p.stop
}

type progress struct {
	bars *mpb.Progress
	mu   sync.Mutex
	runs map[int64]*runBar
	over bool
}

// runBar is the bar of one run. A task is done when all its parts are.
type runBar struct {
	bar   *mpb.Bar
	tasks int64
	parts map[int]int // of tasks that are not done: parts that are
}

func (p *progress) start(e tandem.RunStarted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || len(e.Tasks) == 0 {
		return
	}
	name := e.Name
	if name == "" {
		name = "run"
	}
	bar := p.bars.New(int64(len(e.Tasks)), mpb.BarStyle().Lbound("").Rbound("").Filler("━").Tip("━").Padding("─"),
		mpb.PrependDecorators(decor.Name(printable(name, 24), decor.WC{C: decor.DindentRight | decor.DextraSpace})),
		mpb.AppendDecorators(
			decor.CountersNoUnit("%d / %d tasks", decor.WC{C: decor.DextraSpace}),
			decor.Elapsed(decor.ET_STYLE_GO, decor.WC{W: 8, C: decor.DextraSpace})))
	p.runs[e.Run] = &runBar{bar, int64(len(e.Tasks)), map[int]int{}}
}

func (p *progress) launched(e tandem.LaunchEvent) {
	if e.Err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[e.Run]
	if r == nil {
		return
	}
	if e.Parts > 1 {
		if r.parts[e.Task]++; r.parts[e.Task] < e.Parts {
			return
		}
		delete(r.parts, e.Task)
	}
	r.bar.Increment()
}

// finish leaves the bar of a failed run where it is, and takes that of another
// to its end: tasks that needed no launch are done too.
func (p *progress) finish(e tandem.RunFinished) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.runs[e.Run]
	if r == nil {
		return
	}
	delete(p.runs, e.Run)
	if e.Err != nil {
		r.bar.Abort(false)
		return
	}
	r.bar.SetTotal(r.tasks, true)
}

func (p *progress) stop() {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		return
	}
	p.over = true
	for _, r := range p.runs {
		r.bar.Abort(false)
	}
	clear(p.runs)
	p.mu.Unlock()
	p.bars.Wait()
}

// printable keeps control characters of a name away from a terminal, and the
// name short.
func printable(s string, most int) string {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			r = '?'
		}
		if out = append(out, r); len(out) == most {
			break
		}
	}
	return string(out)
}
