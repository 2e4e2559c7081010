package tandem_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// twins is a test double: two devices that work on the host's pages and are not
// the same silicon. The second one's kernels wait at a gate.
type twins struct{ cpu.Driver }

type twin struct {
	devices.Device
	info devices.Info
}

func (d twin) Info() devices.Info { return d.info }

func (d twin) Unwrap() devices.Device { return d.Device }

func (twins) Name() string { return "twin" }

func (twins) info(in devices.Info, n int) devices.Info {
	in.ID, in.Backend, in.Ordinal = fmt.Sprintf("twin:%d", n), "twin", n
	in.PhysicalID = "double:" + in.ID
	return in
}

func (d twins) Probe(ctx context.Context) devices.Backend {
	b := d.Driver.Probe(ctx)
	one := b.Devices[0]
	b.Name, b.Devices = d.Name(), []devices.Info{d.info(one, 0), d.info(one, 1)}
	return b
}

func (d twins) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	dev, err := d.Driver.Open(ctx, 0)
	if err != nil {
		return nil, err
	}
	return twin{dev, d.info(dev.Info(), ordinal)}, nil
}

// TestIdleDeviceSteals has a task in two halves on two devices, one of which
// stands still at its first part until the other has done everything else.
func TestIdleDeviceSteals(t *testing.T) {
	const n = 1 << 16
	var done atomic.Int64
	gate := make(chan struct{})
	var first sync.Once
	k := goKernel("half", func(r devices.Range, a *devices.Args) {
		y := devices.Slice[int32](a, 0)
		stuck := false
		first.Do(func() { stuck = true })
		if stuck {
			<-gate
		}
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			y[i] += int32(i)
		}
		if done.Add(int64(r.Hi[0]-r.Lo[0])) > n/2 {
			select {
			case <-gate:
			default:
				close(gate)
			}
		}
	}, param("y", kernels.ReadWrite))
	k.Work = func(c *kernels.Call) kernels.Work { return kernels.Work{Flops: 1e9} } // long enough to be cut
	var mu sync.Mutex
	stolen := map[string]int{}
	s := open(t, tandem.Config{Drivers: []devices.Driver{twins{cpu.Driver{Workers: 1}}}, Observer: tandem.Observer{
		Launched: func(e tandem.LaunchEvent) {
			mu.Lock()
			defer mu.Unlock()
			if e.Planned != "" {
				stolen[e.Planned+" by "+e.Device]++
			}
		},
	}})
	y := tandem.NewSlice[int32](s, n)
	g := tandem.NewGraph()
	g.Add(k, y).Split(0.5, 0.5)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Run(ctx, g); err != nil {
		t.Fatal(err)
	}
	if len(stolen) != 1 {
		t.Errorf("stolen launches: %v, want some from the device that stood still", stolen)
	}
	for i, v := range values(t, y) {
		if v != int32(i) {
			t.Fatalf("y[%d] = %d, want %d", i, v, i)
		}
	}
}
