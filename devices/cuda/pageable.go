package cuda

import (
	"unsafe"

	"github.com/tandemrun/tandem/devices/internal/dl"
)

// The driver copies asynchronously from and to pinned memory only: a download
// to pageable memory holds the caller up until it is done, and an upload reads
// its source when it is enqueued and not when its turn comes. So a copy of
// pageable memory goes in chunks through a pinned piece of the queue, moved by
// the host when the stream has come so far. A single piece is enough: the
// stream keeps the order.

// bounceBytes is the size of the pinned piece.
const bounceBytes = 1 << 20

// upload enqueues the copy of host memory to the device.
func (q *queue) upload(dst uintptr, host []byte) error {
	if q.d.pinned.holds(host) {
		return q.toDevice(dst, unsafe.Pointer(&host[0]), len(host))
	}
	piece := q.piece()
	if piece == nil {
		return q.toDevice(dst, unsafe.Pointer(&host[0]), len(host))
	}
	for at := 0; at < len(host); at += len(piece) {
		n := min(len(piece), len(host)-at)
		if err := q.move(unsafe.Pointer(&piece[0]), unsafe.Pointer(&host[at]), n); err != nil {
			return err
		}
		if err := q.toDevice(dst+uintptr(at), unsafe.Pointer(&piece[0]), n); err != nil {
			return err
		}
	}
	return nil
}

// download enqueues the copy of device memory to the host.
func (q *queue) download(host []byte, src uintptr) error {
	if q.d.pinned.holds(host) {
		return q.toHost(unsafe.Pointer(&host[0]), src, len(host))
	}
	piece := q.piece()
	if piece == nil {
		return q.toHost(unsafe.Pointer(&host[0]), src, len(host))
	}
	for at := 0; at < len(host); at += len(piece) {
		n := min(len(piece), len(host)-at)
		if err := q.toHost(unsafe.Pointer(&piece[0]), src+uintptr(at), n); err != nil {
			return err
		}
		if err := q.move(unsafe.Pointer(&host[at]), unsafe.Pointer(&piece[0]), n); err != nil {
			return err
		}
	}
	return nil
}

// move enqueues a move of bytes that the host does.
func (q *queue) move(dst, src unsafe.Pointer, n int) error {
	q.moves.push(job{dst: dst, src: src, bytes: n})
	q.args = [12]uintptr{q.stream, q.moves.fn, q.moves.key}
	if code := int32(dl.CallArgs(q.d.api.launchHostFunc, q.args[:3])); code != success {
		q.moves.unpush()
		return q.d.fail(code, "cuLaunchHostFunc")
	}
	return nil
}

// piece is the queue's pinned piece, nil where the system pins no memory: then
// the driver's own way has to do.
func (q *queue) piece() []byte {
	if q.bounce == nil {
		q.bounce, _ = q.d.pinned.take(q.d, bounceBytes)
		if q.bounce == nil {
			q.bounce = []byte{} // do not try again with every copy
		}
	}
	if len(q.bounce) == 0 {
		return nil
	}
	return q.bounce
}

// freeBounce gives a queue's piece back.
func (d *device) freeBounce(piece []byte) {
	if len(piece) > 0 {
		_ = d.pinned.give(d, piece)
	}
}
