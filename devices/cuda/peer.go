package cuda

import (
	"unsafe"

	"github.com/tandemrun/tandem/devices"
)

// poolAccess is CUmemAccessDesc: who may reach a pool's memory.
type poolAccess struct {
	locationType, location, flags int32
}

// CanCopyFrom implements devices.PeerCopier: the two GPUs have to reach each
// other's memory over the bus or NVLink. Others are better served by the
// runtime's own way through the host, which hides behind other work.
func (d *device) CanCopyFrom(other devices.Device) bool {
	from, ok := devices.As[*device](other)
	if !ok || from.api != d.api {
		return false
	}
	if from.handle == d.handle {
		return from.ctx == d.ctx
	}
	d.mu.Lock()
	can, known := d.peers[from]
	d.mu.Unlock()
	if known {
		return can
	}
	can = d.reach(from)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.peers == nil {
		d.peers = map[*device]bool{}
	}
	d.peers[from] = can
	return can
}

// reach lets this device reach the other's memory, if it can.
func (d *device) reach(from *device) bool {
	can := new(int32)
	if d.api.call(d.api.deviceCanAccessPeer, uintptr(unsafe.Pointer(can)), uintptr(d.handle), uintptr(from.handle)) != success || *can == 0 {
		return false
	}
	if d.usable("peer access") != nil || d.enter() != nil {
		return false
	}
	code := d.api.call(d.api.ctxEnablePeerAccess, from.ctx, 0)
	d.leave()
	if code != success && code != codePeerEnabled {
		return false
	}
	if from.traits.pools {
		// A pool says for itself who may reach its memory.
		const onDevice, readWrite = 1, 3
		access := &poolAccess{onDevice, d.handle, readWrite}
		pool := from.defaultPool()
		return pool != 0 && d.api.poolSetAccess != 0 && d.api.call(d.api.poolSetAccess, pool, uintptr(unsafe.Pointer(access)), 1) == success
	}
	return true
}
