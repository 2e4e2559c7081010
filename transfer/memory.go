package transfer

import (
	"container/list"
	"errors"
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// Memory is the memory of one device: it makes the replicas of buffers there
// and knows which was used longest ago. It is not safe for concurrent use.
type Memory struct {
	device devices.Device
	id     string
	mapper devices.HostMapper // nil: the device cannot work on host pages
	limit  int64              // bytes; 0: only what the device itself allows
	used   int64
	lru    list.List // of *Replica, least recently used first; not those that are imported or have no owner
}

// Replica is a buffer's memory on one device.
type Replica struct {
	Buffer   devices.Buffer
	Imported bool // the host's own pages
	Owner    any  // whose replica it is; nil: a window for one launch, which is never evicted
	Bytes    int64
	at       *list.Element
}

// NewMemory manages the memory of d, at most limit bytes of it (0: all).
func NewMemory(d devices.Device, limit int64) *Memory {
	m := &Memory{device: d, id: d.Info().ID, limit: limit}
	if d.Info().UnifiedMemory {
		m.mapper, _ = devices.As[devices.HostMapper](d)
	}
	return m
}

// Used is the number of bytes allocated on the device, without imported pages.
func (m *Memory) Used() int64 { return m.used }

// Limit is the most that may be allocated, 0 if only the device bounds it.
func (m *Memory) Limit() int64 { return m.limit }

// Make makes a replica of size bytes: the host's pages where the device can
// work on them, its own memory otherwise. Its contents are undefined unless it
// is imported. ErrOutOfMemory: free something (Oldest) and try again.
func (m *Memory) Make(host []byte, size int64, owner any) (*Replica, error) {
	if m.mapper != nil && len(host) > 0 {
		b, err := m.mapper.ImportHost(host)
		if err == nil {
			return &Replica{Buffer: b, Imported: true, Owner: owner, Bytes: size}, nil
		}
		if !errors.Is(err, devices.ErrUnsupported) {
			return nil, err
		}
	}
	if m.limit > 0 && m.used+size > m.limit {
		return nil, fmt.Errorf("%s: %d bytes of %d in use, %d more asked for: %w", m.id, m.used, m.limit, size, devices.ErrOutOfMemory)
	}
	b, err := m.device.Alloc(size)
	if err != nil {
		return nil, err
	}
	m.used += size
	r := &Replica{Buffer: b, Owner: owner, Bytes: size}
	if owner != nil {
		r.at = m.lru.PushBack(r)
	}
	return r, nil
}

// Touch marks r as used now.
func (m *Memory) Touch(r *Replica) {
	if r.at != nil {
		m.lru.MoveToBack(r.at)
	}
}

// Oldest is the replica that was used longest ago and that keep does not
// protect; nil if there is none.
func (m *Memory) Oldest(keep func(*Replica) bool) *Replica {
	for e := m.lru.Front(); e != nil; e = e.Next() {
		if r := e.Value.(*Replica); !keep(r) {
			return r
		}
	}
	return nil
}

// Free gives r back. No operation may still use it.
func (m *Memory) Free(r *Replica) error {
	if r.at != nil {
		m.lru.Remove(r.at)
		r.at = nil
	}
	if !r.Imported {
		m.used -= r.Bytes
		r.Bytes = 0
	}
	return r.Buffer.Free()
}
