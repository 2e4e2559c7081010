package bench

import (
	"context"
	"errors"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/fpga"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/rtl"
	tandem "github.com/tandemrun/tandem/runtime"
)

// FPGA streams words through a Verilog kernel of one stage: in bulk and in
// launches of 16 words through the driver, in bulk through a session, each in
// million words per second, the bulk ones also over the same Verilated kernel
// clocked by a C++ program that does nothing else. The programs take turns, so
// that a machine that is busy with other things is busy for both.
func FPGA(ctx context.Context, o Options) (all []Result, err error) {
	d := &fpga.Driver{Devices: 1, Check: fpga.CheckNever, Stalls: fpga.Stalls{Seed: 1}}
	if b := d.Probe(ctx); !b.Available {
		o.note("the FPGA emulation is left out: %v; %s", b.Reason, b.Hint)
		return nil, nil
	}
	hand, err := fpga.NewByHand(ctx, d)
	if err != nil {
		return nil, err
	}
	defer hand.Close()
	list, err := rtl.FromSource(ctx, fpga.HandSource(), d.Tools)
	if err != nil {
		return nil, err
	}
	k := list[0]
	// Some milliseconds each, so that the best of many runs without a break also
	// on a busy machine.
	words, turns := pick(&o, 1<<17, 1<<15), pick(&o, 24, 2)
	bulk, err := newHand(ctx, d, k, words)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bulk.close()) }()
	few, err := newHand(ctx, d, k, 16)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, few.close()) }()
	session, err := newFPGASession(ctx, d, k, words)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()

	var alone, driven, short, through float64
	const rounds, chunks = 8, 500
	for range turns {
		r, err := hand.Rate(ctx, words, rounds)
		if err != nil {
			return nil, err
		}
		alone = max(alone, r)
		for range rounds {
			took, err := timed(func() error { return bulk.run(ctx, 1, 0) })
			if err != nil {
				return nil, err
			}
			driven = max(driven, mwords(words, took))
			if took, err = timed(func() error { return session.Run(ctx, session.graph) }); err != nil {
				return nil, err
			}
			through = max(through, mwords(words, took))
		}
		took, err := timed(func() error { return few.run(ctx, chunks, 0) })
		if err != nil {
			return nil, err
		}
		short = max(short, mwords(16*chunks, took))
	}
	perCycle := 0.0
	for _, dev := range d.Totals() {
		for _, t := range dev.Kernels {
			perCycle = t.WordsPerCycle()
		}
	}
	return []Result{
		{"fpga.bulk.mword_s", driven, "Mword/s", "higher"},
		{"fpga.bulk.over_bare", driven / alone, "ratio", "higher"},
		{"fpga.session.mword_s", through, "Mword/s", "higher"},
		{"fpga.session.over_bare", through / alone, "ratio", "higher"},
		{"fpga.launch16.mword_s", short, "Mword/s", "higher"},
		{"fpga.bare.mword_s", alone, "Mword/s", "higher"},
		{"fpga.words_per_cycle", perCycle, "ratio", "higher"},
	}, nil
}

// fpgaSession is a session with a graph of one bulk launch.
type fpgaSession struct {
	*tandem.Session
	graph *tandem.Graph
}

func newFPGASession(ctx context.Context, d devices.Driver, k *kernels.Kernel, words int) (*fpgaSession, error) {
	s, err := tandem.Open(ctx, tandem.Config{Drivers: []devices.Driver{d}})
	if err != nil {
		return nil, err
	}
	g := tandem.NewGraph()
	g.Add(k, tandem.NewSlice[uint32](s, words), uint32(3), uint32(5)).NoSplit()
	return &fpgaSession{s, g}, g.Err()
}

func timed(f func() error) (time.Duration, error) {
	begun := time.Now()
	err := f()
	return time.Since(begun), err
}

// mwords is a rate in million words per second.
func mwords(n int, took time.Duration) float64 { return float64(n) / took.Seconds() / 1e6 }
