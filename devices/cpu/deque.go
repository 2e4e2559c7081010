package cpu

import "sync/atomic"

// deque is a worker's own ready commands: the worker pushes and pops at one
// end, others steal at the other (Chase and Lev, "Dynamic Circular
// Work-Stealing Deque", 2005, with a ring of fixed size).
type deque struct {
	top    atomic.Int64
	_      [56]byte
	bottom atomic.Int64
	ring   [dequeSize]atomic.Pointer[command]
}

const dequeSize = 256

// push adds c, unless the ring is full. For the owner.
func (q *deque) push(c *command) bool {
	b := q.bottom.Load()
	if b-q.top.Load() >= dequeSize {
		return false
	}
	q.ring[b%dequeSize].Store(c)
	q.bottom.Store(b + 1)
	return true
}

// pop takes the newest, nil if there is none. For the owner.
func (q *deque) pop() *command {
	b := q.bottom.Load() - 1
	q.bottom.Store(b)
	t := q.top.Load()
	if t > b {
		q.bottom.Store(b + 1)
		return nil
	}
	c := q.ring[b%dequeSize].Load()
	if t == b { // the last one: a thief may be at it
		if !q.top.CompareAndSwap(t, t+1) {
			c = nil
		}
		q.bottom.Store(b + 1)
	}
	return c
}

// steal takes the oldest, nil if there is none or another one was faster.
func (q *deque) steal() *command {
	t := q.top.Load()
	if t >= q.bottom.Load() {
		return nil
	}
	c := q.ring[t%dequeSize].Load()
	if !q.top.CompareAndSwap(t, t+1) {
		return nil
	}
	return c
}

func (q *deque) empty() bool { return q.top.Load() >= q.bottom.Load() }
