package opencl

import (
	"fmt"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// TestWiderLaunches has launches of one kernel run on two queues of which later
// ones have an offset and wider ranges, and end first: of the others one group
// takes long: what PoCL is kept from has no chance to happen, and all of them
// run all the same.
func TestWiderLaunches(t *testing.T) {
	d := open(t, 0)
	q := [2]*queue{newQueue(t, d), newQueue(t, d)}
	const cells, rounds, turns = 512, 2, 3
	for round := range rounds {
		// Of another text, so that there is no build of it yet.
		name := fmt.Sprintf("wider%d", round)
		k := kernelOf(t, compile(t, d, "__kernel void "+name+"(__global int *x, int spins) {\n"+
			"  volatile int v = 0;\n  for (int i = get_global_id(0) < 8 ? spins : 0; i > 0; i--) v += i;\n"+
			"  atomic_inc(&x[get_global_id(0)]);\n}"), name)
		x := alloc(t, d, 4*cells)
		upload(t, q[0], x, make([]byte, 4*cells))
		want := make([]int32, cells)
		var events []devices.Event
		for turn := range turns {
			for i, r := range []devices.NDRange{
				{Size: [3]int{64}},
				{Size: [3]int{64 + 8*turn}, Offset: [3]int{64}},
				{Size: [3]int{64}},
				{Size: [3]int{96 * turn}},
			} {
				r.Dims, r.Local = 1, [3]int{8}
				l := &devices.Launch{Kernel: k, Range: r, Args: []devices.Arg{{Buffer: x}, {Value: devices.AsBytes([]int32{20_000_000 >> (8 * turn)})}}}
				e, err := q[(i+turn)%2].Launch(l, nil)
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, e)
				for c := r.Offset[0]; c < r.Offset[0]+r.Size[0]; c++ {
					want[c]++
				}
			}
		}
		for _, o := range q {
			if err := o.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range events {
			if err := devices.Wait(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			e.Release()
		}
		got := ints(download(t, q[0], x))
		for c := range want {
			if got[c] != want[c] {
				t.Fatalf("round %d: cell %d was counted %d times, want %d", round, c, got[c], want[c])
			}
		}
	}
	if n := d.open[kindEvent].Load(); n != 0 {
		t.Errorf("%d events are open", n)
	}
}

func TestWidens(t *testing.T) {
	for _, c := range []struct {
		platform, version string
		want              bool
	}{
		{"Portable Computing Language", "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts", true},
		{"Portable Computing Language", "OpenCL 2.0 pocl 1.8  Linux", true},
		{"Portable Computing Language", "OpenCL 3.0 PoCL 5.0  Linux", true},
		{"Portable Computing Language", "OpenCL 3.0 PoCL 6.0  Linux", false},
		{"Portable Computing Language", "OpenCL 3.0 PoCL 10.1  Linux", false},
		{"Portable Computing Language", "OpenCL 3.0", true},
		{"Intel(R) OpenCL", "OpenCL 3.0 LINUX", false},
	} {
		if got := widens(c.platform, c.version); got != c.want {
			t.Errorf("widens(%q, %q) = %v, want %v", c.platform, c.version, got, c.want)
		}
	}
}

// TestTwinBuilds: devices that are open at the same time share no build of PoCL, and
// what they add to their options is theirs alone; the number of one that was
// closed is used again.
func TestTwinBuilds(t *testing.T) {
	first := open(t, 0)
	if !first.traits.widens {
		t.Skip("no PoCL with the fault")
	}
	second, third := open(t, 0), open(t, 0)
	seen := map[string]bool{first.twinOption(): true, second.twinOption(): true, third.twinOption(): true}
	if len(seen) != 3 {
		t.Errorf("three devices add %v", seen)
	}
	freed := second.twin
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	second = open(t, 0)
	if second.twin != freed {
		t.Errorf("the next device has number %d, want %d, which is free", second.twin, freed)
	}
	// The definition reaches the compiler, and does no harm.
	k := kernelOf(t, compile(t, second, "__kernel void k(__global int *x) { x[0] = tandem_twin; }"), "k")
	x, q := alloc(t, second, 4), newQueue(t, second)
	launch(t, q, &devices.Launch{Kernel: k, Range: devices.NDRange{Dims: 1, Size: [3]int{1}}, Args: []devices.Arg{{Buffer: x}}})
	if got := ints(download(t, q, x))[0]; got != int32(second.twin) {
		t.Errorf("the kernel was built with number %d, want %d", got, second.twin)
	}
}
