package strategy

import (
	"context"
	"errors"
	"fmt"

	tandem "github.com/tandemrun/tandem/runtime"
)

// Stream sends items through the pipeline in memory that does not depend on how
// many there are. feed is called with the number of each item, from 0 in order,
// and the bytes to fill in; it returns false to end the stream, without an item.
// take is called with the results in the same order. Both run on the caller's
// goroutine, never at the same time, while the devices work on the items in
// between; they must not keep the bytes.
//
// The first error, of feed, take or a task, ends the stream: what is under way is
// waited for and its results dropped. When ctx ends, so does the stream, with its
// cause.
func (p *Pipeline) Stream(ctx context.Context, feed func(item int, mem []byte) (more bool, err error), take func(item int, mem []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{p: p, lanes: make([]lane, p.depth*len(p.Groups)), feed: feed, take: take}
	err := s.run(ctx)
	cancel(err)
	// Whatever still runs uses the buffers; a cancelled run ends soon.
	for i := range s.lanes {
		if r := s.lanes[i].run; r != nil {
			<-r.Done()
		}
	}
	var free Temporaries
	for _, l := range s.lanes {
		for _, b := range []*tandem.Buffer{l.in, l.out} {
			if b != nil {
				free = append(free, b)
			}
		}
	}
	return errors.Join(err, free.Free())
}

// stream is one call of Stream. Item i travels in lane i modulo their number;
// there are enough of them for every device to have one at hand.
type stream struct {
	p     *Pipeline
	lanes []lane
	feed  func(int, []byte) (bool, error)
	take  func(int, []byte) error
}

// lane is a graph of one item with its ends, submitted again and again.
type lane struct {
	in, out *tandem.Buffer
	plan    *tandem.Plan
	run     *tandem.Run // of the item in the lane; nil: it is empty
}

func (s *stream) run(ctx context.Context) error {
	next, done := 0, 0
	for more := true; more || done < next; {
		if !more || next-done == len(s.lanes) {
			if err := s.finish(ctx, done); err != nil {
				return err
			}
			done++
			continue
		}
		var err error
		if more, err = s.start(ctx, next); err != nil {
			return err
		}
		if more {
			next++
		}
	}
	return nil
}

// open makes lane n ready for its first item.
func (s *stream) open(ctx context.Context, n int) error {
	l, p := &s.lanes[n], s.p
	if l.plan != nil {
		return nil
	}
	first, last := p.arrays[0], p.arrays[len(p.chain)]
	first.Name, last.Name = fmt.Sprintf("lane%d.in", n), fmt.Sprintf("lane%d.out", n)
	l.in, l.out = p.session.NewBuffer(first), p.session.NewBuffer(last)
	g := tandem.NewGraph().Named("pipeline")
	p.thread(g, n, l.in, l.out)
	var err error
	l.plan, err = p.session.Plan(ctx, g)
	return err
}

// start feeds item i and sends it off.
func (s *stream) start(ctx context.Context, i int) (more bool, err error) {
	n := i % len(s.lanes)
	if err := s.open(ctx, n); err != nil {
		return false, err
	}
	l := &s.lanes[n]
	err = l.in.Update(ctx, func(mem []byte) (err error) {
		more, err = s.feed(i, mem)
		return err
	})
	if err != nil || !more {
		return false, err
	}
	l.run, err = s.p.session.Start(ctx, l.plan)
	return err == nil, err
}

// finish takes the result of item i.
func (s *stream) finish(ctx context.Context, i int) error {
	l := &s.lanes[i%len(s.lanes)]
	if err := l.run.Wait(ctx); err != nil {
		return fmt.Errorf("item %d: %w", i, err)
	}
	l.run = nil
	return l.out.Read(ctx, func(mem []byte) error { return s.take(i, mem) })
}
