package cpu

// begin enters a batch among those that workers look for work in.
func (p *pool) begin(r *batch) {
	p.batchMu.Lock()
	r.after = p.batch
	if p.batch != nil {
		p.batch.before = r
	}
	p.batch = r
	p.batches.Add(1)
	p.batchMu.Unlock()
	for range min(len(r.b.Tasks), len(p.workers)) {
		if !p.wakeUp() {
			break
		}
	}
}

// end takes out a batch of which every task is over.
func (p *pool) end(r *batch) {
	p.batchMu.Lock()
	if r.before != nil {
		r.before.after = r.after
	} else {
		p.batch = r.after
	}
	if r.after != nil {
		r.after.before = r.before
	}
	p.batches.Add(-1)
	p.batchMu.Unlock()
}

// findTask looks for a ready task in every batch.
func (p *pool) findTask(w *worker) (*batch, int32) {
	if p.batches.Load() == 0 {
		return nil, -1
	}
	p.batchMu.Lock()
	list := w.batches[:0]
	for r := p.batch; r != nil; r = r.after {
		list = append(list, r)
	}
	p.batchMu.Unlock()
	w.batches = list
	defer clear(list)
	for i := range list { // in turn, so that none starves
		r := list[(int(w.tick)+i)%len(list)]
		if t := r.take(w); t >= 0 {
			return r, t
		}
	}
	return nil, -1
}

func (p *pool) batchWork() bool {
	if p.batches.Load() == 0 {
		return false
	}
	p.batchMu.Lock()
	defer p.batchMu.Unlock()
	for r := p.batch; r != nil; r = r.after {
		if r.hasWork() {
			return true
		}
	}
	return false
}
