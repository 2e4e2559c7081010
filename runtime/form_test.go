package tandem_test

import (
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// TestAlike adds tasks that differ from the first in one respect, and looks
// whether they share its call, which they may only where they differ in nothing
// but their buffers, and whether each does its own work: y += scale*x + add.
func TestAlike(t *testing.T) {
	number := func(name string) kernels.Param {
		return kernels.Param{Name: name, Kind: kernels.Value, Type: kernels.Scalar(devices.Int32)}
	}
	k := goKernel("axpb", func(r devices.Range, a *devices.Args) {
		y, x := devices.Slice[int32](a, 0), devices.Slice[int32](a, 1)
		scale, add := devices.Value[int32](a, 2), devices.Value[int32](a, 3)
		for i := r.Lo[0]; i < r.Hi[0]; i++ {
			y[i] += scale*x[i] + add
		}
	}, param("y", kernels.ReadWrite), param("x", kernels.Read), number("scale"), number("add"))
	s := open(t, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}}})
	two := func(a, b int32) *tandem.Slice[int32] { return tandem.SliceOf(s, []int32{a, b}) }
	g := tandem.NewGraph()
	type task struct {
		what  string
		like  int // the task whose call it has
		y     *tandem.Slice[int32]
		first int32 // of y, in the end
	}
	var tasks []task
	add := func(what string, like int, first int32, y *tandem.Slice[int32], args ...any) {
		g.Add(k, args...)
		tasks = append(tasks, task{what, like, y, first})
	}
	y, x := two(100, 200), two(3, 4)
	add("the first", 0, 100+2*3+5, y, y, x, int32(2), int32(5))
	y2, x2 := two(0, 0), two(7, 8)
	add("other buffers", 0, 2*7+5, y2, y2, x2, int32(2), int32(5))
	y3 := two(1, 1)
	add("another number", 2, 1+4*3+5, y3, y3, x, int32(4), int32(5))
	y4 := two(1, 1)
	add("a number of another type", 3, 1+2*3+5, y4, y4, x, 2, int32(5))
	y5, x5 := tandem.SliceOf(s, []int32{1, 2, 3}), tandem.SliceOf(s, []int32{1, 1, 1})
	add("another shape", 4, 1+2+5, y5, y5, x5, int32(2), int32(5))
	y6 := two(10, 10)
	add("by name, in another order", 5, 10+2*3+5, y6, tandem.Named("x", x), tandem.Named("add", int32(5)), tandem.Named("y", y6), tandem.Named("scale", int32(2)))
	y7 := two(20, 20)
	add("by name again", 5, 20+2*7+5, y7, tandem.Named("x", x2), tandem.Named("add", int32(5)), tandem.Named("y", y7), tandem.Named("scale", int32(2)))
	y8 := two(30, 30)
	add("in a mode", 7, 30+2*3+5, y8, y8, tandem.In(x), int32(2), int32(5))
	y9 := two(1, 2)
	add("one buffer twice", 0, 1+2*1+5, y9, y9, y9, int32(2), int32(5))
	y10 := two(0, 0)
	add("like the first, later", 0, 2*4+5, y10, y10, tandem.SliceOf(s, []int32{4, 4}), int32(2), int32(5))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	calls := g.Calls()
	for i, task := range tasks {
		for j := range i {
			if shared, want := calls[i] == calls[j], task.like == tasks[j].like; shared != want {
				t.Errorf("task %d (%s) has the call of task %d (%s): %v, want %v", i, task.what, j, tasks[j].what, shared, want)
			}
		}
	}
	if err := submit(t, s, g).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if got := values(t, task.y)[0]; got != task.first {
			t.Errorf("%s: y[0] is %d, want %d", task.what, got, task.first)
		}
	}
}
