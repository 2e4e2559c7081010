package tandem

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/hostmem"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/partitioner/costmodel"
	"github.com/tandemrun/tandem/transfer"
)

// Config says how to open a session. The zero value of every field but Drivers
// is a good default.
type Config struct {
	// Drivers are the ways to reach hardware, in order of their devices' ids;
	// all.Drivers() has every one that tandem knows.
	Drivers []devices.Driver

	// Devices selects among the devices found (see Selector); empty: all.
	// Naming several faces of one processor ("cpu,opencl") uses them at the
	// same time; by default the planner uses one face at a time.
	Devices string

	// Emulate, where set, is asked about each emulated device that Devices does
	// not name: true opens it as well. Without it such a device is opened only
	// if there is no other. Of the devices opened so, a task gets one that its
	// own selector names (Task.On), or if no other can run it.
	Emulate func(*devices.Info) bool

	// MemoryLimit bounds what is allocated on a device, in bytes by device id.
	MemoryLimit map[string]int64

	// Observer learns what happens.
	Observer Observer

	// Model predicts how long launches take and learns from them; nil: an
	// empty one. The caller keeps it, to store what it has learnt.
	Model *costmodel.Model

	// Calibrations are what was measured of the devices, by id. Without them
	// the planner goes by the devices' descriptions.
	Calibrations map[string]devices.Calibration
}

// A Session holds open devices and the buffers on them. It is safe for
// concurrent use; several graphs may be in flight at once.
type Session struct {
	backends  []devices.Backend
	agents    []*agent
	clock     hostClock
	lineage   bool // there is more than one device: remember how to recompute what one of them loses
	stealing  bool // an idle device may take launches from another
	exclusive bool // faces of one processor take turns
	onCall    bool // some device is there for tasks that ask for it
	observer  Observer
	predictor predictor
	programs  programs
	windows   windowVariants

	making sync.Mutex // held by the one that waits for room on a device; taken before mu

	mu       sync.Mutex // orders lowering: trackers, replicas, runs
	buffers  map[*Buffer]struct{}
	active   []*Run                // not lowered to the end, in order of submission
	runs     map[*Run]struct{}     // not over
	stuck    map[*Run]struct{}     // given up, but something of them is still on a device
	cohorts  map[cohortKey]*cohort // the last of each
	unnamed  int
	numbered int
	closed   bool

	recovery recovery
	lastRun  atomic.Int64
	lastOp   atomic.Int64
	live     sync.WaitGroup // runs, and whatever else Close has to wait for
}

// Open probes the drivers and opens the selected devices. A driver without
// devices is normal; a selector that matches nothing is an error that lists
// what there is. No device at all is ErrUnavailable.
func Open(ctx context.Context, c Config) (*Session, error) {
	s := &Session{buffers: map[*Buffer]struct{}{}, runs: map[*Run]struct{}{}, stuck: map[*Run]struct{}{}, cohorts: map[cohortKey]*cohort{}, observer: c.Observer,
		predictor: predictor{model: c.Model, measured: c.Calibrations, keys: map[*kernels.Variant]string{}}}
	if c.Model == nil {
		s.predictor.model = &costmodel.Model{}
	}
	var found []devices.Info
	driver := map[string]devices.Driver{}
	for _, d := range c.Drivers {
		b := d.Probe(ctx)
		s.backends = append(s.backends, b)
		driver[b.Name] = d
		found = append(found, b.Devices...)
	}
	sel, err := ParseSelector(c.Devices)
	if err != nil {
		return nil, err
	}
	chosen, err := sel.Choose(found, c.Emulate)
	if err != nil {
		return nil, err
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no device found: %w", devices.ErrUnavailable)
	}
	if len(chosen) > transfer.MaxNodes-1 {
		return nil, fmt.Errorf("%d devices, at most %d are supported: %w", len(chosen), transfer.MaxNodes-1, devices.ErrInvalid)
	}
	for id := range c.MemoryLimit {
		if !hasID(chosen, id) {
			return nil, fmt.Errorf("memory limit for %q: no such device in this session: %w", id, devices.ErrInvalid)
		}
	}
	for _, info := range chosen {
		d, err := driver[info.Backend].Open(ctx, info.Ordinal)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", info.ID, err), s.Close())
		}
		s.clock.follow(d)
		a, err := newAgent(s, len(s.agents), d, c.MemoryLimit[info.ID])
		if err != nil {
			return nil, errors.Join(err, d.Close(), s.Close())
		}
		a.onCall = info.Emulated && c.Emulate != nil && !sel.Names(&info)
		s.onCall = s.onCall || a.onCall
		s.agents = append(s.agents, a)
	}
	s.lineage = len(s.agents) > 1
	for _, a := range s.agents[1:] {
		// Faces that take turns have nothing to take from each other.
		s.stealing = s.stealing || !a.info.Emulated && (sel.namesFaces(chosen) || a.info.PhysicalID != s.agents[0].info.PhysicalID)
	}
	s.exclusive = !sel.namesFaces(chosen)
	s.programs.init(len(s.agents))
	return s, nil
}

func hasID(infos []devices.Info, id string) bool {
	for _, i := range infos {
		if i.ID == id {
			return true
		}
	}
	return false
}

// Backends is what probing found, one entry for each driver.
func (s *Session) Backends() []devices.Backend { return s.backends }

