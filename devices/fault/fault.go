// Package fault makes devices fail on purpose: out of memory, kernels that do
// not compile, commands that fail when they are enqueued or later, a device
// that is lost. What fails is chosen by number or by chance from a seed, so
// that a failure can be had again.
//
// Chance depends on the seed and on how many calls of the kind there were
// before, not on which goroutine made them: the n-th launch of a run fails or
// does not, whatever runs beside it.
package fault

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/internal/wrap"
)

// Op is a kind of call that can fail.
type Op string

// The calls that can fail. Any stands for all of them.
const (
	Any      Op = ""
	Alloc    Op = "Alloc"
	Compile  Op = "Compile"
	Kernel   Op = "Kernel"
	NewQueue Op = "NewQueue"
	Launch   Op = "Launch"
	Copy     Op = "Copy"
	Flush    Op = "Flush"
)

// Plan is what goes wrong. The zero value is nothing.
type Plan struct {
	// Seed decides where rules with a Probability strike.
	Seed uint64

	// Rules are asked in order; the first that strikes counts.
	Rules []Rule

	// LostAt is the number of the call, counted from 1 over all calls that
	// can fail, from which on the device is lost: every such call is
	// ErrDeviceLost. What was enqueued before still finishes. 0: never.
	LostAt int

	// LostAfter is the time after Wrap from which on the device is lost. 0:
	// never.
	LostAfter time.Duration

	// Report is called for every fault that is injected, from the goroutine
	// that made the call; it must not call into the device. nil: nobody is
	// told.
	Report func(Injection)
}

// Rule says which calls fail and how. A rule with neither Nth, Every nor
// Probability never strikes.
type Rule struct {
	// Op is the kind of call. Default: Any.
	Op Op
	// Name, if set, is the kernel (Launch, Kernel), the source (Compile) or
	// the kind of copy ("h2d") or queue that the rule is for.
	Name string
	// Nth strikes at the n-th call that fits, counted from 1.
	Nth int
	// Every strikes at each n-th call that fits.
	Every int
	// Probability, from 0 to 1, strikes by chance.
	Probability float64
	// Most is how often the rule strikes at most. Default: no bound.
	Most int
	// Later lets a Launch or Copy be enqueued, and has its event fail. The
	// command does not run, and what waits for it fails with it.
	Later bool
	// Err is the class of the error. Default: ErrOutOfMemory for Alloc,
	// Launch and Copy, ErrUnavailable for Compile, Kernel and NewQueue,
	// ErrDeviceLost for Flush.
	Err error
}

// Injection is a fault that was injected.
type Injection struct {
	Device string
	Op     Op
	Name   string
	Call   int  // its number among all calls that can fail, from 1
	Rule   int  // the rule that struck; -1: the device is lost
	Later  bool // the event fails, not the call
	Err    error
}

func (i Injection) String() string {
	how := ""
	if i.Later {
		how = " later"
	}
	return fmt.Sprintf("call %d: %s %s on %s fails%s: %v", i.Call, i.Op, i.Name, i.Device, how, i.Err)
}

// Device is a device that fails as planned.
type Device struct {
	*wrap.Device
	h *hook
}

// Wrap makes a device that fails as planned. Closing it closes d.
func Wrap(d devices.Device, p Plan) *Device {
	h := &hook{plan: p, began: devices.Now(), seen: make([]int, len(p.Rules)), struck: make([]int, len(p.Rules))}
	return &Device{wrap.New(d, h), h}
}

// Injected lists what was injected so far.
func (d *Device) Injected() []Injection {
	d.h.mu.Lock()
	defer d.h.mu.Unlock()
	return slices.Clone(d.h.injected)
}

// Lose has the device be lost from now on.
func (d *Device) Lose() {
	d.h.mu.Lock()
	d.h.lost = true
	d.h.mu.Unlock()
}

// Driver is a driver whose devices fail as planned, each with a chance of its
// own.
type Driver struct {
	devices.Driver
	Plan Plan
}

// Open opens a device and wraps it.
func (d Driver) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	dev, err := d.Driver.Open(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	p := d.Plan
	p.Seed = mix(p.Seed + uint64(ordinal))
	return Wrap(dev, p), nil
}

// hook decides about calls.
type hook struct {
	plan  Plan
	began time.Duration

	mu       sync.Mutex
	calls    int
	seen     []int // by rule: calls that fitted
	struck   []int // by rule: faults
	lost     bool
	injected []Injection
}

var ops = map[wrap.Op]Op{
	wrap.Alloc: Alloc, wrap.Compile: Compile, wrap.Kernel: Kernel, wrap.NewQueue: NewQueue,
	wrap.Launch: Launch, wrap.Copy: Copy, wrap.Flush: Flush,
}

// Before fails the call if it is its turn.
func (h *hook) Before(c *wrap.Call) error {
	op := ops[c.Op]
	i, strike := h.decide(c, op)
	if !strike {
		return nil
	}
	if h.plan.Report != nil {
		h.plan.Report(i)
	}
	if i.Later {
		c.Later = i.Err
		return nil
	}
	return i.Err
}

// After has nothing to do.
func (h *hook) After(*wrap.Call) {}

func (h *hook) decide(c *wrap.Call, op Op) (i Injection, strike bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	p := &h.plan
	i = Injection{Device: c.Device, Op: op, Name: c.Name, Call: h.calls, Rule: -1}
	var class error
	h.lost = h.lost || p.LostAt > 0 && h.calls >= p.LostAt || p.LostAfter > 0 && devices.Now()-h.began >= p.LostAfter
	if h.lost {
		class, strike = devices.ErrDeviceLost, true
	}
	for n := range p.Rules {
		r := &p.Rules[n]
		if r.Op != Any && r.Op != op || r.Name != "" && r.Name != c.Name {
			continue
		}
		h.seen[n]++
		if strike || r.Most > 0 && h.struck[n] >= r.Most || !r.strikes(p.Seed, n, h.seen[n]) {
			continue
		}
		h.struck[n]++
		i.Rule, i.Later, strike = n, r.Later && (op == Launch || op == Copy), true
		if class = r.Err; class == nil {
			class = usual(op)
		}
	}
	if !strike {
		return i, false
	}
	i.Err = describe(c, &i, class)
	h.injected = append(h.injected, i)
	return i, true
}

// strikes decides about the n-th call that fits rule number rule.
func (r *Rule) strikes(seed uint64, rule, n int) bool {
	return n == r.Nth || r.Every > 0 && n%r.Every == 0 ||
		r.Probability > 0 && float64(mix(seed^mix(uint64(rule)<<32+uint64(n)))>>11)/(1<<53) < r.Probability
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func usual(op Op) error {
	switch op {
	case Compile, Kernel, NewQueue:
		return devices.ErrUnavailable
	case Flush:
		return devices.ErrDeviceLost
	}
	return devices.ErrOutOfMemory
}

func describe(c *wrap.Call, i *Injection, class error) error {
	what := string(i.Op)
	if c.Name != "" {
		what += " " + c.Name
	}
	if c.Op == wrap.Alloc || c.Op == wrap.Copy {
		what += fmt.Sprintf(" (%d bytes)", c.Size)
	}
	where := c.Device
	if c.Queue != "" {
		where += ": " + c.Queue
	}
	return fmt.Errorf("%s: %s: injected fault at call %d: %w", where, what, i.Call, class)
}
