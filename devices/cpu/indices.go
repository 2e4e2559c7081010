package cpu

import "sync/atomic"

// indices is a worker's own ready tasks, like deque.
type indices struct {
	top    atomic.Int64
	_      [56]byte
	bottom atomic.Int64
	ring   [indicesSize]atomic.Int32
	done   int64 // tasks that the worker has ended and not yet said so; its own
	_      [48]byte
}

const indicesSize = 512

// push adds t, unless the ring is full. For the owner.
func (q *indices) push(t int32) bool {
	b := q.bottom.Load()
	if b-q.top.Load() >= indicesSize {
		return false
	}
	q.ring[b%indicesSize].Store(t)
	q.bottom.Store(b + 1)
	return true
}

// pop takes the newest, -1 if there is none. For the owner.
func (q *indices) pop() int32 {
	b := q.bottom.Load() - 1
	if b < q.top.Load() { // nothing there, and nobody else adds
		return -1
	}
	q.bottom.Store(b)
	t := q.top.Load()
	if t > b {
		q.bottom.Store(b + 1)
		return -1
	}
	i := q.ring[b%indicesSize].Load()
	if t == b { // the last one: a thief may be at it
		if !q.top.CompareAndSwap(t, t+1) {
			i = -1
		}
		q.bottom.Store(b + 1)
	}
	return i
}

// steal takes the oldest, -1 if there is none or another one was faster.
func (q *indices) steal() int32 {
	t := q.top.Load()
	if t >= q.bottom.Load() {
		return -1
	}
	i := q.ring[t%indicesSize].Load()
	if !q.top.CompareAndSwap(t, t+1) {
		return -1
	}
	return i
}

func (q *indices) empty() bool { return q.top.Load() >= q.bottom.Load() }
