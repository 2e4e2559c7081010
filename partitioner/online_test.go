package partitioner

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Placing the tasks of the worked example one by one, in HEFT's order and all
// at time 0, gives HEFT's plan.
func TestOnlineLikeHEFT(t *testing.T) {
	p := topcuoglu()
	want, err := HEFT(p)
	if err != nil {
		t.Fatal(err)
	}
	bare := *p
	bare.Tasks = nil
	o, err := NewOnline(&bare)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range want.Order {
		_, pm, err := o.Place(p.Tasks[i], 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(pm.Shares, want.Tasks[i].Shares) {
			t.Errorf("n%d: %+v, HEFT has %+v", i+1, pm.Shares, want.Tasks[i].Shares)
		}
		if len(pm.Candidates) != 3 || pm.Reason == "" {
			t.Errorf("n%d: %d candidates, reason %q", i+1, len(pm.Candidates), pm.Reason)
		}
	}
}

func twoDevices() *Problem {
	link := devices.Link{Latency: ms, Bandwidth: 1e6}
	return &Problem{
		Devices: []Device{{ID: "cpu:0"}, {ID: "cuda:0", Node: 1}},
		Nodes:   []Node{{}, {Memory: 10000}},
		Links:   StarLinks([]devices.Link{{}, link}, []devices.Link{{}, link}),
	}
}

func run(cpu, gpu time.Duration) []Estimate { return []Estimate{{Run: cpu}, {Run: gpu}} }

func TestOnlineFollowsReality(t *testing.T) {
	o, err := NewOnline(twoDevices())
	if err != nil {
		t.Fatal(err)
	}
	x, err := o.AddDatum(Datum{Bytes: 4000, Nodes: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	y, _ := o.AddDatum(Datum{Bytes: 4000})
	// 5 ms to move in, 10 to run: 15, before 20 on the CPU.
	a, pm, err := o.Place(Task{Name: "a", Cost: run(20*ms, 10*ms), Reads: []Read{{Datum: x}}, Writes: []int{y}}, 0)
	if err != nil || pm.Shares[0] != (Share{Device: 1, Start: 5 * ms, Finish: 15 * ms}) {
		t.Fatalf("a: %+v, %v", pm, err)
	}
	// It takes until 50: what reads its output waits on both devices.
	o.Finished(a, 50*ms)
	if f := o.Free(1); f != 50*ms {
		t.Errorf("the GPU is free at %v, want 50ms", f)
	}
	b, pm, err := o.Place(Task{Name: "b", Cost: run(20*ms, 10*ms), Reads: []Read{{Datum: y}}, After: []int{a}}, 20*ms)
	if err != nil || pm.Shares[0] != (Share{Device: 1, Start: 50 * ms, Finish: 60 * ms}) {
		t.Errorf("b: %+v, %v; want the GPU from 50 to 60ms", pm.Shares, err)
	}
	// Nothing is placed in the past.
	o.Finished(b, 60*ms)
	_, pm, err = o.Place(Task{Name: "c", Cost: run(1*ms, 1*ms)}, 200*ms)
	if err != nil || pm.Start != 200*ms {
		t.Errorf("c: %+v, %v; want it at 200ms", pm.Shares, err)
	}
	if _, _, err := o.Place(Task{Name: "d", Cost: run(ms, ms), After: []int{99}}, 200*ms); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("after a task that never was: %v", err)
	}
	var none *PlanError
	if _, _, err := o.Place(Task{Name: "e", Cost: []Estimate{{Refused: "no"}, {Refused: "no"}}}, 200*ms); !errors.As(err, &none) {
		t.Errorf("refused everywhere: %v", err)
	}
}

// A long stream keeps neither tasks nor data, and the memory account stays
// right.
func TestOnlineStream(t *testing.T) {
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, 0))
	o, err := NewOnline(twoDevices())
	if err != nil {
		t.Fatal(err)
	}
	in, _ := o.AddDatum(Datum{Bytes: 1000, Nodes: []int{0}})
	type live struct {
		id, out int
		end     time.Duration
	}
	var running []live
	now := time.Duration(0)
	onGPU := 0
	for range 20000 {
		now += time.Duration(rng.IntN(int(2 * ms)))
		for len(running) > 0 && running[0].end <= now {
			o.Finished(running[0].id, running[0].end)
			o.DropDatum(running[0].out)
			running = running[1:]
		}
		out, err := o.AddDatum(Datum{Bytes: int64(rng.IntN(3000))})
		if err != nil {
			t.Fatal(err)
		}
		id, pm, err := o.Place(Task{Name: "s", Cost: run(2*ms, 1*ms), Reads: []Read{{Datum: in}}, Writes: []int{out}}, now)
		if err != nil {
			t.Fatal(err)
		}
		if pm.Start < now {
			t.Fatalf("placed at %v, now is %v", pm.Start, now)
		}
		onGPU += pm.Shares[0].Device
		running = append(running, live{id, out, pm.Finish + time.Duration(rng.IntN(int(ms)))})
		slices.SortFunc(running, func(a, b live) int { return int(a.end - b.end) })
		m := &o.st.memory[1]
		var held int64
		for _, d := range m.data {
			held += o.st.resident(d, 1, 0, o.st.Data[d].Bytes)
		}
		if held != m.used || held > 10000 {
			t.Fatalf("the GPU holds %d bytes, the account says %d of 10000", held, m.used)
		}
	}
	if onGPU < 5000 || onGPU > 19000 {
		t.Errorf("%d of 20000 tasks on the GPU", onGPU)
	}
	if n := len(o.st.Tasks); n > 500 {
		t.Errorf("%d task slots for at most %d tasks at a time", n, 500)
	}
	if n := len(o.st.Data); n > 500 {
		t.Errorf("%d data kept", n)
	}
}
