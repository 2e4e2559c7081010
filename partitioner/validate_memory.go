package partitioner

import (
	"cmp"
	"slices"
	"time"
)

// change is memory that a version of a buffer, or scratch, takes (bytes > 0) or
// gives back on a node.
type change struct {
	at     time.Duration
	buffer int // 0: of its own
	datum  int // -1: scratch
	bytes  int64
}

// memory checks that no node holds more than it has. Versions of one buffer on
// a node count once, as the largest of them.
func (c *check) memory() error {
	for n := range c.Nodes {
		if n == 0 || c.Nodes[n].Memory <= 0 {
			continue
		}
		if err := c.nodeMemory(n); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) nodeMemory(n int) error {
	var changes []change
	for d := range c.copies {
		for _, r := range c.copies[d] {
			if r.node != n {
				continue
			}
			changes = append(changes, change{r.alloc, c.Data[d].Buffer, d, r.hi - r.lo})
			if r.until != never {
				changes = append(changes, change{r.until, c.Data[d].Buffer, d, r.lo - r.hi})
			}
		}
	}
	for t := range c.Tasks {
		for _, sh := range c.pl.Tasks[t].Shares {
			if s := c.Tasks[t].Scratch; s > 0 && c.node[sh.Device] == n {
				changes = append(changes, change{sh.Start, 0, -1, s}, change{sh.Finish, 0, -1, -s})
			}
		}
	}
	// Memory that is given back and taken at the same moment is the same memory.
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.bytes, b.bytes)) })
	held := map[int]map[int]int64{} // buffer, datum → bytes
	var used int64
	largest := func(versions map[int]int64) (m int64) {
		for _, b := range versions {
			m = max(m, b)
		}
		return m
	}
	for _, x := range changes {
		if x.buffer == 0 {
			used += x.bytes
		} else {
			v := held[x.buffer]
			if v == nil {
				v = map[int]int64{}
				held[x.buffer] = v
			}
			used -= largest(v)
			v[x.datum] += x.bytes
			used += largest(v)
		}
		if used > c.Nodes[n].Memory {
			return invalid("plan: node %d holds %d bytes at %v, it has %d", n, used, x.at, c.Nodes[n].Memory)
		}
	}
	return nil
}
