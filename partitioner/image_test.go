package partitioner

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// twoImages are tasks that need images a and b in turn, on a reconfigurable
// device and on a slow one.
func twoImages(n int, load, slow time.Duration) *Problem {
	p := &Problem{Devices: []Device{{ID: "fpga:0", Image: "a"}, {ID: "cpu:0"}}}
	for i := range n {
		p.Tasks = append(p.Tasks, Task{Name: fmt.Sprint("t", i), Cost: []Estimate{
			{Run: time.Millisecond, Image: string(rune('a' + i%2)), Load: load}, {Run: slow},
		}})
	}
	return p
}

// TestLoadingIsCharged holds that a plan counts the loading of images: tasks of
// the image that is loaded stay, those of another go where nothing is loaded
// unless that takes longer.
func TestLoadingIsCharged(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		load, slow time.Duration
		want       string // device by task
	}{
		{100 * ms, 5 * ms, "0 1 0 1"}, // loading b never pays
		{ms, 50 * ms, "0 0 0 0"},      // it always does
	} {
		p := twoImages(4, c.load, c.slow)
		// One after the other, so that nothing is won by doing two at once.
		for i := 1; i < len(p.Tasks); i++ {
			p.Tasks[i].After = []int{i - 1}
		}
		pl, err := HEFT(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := pl.Validate(p); err != nil {
			t.Errorf("loading %v: %v", c.load, err)
		}
		var on []string
		loads := 0
		for _, pm := range pl.Tasks {
			on = append(on, fmt.Sprint(pm.Shares[0].Device))
			if pm.Shares[0].Load > 0 {
				loads++
			}
		}
		if got := strings.Join(on, " "); got != c.want {
			t.Errorf("loading %v: devices %s, want %s", c.load, got, c.want)
		}
		if c.load == ms && (loads != 3 || pl.Makespan != 7*ms) {
			t.Errorf("%d loads, makespan %v; want 3, 7ms", loads, pl.Makespan)
		}
	}
}

// TestLoadingIsBatched holds that the search puts tasks of one image next to
// each other.
func TestLoadingIsBatched(t *testing.T) {
	const ms = time.Millisecond
	p := twoImages(8, 10*ms, time.Hour)
	pl, err := HEFT(p)
	if err != nil {
		t.Fatal(err)
	}
	better, err := Improve(p, pl, 1, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := better.Validate(p); err != nil {
		t.Error(err)
	}
	if better.Makespan != 18*ms {
		t.Errorf("8 tasks of two images end at %v, HEFT's at %v; want 18ms: one load", better.Makespan, pl.Makespan)
	}
	// A plan that forgets a load, or makes one too many, is none.
	for t2 := range better.Tasks {
		sh := &better.Tasks[t2].Shares[0]
		old := *sh
		sh.Load = 10*ms - sh.Load
		if err := better.Validate(p); err == nil {
			t.Errorf("task %d with a load of %v passes", t2, sh.Load)
		}
		*sh = old
	}
}

// TestLoadingOfRandomTasks validates plans of tasks with dependencies, parts
// and images drawn by chance.
func TestLoadingOfRandomTasks(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 60 {
		p := &Problem{Devices: []Device{{ID: "fpga:0"}, {ID: "fpga:1", Image: "a"}, {ID: "cpu:0", Launch: time.Microsecond}}}
		for i := range 1 + rng.IntN(20) {
			task := Task{Name: fmt.Sprint("t", i)}
			image := string(rune('a' + rng.IntN(3)))
			for d := range 3 {
				e := Estimate{Run: time.Duration(1 + rng.IntN(1_000_000))}
				if d < 2 {
					e.Image, e.Load = image, time.Duration(rng.IntN(1_000_000))
				}
				task.Cost = append(task.Cost, e)
			}
			if i > 0 && rng.IntN(2) == 0 {
				task.After = []int{rng.IntN(i)}
			}
			if rng.IntN(2) == 0 {
				task.Split = &Split{Items: 1 + rng.IntN(1000), Grain: 1 + rng.IntN(64)}
			}
			p.Tasks = append(p.Tasks, task)
		}
		pl, err := HEFT(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := pl.Validate(p); err != nil {
			t.Fatal(err)
		}
		better, err := Improve(p, pl, seed, 500)
		if err != nil {
			t.Fatal(err)
		}
		if err := better.Validate(p); err != nil || better.Makespan > pl.Makespan {
			t.Fatalf("improved: %v, %v after %v", err, better.Makespan, pl.Makespan)
		}
	}
}
