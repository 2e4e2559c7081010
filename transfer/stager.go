package transfer

import (
	"errors"
	"fmt"

	"github.com/tandemrun/tandem/devices"
)

// A Stager moves bytes between ordinary host memory and one device by way of
// pinned memory, in chunks: while one travels, the next is copied into pinned
// memory, or the one before out of it. Each direction has a lane with a queue
// and a goroutine of its own, so that both are busy at once and nobody who
// hands a copy over waits. It is safe for concurrent use.
//
// Pinned memory is a wish: where the system gives none, or less, chunks become
// smaller, and in the end copies go from and to ordinary memory as they are.
type Stager struct {
	device string
	pinner devices.HostPinner
	lanes  [2]*lane
}

// StagerOptions say how a Stager works.
type StagerOptions struct {
	// Upload and Download are the links, by which the sizes of chunks go.
	Upload, Download devices.Link

	// Busy is called with 1 before a lane has something to do, and with -1
	// when it has nothing any more but to wait for the device. It must not
	// call into the Stager. nil: nobody is told.
	Busy func(n int)

	// Unpinned is called at most once for each direction, with the reason why
	// it has to do without pinned memory. nil: nobody is told.
	Unpinned func(error)
}

// A Job is one copy of kind HostToDevice or DeviceToHost. The memory that Copy
// names, on both sides, has to stay until Done is called.
type Job struct {
	Copy devices.Copy

	// Done is called once when the copy is over, on a goroutine of the Stager.
	// Of a download that failed, the host's memory holds some of the bytes.
	Done func(Staged)

	next    *Job
	issued  int64 // bytes handed to the device
	left    int   // chunks that are not over
	refused error // why a chunk could not be handed over
	result  Staged
}

// Staged is how a job ended.
type Staged struct {
	Times  devices.Times // from the start of the first chunk to the end of the last
	Pinned int64         // bytes that passed through pinned memory
	Queue  string
	Err    error
}

// NewStager makes a Stager for d. It is ErrUnsupported, a good reason to let
// the device copy by itself, where the device has no use for pinned memory.
func NewStager(d devices.Device, o StagerOptions) (*Stager, error) {
	s := &Stager{device: d.Info().ID}
	var ok bool
	if s.pinner, ok = devices.As[devices.HostPinner](d); !ok {
		return nil, fmt.Errorf("%s: no pinned memory: %w", s.device, devices.ErrUnsupported)
	}
	// Whether there is a use for it shows in asking; how much there is, later.
	switch p, err := s.pinner.AllocPinned(1); {
	case errors.Is(err, devices.ErrOutOfMemory):
	case err != nil:
		return nil, err
	default:
		if err := p.Free(); err != nil {
			return nil, err
		}
	}
	for i, kind := range []devices.QueueKind{devices.Upload, devices.Download} {
		q, err := d.NewQueue(kind)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %s queue for staging: %w", s.device, kind, err), s.Close())
		}
		link := o.Upload
		if kind == devices.Download {
			link = o.Download
		}
		s.lanes[i] = newLane(s, q, kind, ChunkBytes(link), &o)
	}
	return s, nil
}

// Start hands j over and returns at once. j belongs to the Stager until Done.
func (s *Stager) Start(j *Job) {
	j.next, j.issued, j.left, j.refused, j.result = nil, 0, 0, nil, Staged{}
	l := s.lanes[0]
	if j.Copy.Kind == devices.DeviceToHost {
		l = s.lanes[1]
	}
	l.note(j)
}

// Close waits for the jobs that were started, and gives queues and pinned
// memory back. Nothing may be started afterwards.
func (s *Stager) Close() error {
	var errs []error
	for _, l := range s.lanes {
		if l != nil {
			errs = append(errs, l.close())
		}
	}
	return errors.Join(errs...)
}
