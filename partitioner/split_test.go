package partitioner

import (
	"slices"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
)

func plan(t *testing.T, p *Problem) *Plan {
	t.Helper()
	pl, err := HEFT(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := pl.Validate(p); err != nil {
		t.Fatal(err)
	}
	return pl
}

// items is how many work-items of a task each device got.
func items(pl *Plan, t, devs int) []int {
	n := make([]int, devs)
	for _, sh := range pl.Tasks[t].Shares {
		n[sh.Device] += sh.Hi - sh.Lo
	}
	return n
}

// TestScratchOfParts: every part of a divided task has its own scratch, also
// where two devices share a memory. With both parts' there is no room for what
// the second task reads; with one part's there would be.
func TestScratchOfParts(t *testing.T) {
	link := devices.Link{Bandwidth: 1000} // 1 byte in 1 ms
	p := &Problem{
		Devices: []Device{{ID: "gpu:0", Node: 1}, {ID: "gpu:1", Node: 1}},
		Nodes:   []Node{{}, {Memory: 250}},
		Links:   StarLinks([]devices.Link{{}, link}, []devices.Link{{}, link}),
		Data:    []Datum{{Bytes: 100, Nodes: []int{0, 1}}},
		Tasks: []Task{{Name: "a", Cost: run(100*ms, 100*ms), Scratch: 100, Split: &Split{Items: 100, Shares: []float64{0.5, 0.5}}},
			{Name: "b", Cost: run(10*ms, 10*ms), Reads: []Read{{Datum: 0}}, After: []int{0}}},
	}
	if pl := plan(t, p); pl.Makespan <= 60*ms { // or it would not fit, which Validate sees
		t.Errorf("makespan %v: neither has a part waited nor has datum 0 made room", pl.Makespan)
	}
	p.Nodes[1].Memory = 300
	if pl := plan(t, p); pl.Makespan != 60*ms {
		t.Errorf("makespan %v with room for all, want 60ms", pl.Makespan)
	}
}

// A task on two devices, 1 and 3 ms per item, the slow one on its own memory.
func TestDividedTask(t *testing.T) {
	link := devices.Link{Bandwidth: 1000} // 1 byte in 1 ms
	p := &Problem{
		Devices: []Device{{ID: "cpu:0"}, {ID: "cuda:0", Node: 1, Launch: 10 * ms}},
		Nodes:   make([]Node, 2),
		Links:   StarLinks([]devices.Link{{}, link}, []devices.Link{{}, link}),
		Data:    []Datum{{Bytes: 100, Nodes: []int{0}}, {Bytes: 100, Return: true}},
		Tasks: []Task{{
			Name: "a", Cost: run(100*ms, 300*ms), Reads: []Read{{Datum: 0, ByShare: true}}, Writes: []int{1}, Split: &Split{Items: 100},
		}},
	}
	pl := plan(t, p)
	// n items on the GPU: 10 + n (in) + 3n + n (out) = 100 − n, so n = 15.
	if got := items(pl, 0, 2); !slices.Equal(got, []int{85, 15}) {
		t.Errorf("divided %v, want 85 and 15", got)
	}
	if pl.Makespan != 85*ms {
		t.Errorf("makespan %v, want 85ms", pl.Makespan)
	}
	if pl.Tasks[0].Finish != 85*ms || len(pl.Transfers) != 2 || pl.Transfers[0].Hi-pl.Transfers[0].Lo != 15 {
		t.Errorf("ends at %v, transfers %+v", pl.Tasks[0].Finish, pl.Transfers)
	}
	// Fixed shares.
	p.Tasks[0].Split.Shares = []float64{0.5, 0.5}
	if got := items(plan(t, p), 0, 2); !slices.Equal(got, []int{50, 50}) {
		t.Errorf("halves %v", got)
	}
	// A device that would not help gets nothing.
	p.Tasks[0].Split.Shares = nil
	p.Devices[1].Launch = 200 * ms
	if got := items(plan(t, p), 0, 2); !slices.Equal(got, []int{100, 0}) {
		t.Errorf("launch of 200 ms: %v, want all on the CPU", got)
	}
	// Faces of one processor do not share.
	p.Devices[1].Launch = 0
	p.Devices[0].Resource, p.Devices[1].Resource = "cpu", "cpu"
	pl = plan(t, p)
	if got := items(pl, 0, 2); !slices.Equal(got, []int{100, 0}) || pl.Makespan != 100*ms {
		t.Errorf("one processor seen twice: %v, %v", got, pl.Makespan)
	}
}

// A device whose speed was guessed gets a first part that is small enough to
// bear if the guess is wrong: 1000 items/ms are known, the other device is
// thought to be as fast and does 10 items/ms after 5 ms.
func TestColdStart(t *testing.T) {
	const total = 1_000_000
	sure, guess := Estimate{Run: time.Second, Spread: 10 * ms, Source: "history"}, Estimate{Run: 900 * ms, Spread: 2 * time.Second, Source: "guess"}
	p := &Problem{
		Devices: []Device{{ID: "opencl:0"}, {ID: "opencl:1"}},
		Tasks:   []Task{{Name: "a", Cost: []Estimate{sure, guess}, Split: &Split{Items: total}}},
	}
	n := items(plan(t, p), 0, 2)
	if took := float64(n[1])/10 + 5; n[1] < 1000 || took > 2000 {
		t.Errorf("divided %v: the slow device takes %.0f ms in truth, want at most 2000", n, took)
	}
	// Twins of which nothing is known share evenly.
	p.Tasks[0].Cost = []Estimate{guess, guess}
	if n := items(plan(t, p), 0, 2); n[0] != total/2 {
		t.Errorf("twins: %v", n)
	}
	// Known to be slow: the best division, of which the planner sees that it
	// gains too little.
	p.Devices[0].Launch, p.Devices[1].Launch = 200*time.Microsecond, 5*ms
	p.Tasks[0].Cost = []Estimate{sure, {Run: 100 * time.Second, Spread: time.Second, Source: "history"}}
	if pl := plan(t, p); pl.Makespan > 1001*ms {
		t.Errorf("warm: %v", pl.Makespan)
	}
}

// What was measured at this very size is no guess, however much it varied: the
// faster face of a processor gets the task.
func TestNoisyMeasureIsNoGuess(t *testing.T) {
	p := &Problem{
		Devices: []Device{{ID: "cpu:0", Resource: "host"}, {ID: "opencl:0", Resource: "host"}},
		Tasks: []Task{{Name: "a", Split: &Split{Items: 1000}, Cost: []Estimate{
			{Run: 10 * ms, Spread: 11 * ms, Source: "history"}, {Run: 90 * ms, Spread: ms, Source: "history"}}}},
	}
	if pl := plan(t, p); pl.Makespan != 10*ms {
		t.Errorf("makespan %v, want 10 ms on cpu:0", pl.Makespan)
	}
}

// A chain of divided tasks keeps its cut: halos move, the rest stays.
func TestChainKeepsItsCut(t *testing.T) {
	link := devices.Link{Latency: 10 * time.Microsecond, Bandwidth: 1e9}
	links := []devices.Link{{}, link, link}
	p := &Problem{
		Devices: []Device{{ID: "cuda:0", Node: 1}, {ID: "cuda:1", Node: 2}},
		Nodes:   make([]Node, 3),
		Links:   StarLinks(links, links),
		Data:    []Datum{{Bytes: 1e6, Nodes: []int{0}}},
	}
	const steps = 20
	for i := range steps {
		p.Data = append(p.Data, Datum{Bytes: 1e6, Return: i == steps-1})
		p.Tasks = append(p.Tasks, Task{
			Name: "step", Cost: run(20*ms, 60*ms), Split: &Split{Items: 1000},
			Reads: []Read{{Datum: i, ByShare: true, Halo: 1000}}, Writes: []int{i + 1},
		})
	}
	pl := plan(t, p)
	var moved int64
	for _, x := range pl.Transfers {
		moved += x.Hi - x.Lo
	}
	// The whole in (and a halo), the whole out, two halos of one row each step;
	// later steps may trim a cut by a little.
	if moved > 2e6+1e3*(2*steps+2)+2e4 {
		t.Errorf("%d bytes moved in %d transfers", moved, len(pl.Transfers))
	}
	if want := steps * 15 * ms; pl.Makespan < want || pl.Makespan > want*11/10 {
		t.Errorf("makespan %v, the devices together need %v", pl.Makespan, want)
	}
}

// A task whose data fit on no device alone is divided over several; one that
// cannot be is refused with the numbers.
func TestTooLargeForOneDevice(t *testing.T) {
	link := devices.Link{Bandwidth: 1e9}
	links := []devices.Link{{}, link, link}
	p := &Problem{
		Devices: []Device{{ID: "cuda:0", Node: 1}, {ID: "cuda:1", Node: 2}},
		Nodes:   []Node{{}, {Memory: 1500}, {Memory: 1000}},
		Links:   StarLinks(links, links),
		Data:    []Datum{{Bytes: 1000, Nodes: []int{0}}, {Bytes: 1000}},
		Tasks: []Task{{
			Name: "big", Cost: run(ms, 10*ms), Split: &Split{Items: 1000},
			Reads: []Read{{Datum: 0, ByShare: true}}, Writes: []int{1},
		}},
	}
	pl := plan(t, p)
	if n := items(pl, 0, 2); n[0] > 750 || n[1] > 500 || n[0] < 700 {
		t.Errorf("divided %v, the memories take 750 and 500 items", n)
	}
	p.Tasks[0].Split = nil
	_, err := HEFT(p)
	if want := `task "big": no device can run it: cuda:0: its data need 2000 bytes, the memory has 1500; cuda:1: its data need 2000 bytes, the memory has 1000`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A memory that holds two of three data in turn: the least recently used goes,
// and what is nowhere else is written back.
func TestEviction(t *testing.T) {
	link := devices.Link{Bandwidth: 1e6} // 1 byte in 1 µs
	p := &Problem{
		Devices: []Device{{ID: "cuda:0", Node: 1}},
		Nodes:   []Node{{}, {Memory: 250}},
		Links:   StarLinks([]devices.Link{{}, link}, []devices.Link{{}, link}),
		Data:    []Datum{{Bytes: 100}, {Bytes: 100}, {Bytes: 100}, {Bytes: 50}},
	}
	cost := []Estimate{{Run: ms}}
	p.Tasks = []Task{
		{Name: "a", Cost: cost, Writes: []int{0}},
		{Name: "b", Cost: cost, Writes: []int{1}, After: []int{0}},
		{Name: "c", Cost: cost, Writes: []int{2}, After: []int{1}},
		{Name: "d", Cost: cost, Reads: []Read{{Datum: 0}, {Datum: 2}}, Writes: []int{3}},
		{Name: "e", Cost: cost, Reads: []Read{{Datum: 1}, {Datum: 3}}},
	}
	pl := plan(t, p)
	if len(pl.Evictions) < 2 || pl.Evictions[0].Datum != 0 || pl.Evictions[1].Datum != 1 {
		t.Errorf("evictions %+v, want a's datum first, then b's", pl.Evictions)
	}
	back, again := 0, 0
	for _, x := range pl.Transfers {
		if x.To == 0 {
			back++
		} else {
			again++
		}
	}
	if back != 2 || again != 2 {
		t.Errorf("%d write-backs, %d fetches; want 2 and 2: %+v", back, again, pl.Transfers)
	}
	p.Nodes[1].Memory = 0
	if free := plan(t, p); len(free.Evictions) != 0 || free.Makespan != 5*ms || pl.Makespan <= free.Makespan {
		t.Errorf("without a limit %v with %d evictions, with one %v", free.Makespan, len(free.Evictions), pl.Makespan)
	}
}

// Two consumers on one node pay one transfer, and a device with one copy engine
// takes its inputs one after another.
func TestTransfers(t *testing.T) {
	link := devices.Link{Bandwidth: 1000}
	p := &Problem{
		Devices: []Device{{ID: "cuda:0", Node: 1}},
		Nodes:   make([]Node, 2),
		Links:   StarLinks([]devices.Link{{}, link}, []devices.Link{{}, link}),
		Data:    []Datum{{Bytes: 10, Nodes: []int{0}}, {Bytes: 10, Nodes: []int{0}}},
		Tasks: []Task{
			{Name: "a", Cost: []Estimate{{Run: 5 * ms}}, Reads: []Read{{Datum: 0}, {Datum: 1}}},
			{Name: "b", Cost: []Estimate{{Run: 5 * ms}}, Reads: []Read{{Datum: 0}}},
		},
	}
	pl := plan(t, p)
	if len(pl.Transfers) != 2 || pl.Makespan != 20*ms {
		t.Errorf("independent links: %d transfers, %v; want 2, 20ms", len(pl.Transfers), pl.Makespan)
	}
	c := pl.Tasks[pl.Order[0]].Candidates[0]
	if c.Move != 10*ms || c.Wait != 0 || c.Run != 5*ms || c.Finish != 15*ms {
		t.Errorf("candidate %+v, want move 10, wait 0, run 5, finish 15 ms", c)
	}
	p.Contention = true
	if pl = plan(t, p); len(pl.Transfers) != 2 || pl.Tasks[0].Finish != 25*ms {
		t.Errorf("one copy engine: %d transfers, a ends at %v; want 2, 25ms", len(pl.Transfers), pl.Tasks[0].Finish)
	}
}

// Shares that were asked for stay however much sooner one device would be done,
// alone and in the middle of tasks that have a choice.
func TestFixedSharesStay(t *testing.T) {
	p := &Problem{
		Devices: []Device{{ID: "fast:0"}, {ID: "slow:0"}},
		Nodes:   make([]Node, 1),
		Links:   StarLinks([]devices.Link{{}}, []devices.Link{{}}),
		Data:    []Datum{{Bytes: 100, Nodes: []int{0}}, {Bytes: 100}, {Bytes: 100}, {Bytes: 100}},
	}
	for i := range 3 {
		p.Tasks = append(p.Tasks, Task{Name: string(rune('a' + i)), Cost: run(10*ms, 1000*ms), Reads: []Read{{Datum: i}}, Writes: []int{i + 1}})
	}
	p.Tasks[1].Split = &Split{Items: 100, Shares: []float64{0.1, 0.9}}
	pl := plan(t, p)
	for seed := range uint64(20) {
		better, err := Improve(p, pl, seed, 2000)
		if err != nil {
			t.Fatal(err)
		}
		if err := better.Validate(p); err != nil {
			t.Fatal(err)
		}
		if got := items(better, 1, 2); !slices.Equal(got, []int{10, 90}) {
			t.Errorf("seed %d: divided %v, want 10 and 90 as asked for", seed, got)
		}
	}
}
