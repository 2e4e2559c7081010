package graphgen

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tandemrun/tandem/partitioner"
)

// Suite draws n problems, the families in turn, with 2 to 8 devices, speed
// ratios of 1 to 30 and CCRs of 0.1 to 10, the latter two spread evenly over
// their logarithms.
func Suite(n int, seed uint64) []Config {
	rng := rand.New(rand.NewPCG(seed, 500))
	out := make([]Config, n)
	for i := range out {
		out[i] = Config{
			Family:  families[i%len(families)].name,
			Tasks:   30 + rng.IntN(91),
			Devices: 2 + rng.IntN(7),
			Ratio:   math.Pow(30, rng.Float64()),
			CCR:     math.Pow(10, 2*rng.Float64()-1),
			Seed:    rng.Uint64(),
		}
	}
	return out
}

// Score compares improved plans with HEFT's over problems of one family.
type Score struct {
	Family    string
	Problems  int
	HEFT      float64 // mean makespan over lower bound
	Improved  float64 // the same, of the improved plans
	MeanRatio float64 // mean of improved makespan over HEFT's
	MaxRatio  float64
}

// Compare plans every problem, checks the plans, and returns a score for each
// family in the order of Families, and for all together, Family "all", behind
// them. effort is per task: Improve gets effort·tasks.
func Compare(problems []Config, effort int) ([]Score, error) {
	scores := make([]Score, len(families)+1)
	index := map[string]int{}
	for i, f := range families {
		scores[i].Family, index[f.name] = f.name, i
	}
	scores[len(families)].Family = "all"
	for _, c := range problems {
		p, err := Generate(c)
		if err != nil {
			return nil, err
		}
		heft, err := partitioner.HEFT(p)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		better, err := partitioner.Improve(p, heft, c.Seed, effort*len(p.Tasks))
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		for _, pl := range [2]*partitioner.Plan{heft, better} {
			if err := pl.Validate(p); err != nil {
				return nil, fmt.Errorf("%v: %w", c, err)
			}
		}
		ratio := float64(better.Makespan) / float64(heft.Makespan)
		for _, s := range [2]*Score{&scores[index[c.Family]], &scores[len(families)]} {
			s.Problems++
			s.HEFT += float64(heft.Makespan) / float64(heft.LowerBound)
			s.Improved += float64(better.Makespan) / float64(better.LowerBound)
			s.MeanRatio += ratio
			s.MaxRatio = max(s.MaxRatio, ratio)
		}
	}
	for i := range scores {
		if n := float64(scores[i].Problems); n > 0 {
			scores[i].HEFT /= n
			scores[i].Improved /= n
			scores[i].MeanRatio /= n
		}
	}
	return scores, nil
}
