package strategy

import (
	"fmt"
	"math"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner"
	tandem "github.com/tandemrun/tandem/runtime"
)

// DataParallel adds the chain to g once for each input: in[i] becomes out[i],
// whichever device works on it and whenever it is done. The results are brought
// to the host within the run.
//
// Without shares the planner places every task where it is predicted to finish
// first, so that devices get batches in proportion to their speed, and an idle
// device may still take some from a slower one. With shares, one for each device
// of the session in probe order, the batches are dealt in these proportions as
// runs of neighbours and stay where they are put; a share of 0 leaves a device
// out.
//
// The temporaries between the stages are returned: one set for each batch, or,
// with shares, for each device. Nothing is checked against a device before
// Submit. A faulty chain, lists of different lengths and shares that mean
// nothing are ErrInvalid, and then g is unchanged.
func DataParallel(s *tandem.Session, g *tandem.Graph, chain []Stage, in, out []*tandem.Buffer, shares ...float64) (Temporaries, error) {
	if err := checkChain(chain); err != nil {
		return nil, err
	}
	if len(in) != len(out) {
		return nil, fmt.Errorf("%d inputs and %d outputs: %w", len(in), len(out), devices.ErrInvalid)
	}
	infos := s.Devices()
	if err := checkShares(shares, len(infos)); err != nil {
		return nil, err
	}
	var made Temporaries
	lane := func() (between []*tandem.Buffer) {
		return make([]*tandem.Buffer, len(chain)-1)
	}
	batch := func(i int, between []*tandem.Buffer, on string) {
		from := in[i]
		for n := range chain {
			to := out[i]
			if n < len(between) {
				want := chain[n].result(from.Array())
				if between[n] == nil || !sameArray(between[n].Array(), &want) { // a shorter batch needs its own
					want.Name = fmt.Sprintf("batch%d.stage%d", i, n)
					between[n] = s.NewBuffer(want)
					made = append(made, between[n])
				}
				to = between[n]
			}
			chain[n].add(g, from, to).On(on)
			from = to
		}
		g.Return(out[i])
	}
	if len(shares) == 0 {
		for i := range in {
			batch(i, lane(), "")
		}
		return made, nil
	}
	i := 0
	for d, n := range partitioner.Fractions(len(in), 1, shares) {
		between := lane()
		for range n {
			batch(i, between, infos[d].ID)
			i++
		}
	}
	return made, nil
}

// checkShares checks shares of so many devices; none at all is fine.
func checkShares(shares []float64, count int) error {
	if len(shares) == 0 {
		return nil
	}
	if len(shares) != count {
		return fmt.Errorf("%d shares for %d devices, want one for each in probe order: %w", len(shares), count, devices.ErrInvalid)
	}
	sum := 0.0
	for i, f := range shares {
		if !(f >= 0) || math.IsInf(f, 1) {
			return fmt.Errorf("share %d is %g, want 0 or more: %w", i+1, f, devices.ErrInvalid)
		}
		sum += f
	}
	if sum == 0 {
		return fmt.Errorf("all %d shares are 0: %w", count, devices.ErrInvalid)
	}
	return nil
}
