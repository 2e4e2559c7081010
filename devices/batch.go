package devices

// A Batcher runs whole graphs of launches by itself. The host hands over all of
// them at once and takes no part in their order, which is what makes tasks of a
// microsecond worth having.
type Batcher interface {
	// RunBatch starts b and returns. An error says that b is not valid, and
	// that nothing of it runs; else b.Host.Over is called at the end, once.
	// The device is not to be closed before that.
	RunBatch(b *Batch) error
}

// A Batch is launches with the order between them, laid out for many small
// ones: tasks that differ in nothing but their buffers share a form. The driver
// changes nothing in it; several runs may use one Forms, Tasks, Args and Next.
type Batch struct {
	// Forms are launches in full. A task takes over everything but the
	// buffers: where an argument of its form has one, the task has its own.
	Forms   []Launch
	Buffers []Buffer
	Tasks   []BatchTask
	// Args are the tasks' buffers, as positions in Buffers: for each task in
	// turn one for every argument of its form that has a buffer.
	Args []int32
	// Next are the tasks' successors, for each task in turn. A successor comes
	// after its task in Tasks.
	Next []int32
	Host BatchHost
}

// A BatchTask is one launch of a batch. Its Args and Next begin at the given
// positions; its Next ends where those of the task after it begin.
type BatchTask struct {
	Form, Args, Next int32
	Waits            int32 // how many tasks have it among their Next
}

// Successors are the tasks that come after task t, a part of Next.
func (b *Batch) Successors(t int32) []int32 {
	if int(t)+1 < len(b.Tasks) {
		return b.Next[b.Tasks[t].Next:b.Tasks[t+1].Next]
	}
	return b.Next[b.Tasks[t].Next:]
}

// A BatchHost watches a batch. Its methods are called on the device's workers,
// several at a time, and must not wait for anything of the device.
type BatchHost interface {
	// Begin is asked before each task: an error ends the task with it instead
	// of running it.
	Begin(task int32) error
	// Ended tells that a task is over. worker is less than the device's number
	// of compute units, and the same for two calls only if one comes after the
	// other. Of a task that has not run the times are zero.
	Ended(worker int, task int32, t Times, err error)
	// Needs is asked whether a successor needs what task makes: if task fails,
	// the successor must not run. One that does not only has to come after it.
	Needs(task, successor int32) bool
	// Barred is the error with which a task ends that does not run, since one
	// that it needs ended with err.
	Barred(err error) error
	// Over tells that every task is over. It is the last call.
	Over()
}
