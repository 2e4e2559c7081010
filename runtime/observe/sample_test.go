package observe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tandemrun/tandem/devices"
	tandem "github.com/tandemrun/tandem/runtime"
)

const us = time.Microsecond

// feed plays events into a recorder.
func feed(started tandem.RunStarted, launches []tandem.LaunchEvent, copies []tandem.CopyEvent, finished *tandem.RunFinished) *Recorder {
	r := new(Recorder)
	o := r.Observer()
	o.RunStarted(started)
	for _, e := range launches {
		o.Launched(e)
	}
	for _, e := range copies {
		o.Copied(e)
	}
	if finished != nil {
		o.RunFinished(*finished)
	}
	return r
}

func times(from, to time.Duration) devices.Times {
	return devices.Times{Queued: from - 20*us, Submitted: from - 10*us, Start: from, End: to}
}

func rows(n, offset int) devices.NDRange {
	return devices.NDRange{Dims: 2, Size: [3]int{1000, n}, Offset: [3]int{0, offset}, Whole: [3]int{1000, 872}}
}

// edgesRun is a small run of four tasks, all but the first split between the
// host's cores, which work in place, and a device with memory of its own.
func edgesRun() Recording {
	const t0 = 5 * time.Second
	devs := []devices.Info{
		{ID: "cpu:0", Backend: "cpu", Kind: devices.KindCPU, Name: "AMD EPYC 7B13, 2 cores"},
		{ID: "opencl:0", Backend: "opencl", Kind: devices.KindGPU, Name: "Intel(R) Arc(TM) A770 Graphics"},
	}
	tasks := []tandem.TaskInfo{
		{ID: 0, Name: "gray", Kernel: "image.gray"},
		{ID: 1, Name: "blur", Kernel: "image.blur", After: []int{0}},
		{ID: 2, Name: "sobel", Kernel: "image.sobel", After: []int{1}},
		{ID: 3, Name: "threshold", Kernel: "image.threshold", After: []int{2}},
	}
	var launches []tandem.LaunchEvent
	var copies []tandem.CopyEvent
	op := tandem.OpID(0)
	launch := func(task, part, parts int, device string, r devices.NDRange, from, to time.Duration, after ...tandem.OpID) tandem.OpID {
		op++
		zero := int64(0)
		if device == "cpu:0" {
			zero = r.Items() * 4
		}
		launches = append(launches, tandem.LaunchEvent{Run: 1, Op: op, After: after, Task: task, Name: tasks[task].Name, Kernel: tasks[task].Kernel,
			Part: part, Parts: parts, Device: device, Queue: "compute#0", Range: r, ZeroCopy: zero, Times: times(t0+from, t0+to)})
		return op
	}
	move := func(task int, buffer, from, to, queue string, bytes int64, zero bool, start, end time.Duration, after ...tandem.OpID) tandem.OpID {
		op++
		device := to
		if device == "host" {
			device = from
		}
		copies = append(copies, tandem.CopyEvent{Run: 1, Op: op, After: after, Task: task, Buffer: buffer, Bytes: bytes, From: from, To: to,
			ZeroCopy: zero, Device: device, Queue: queue, Times: times(t0+start, t0+end)})
		return op
	}
	up := move(0, "photo", "host", "opencl:0", "upload#0", 1744000, false, 100*us, 420*us)
	sync := move(0, "photo", "host", "cpu:0", "upload#0", 872000, true, 100*us, 102*us)
	g0 := launch(0, 0, 2, "cpu:0", rows(290, 0), 120*us, 800*us, sync)
	g1 := launch(0, 1, 2, "opencl:0", rows(582, 290), 430*us, 790*us, up)
	halo := move(1, "gray", "host", "opencl:0", "upload#0", 2000, false, 805*us, 830*us, g0)
	back := move(1, "gray", "opencl:0", "host", "download#0", 2000, false, 800*us, 820*us, g1)
	b0 := launch(1, 0, 2, "cpu:0", rows(290, 0), 825*us, 2600*us, g0, back)
	b1 := launch(1, 1, 2, "opencl:0", rows(582, 290), 835*us, 2550*us, g1, halo)
	halo2 := move(2, "blurred", "host", "opencl:0", "upload#0", 1000, false, 2605*us, 2620*us, b0)
	back2 := move(2, "blurred", "opencl:0", "host", "download#0", 1000, false, 2555*us, 2570*us, b1)
	s0 := launch(2, 0, 2, "cpu:0", rows(290, 0), 2602*us, 3700*us, b0, back2)
	s1 := launch(2, 1, 2, "opencl:0", rows(582, 290), 2625*us, 3650*us, b1, halo2)
	t1 := launch(3, 1, 2, "opencl:0", rows(582, 290), 3655*us, 3800*us, s1)
	t0p := launch(3, 0, 2, "cpu:0", rows(290, 0), 3702*us, 3900*us, s0)
	_ = move(-1, "edges", "opencl:0", "host", "download#0", 582000, false, 3805*us, 3980*us, t1)
	_ = t0p
	return feed(tandem.RunStarted{Run: 1, Name: "edges", Tasks: tasks, Devices: devs, At: t0}, launches, copies,
		&tandem.RunFinished{Run: 1, At: t0 + 4*time.Millisecond}).Recording()
}

