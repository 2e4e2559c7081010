package observe

import (
	"fmt"
	"sync"

	"github.com/tandemrun/tandem/devices/cuda/nvtx"
	tandem "github.com/tandemrun/tandem/runtime"
)

// NVTX is an observer that annotates the time line of NVIDIA's profilers: each
// run is a range, and each launch, copy and fault a mark at the moment when it
// was over, with the task's name, which the profiler does not know, and how
// long it took. Beside the profiler's own rows of kernels and copies it says
// whose they are.
func NVTX(l *nvtx.Library) tandem.Observer {
	var mu sync.Mutex
	runs := map[int64]nvtx.Range{}
	failed := func(err error) string {
		if err == nil {
			return ""
		}
		return ": " + err.Error()
	}
	return tandem.Observer{
		RunStarted: func(e tandem.RunStarted) {
			r := l.Start(fmt.Sprintf("run %d %s (%d tasks)", e.Run, e.Name, len(e.Tasks)))
			mu.Lock()
			runs[e.Run] = r
			mu.Unlock()
		},
		Launched: func(e tandem.LaunchEvent) {
			part := ""
			if e.Parts > 1 {
				part = fmt.Sprintf(" part %d of %d", e.Part+1, e.Parts)
			}
			l.Mark(fmt.Sprintf("%s%s: %s on %s, %v%s", e.Name, part, e.Kernel, e.Device, e.Times.Run(), failed(e.Err)))
		},
		Copied: func(e tandem.CopyEvent) {
			if e.ZeroCopy {
				return
			}
			l.Mark(fmt.Sprintf("copy %s %s to %s, %d bytes, %v%s", e.Buffer, e.From, e.To, e.Bytes, e.Times.Run(), failed(e.Err)))
		},
		Faulted: func(e tandem.FaultEvent) {
			l.Mark(fmt.Sprintf("fault on %s: %v: %s", e.Device, e.Err, e.Action))
		},
		RunFinished: func(e tandem.RunFinished) {
			mu.Lock()
			r, ok := runs[e.Run]
			delete(runs, e.Run)
			mu.Unlock()
			if ok {
				l.End(r)
			}
		},
	}
}