// Devices describes the session's devices, in probe order.
func (s *Session) Devices() []devices.Info {
	infos := make([]devices.Info, len(s.agents))
	for i, a := range s.agents {
		infos[i] = a.info
	}
	return infos
}

// Close waits for the runs in flight, frees all buffers and closes the devices.
// Closing twice is nil.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	var runs []*Run
	for r := range s.runs {
		runs = append(runs, r)
	}
	s.mu.Unlock()
	for _, r := range runs {
		<-r.done
	}
	for _, a := range s.agents {
		if a.hung.Load() {
			// A kernel still runs there and may write to any buffer: nothing of
			// the device or of host memory can be given back.
			return fmt.Errorf("%s: left open, a kernel is still running: %w", a.info.ID, devices.ErrTimeout)
		}
	}
	s.live.Wait()
	s.mu.Lock()
	left := slices.Collect(maps.Keys(s.buffers))
	s.mu.Unlock()
	var errs []error
	for _, b := range left {
		errs = append(errs, s.freeBuffer(b)) // host accesses that have begun end first
	}
	s.live.Wait() // one of those may have needed a recovery
	errs = append(errs, s.programs.close())
	for _, a := range s.agents {
		errs = append(errs, a.close())
	}
	return errors.Join(errs...)
}

// enter counts the caller in as something that Close waits for, by live.Done.
func (s *Session) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.live.Add(1)
	return nil
}

var errClosed = fmt.Errorf("session: %w", devices.ErrClosed)

// freeBuffer waits for b's operations, those of runs that are still to be
// lowered included, and gives its memory back.
func (s *Session) freeBuffer(b *Buffer) error {
	for {
		s.mu.Lock()
		if b.freed {
			s.mu.Unlock()
			return nil
		}
		if err := s.stuckOn(b); err != nil {
			s.mu.Unlock()
			return err
		}
		if before := s.toLower(b); before != nil {
			s.mu.Unlock()
			<-before.lowered
			continue
		}
		busy := b.busy()
		if busy == nil {
			break
		}
		s.mu.Unlock()
		busy.waitEnd()
	}
	defer s.mu.Unlock()
	b.freed = true
	delete(s.buffers, b)
	var errs []error
	for i, r := range b.replicas {
		if r != nil {
			err := s.agents[i].memory.Free(r)
			if !s.agents[i].lost.Load() { // a lost device has nothing to give back
				errs = append(errs, err)
			}
		}
	}
	errs = append(errs, hostmem.Free(b.host))
	b.host = nil
	return errors.Join(errs...)
}

// programs are the kernels compiled so far. Compiling happens in Submit,
// outside the session's lock.
type programs struct {
	mu      sync.Mutex
	open    map[programKey]*program
	kernels []map[*kernels.Variant]devices.Kernel // by agent
}

type programKey struct {
	agent  int
	source *devices.Source
}

type program struct {
	once    sync.Once
	program devices.Program
	err     error
}

func (p *program) compile(ctx context.Context, a *agent, src *devices.Source) (err error) {
	p.program, err = a.device.Compile(ctx, src)
	return err
}

func (p *programs) init(agents int) {
	p.open = map[programKey]*program{}
	p.kernels = make([]map[*kernels.Variant]devices.Kernel, agents)
	for i := range p.kernels {
		p.kernels[i] = map[*kernels.Variant]devices.Kernel{}
	}
}

// kernel compiles v for a, or finds it compiled.
func (p *programs) kernel(ctx context.Context, a *agent, v *kernels.Variant) (devices.Kernel, error) {
	p.mu.Lock()
	if k := p.kernels[a.index][v]; k != nil {
		p.mu.Unlock()
		return k, nil
	}
	key := programKey{a.index, v.Source}
	prog := p.open[key]
	if prog == nil {
		prog = &program{}
		p.open[key] = prog
	}
	p.mu.Unlock()
	mine := false
	prog.once.Do(func() { mine, prog.err = true, prog.compile(ctx, a, v.Source) })
	p.mu.Lock()
	defer p.mu.Unlock()
	if prog.err != nil {
		if p.open[key] == prog {
			delete(p.open, key) // it may have been ctx; try again next time
		}
		if !mine && ctx.Err() == nil { // it may have been another caller's ctx
			p.mu.Unlock()
			defer p.mu.Lock()
			return p.kernel(ctx, a, v)
		}
		return nil, prog.err
	}
	if k := p.kernels[a.index][v]; k != nil {
		return k, nil
	}
	k, err := prog.program.Kernel(v.Entry)
	if err != nil {
		return nil, err
	}
	p.kernels[a.index][v] = k
	return k, nil
}

// logs are the compilers' messages by source, for those that said something.
func (p *programs) logs() map[*devices.Source]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	logs := map[*devices.Source]string{}
	for key, prog := range p.open {
		if prog.program != nil && prog.program.Log() != "" {
			logs[key.source] = prog.program.Log()
		}
	}
	return logs
}

func (p *programs) close() error {
	var errs []error
	for _, m := range p.kernels {
		for _, k := range m {
			errs = append(errs, k.Close())
		}
	}
	for _, prog := range p.open {
		if prog.program != nil {
			errs = append(errs, prog.program.Close())
		}
	}
	return errors.Join(errs...)
}

// BuildLogs are the compilers' messages of everything compiled so far, by the
// source's name; sources without messages are not in it.
func (s *Session) BuildLogs() map[string]string {
	logs := map[string]string{}
	for src, log := range s.programs.logs() {
		logs[src.Name] = log
	}
	return logs
}