// hostileName would break out of any place that does not escape it.
const hostileName = "</script><img src=x onerror=\"document.body.dataset.errors='9'\"> & \"quotes\" 'n' {{.}} \u2028"

// bigRun is a run of n tasks on three devices, drawn by chance: queues that
// overlap, a failed launch, faults, and names that want to do harm.
func bigRun(n int, seed uint64) Recording {
	rng := rand.New(rand.NewPCG(seed, 1))
	devs := []devices.Info{
		{ID: "cpu:0", Backend: "cpu", Name: "host"}, {ID: "cuda:0", Backend: "cuda", Name: hostileName}, {ID: "cuda:1", Backend: "cuda", Name: "NVIDIA H200"},
	}
	var tasks []tandem.TaskInfo
	kernels := []string{"linalg.gemm", "linalg.potrf", "linalg.trsm", "linalg.syrk", "stencil.jacobi2d", "vector.add", "dot", "nbody.step", "scale", hostileName}
	for i := range n {
		t := tandem.TaskInfo{ID: i, Name: fmt.Sprintf("task-%d", i), Kernel: kernels[rng.IntN(len(kernels))]}
		for range rng.IntN(3) {
			if i > 0 {
				t.After = append(t.After, max(0, i-1-rng.IntN(40)))
			}
		}
		tasks = append(tasks, t)
	}
	tasks[0].Name = hostileName
	r := feed(tandem.RunStarted{Run: 1, Name: hostileName, Tasks: tasks, Devices: devs, At: time.Second}, nil, nil, nil)
	o := r.Observer()
	ready := map[string]time.Duration{}
	ended := make([]time.Duration, n)
	for i, t := range tasks {
		d := devs[rng.IntN(3)].ID
		queue := fmt.Sprintf("compute#%d", rng.IntN(2))
		begin := max(ready[d+queue], time.Second)
		var after []tandem.OpID
		for _, a := range t.After {
			begin = max(begin, ended[a])
			after = append(after, tandem.OpID(a+1))
		}
		if rng.IntN(3) == 0 {
			op := tandem.OpID(n + i + 1)
			took := time.Duration(rng.IntN(90)) * us
			o.Copied(tandem.CopyEvent{Run: 1, Op: op, After: after, Task: i, Buffer: fmt.Sprintf("tile%d", i), Bytes: 1 << 16, From: "host", To: d,
				ZeroCopy: d == "cpu:0", Device: d, Queue: "upload#0", Times: times(begin-took, begin)})
			after = append(after, op)
		}
		ended[i] = begin + time.Duration(1+rng.IntN(300))*us
		ready[d+queue] = ended[i] - time.Duration(rng.IntN(100)/98)*30*us // now and then they overlap
		e := tandem.LaunchEvent{Run: 1, Op: tandem.OpID(i + 1), After: after, Task: i, Name: t.Name, Kernel: t.Kernel, Parts: 1, Device: d, Queue: queue,
			Range: devices.NDRange{Dims: 1, Size: [3]int{4096}}, Times: times(begin, ended[i])}
		if i == n/2 {
			e.Err = errors.New("cuLaunchKernel: " + hostileName)
		}
		o.Launched(e)
	}
	o.Faulted(tandem.FaultEvent{Run: 1, Task: n / 2, Device: "cuda:0", Err: errors.New(hostileName), Action: "retried elsewhere", At: time.Second + 40*us})
	o.RunFinished(tandem.RunFinished{Run: 1, At: ended[n-1] + 10*us, Err: errors.New("failed: " + hostileName)})
	return r.Recording()
}
