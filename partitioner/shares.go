package partitioner

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// ShareDevice is what a device asks for a part of an ND-range. A part of n > 0
// work-items is done, outputs back included, at
//
//	Ready + Fixed + In.Time(n·InBytes) + n·Item + Out.Time(n·OutBytes)
type ShareDevice struct {
	Ready    time.Duration // earliest moment it could start
	Fixed    time.Duration // paid once by a device that gets anything: launch latency
	Item     float64       // seconds per work-item
	In, Out  devices.Link  // to and from its memory
	InBytes  float64       // bytes per work-item that have to be moved in
	OutBytes float64       // and out
	// Most work-items it can take (its memory); 0: no limit, negative: none.
	Most int
}

// line is the finish time of a part of n work-items, a + n·b seconds.
func (d ShareDevice) line() (a, b float64) {
	a = (d.Ready + d.Fixed).Seconds()
	b = d.Item
	for _, m := range [2]struct {
		l     devices.Link
		bytes float64
	}{{d.In, d.InBytes}, {d.Out, d.OutBytes}} {
		if m.bytes <= 0 {
			continue
		}
		a += m.l.Latency.Seconds()
		if m.l.Bandwidth > 0 {
			b += m.bytes / m.l.Bandwidth
		}
	}
	return a, b
}

// Finish is when the device is done with n work-items.
func (d ShareDevice) Finish(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	a, b := d.line()
	return time.Duration(math.Round((a + float64(n)*b) * 1e9))
}

// Shares divides total work-items so that the last device is done as early as
// possible: the parts finish together, as far as cuts at multiples of grain
// allow, and a device that would not help gets nothing. Parts lie one behind
// the other in the order of devs; only the end of the last part need not be a
// multiple of grain. The sum is total, unless Most limits leave too little
// room: then the rest goes to the device that is done with it first. No devices:
// nil.
//
// The least time T for which Σ ⌊(T − aᵢ)/(bᵢ·grain)⌋ reaches the number of
// grains is found by bisection, so the result is optimal, not rounded from a
// fractional optimum.
func Shares(total, grain int, devs []ShareDevice) []int {
	if len(devs) == 0 {
		return nil
	}
	parts := make([]int, len(devs))
	if total <= 0 {
		return parts
	}
	grain = max(grain, 1)
	units := (total + grain - 1) / grain
	a, b, most := make([]float64, len(devs)), make([]float64, len(devs)), make([]int, len(devs))
	hi := math.Inf(1)
	room := 0
	for i, d := range devs {
		a[i], b[i] = d.line()
		b[i] *= float64(grain)
		most[i] = units
		if d.Most != 0 {
			most[i] = min(max(d.Most, 0)/grain, units)
		}
		room += most[i]
		if most[i] == units {
			hi = min(hi, a[i]+b[i]*float64(units))
		}
	}
	if math.IsInf(hi, 1) {
		hi = 0
		for i := range devs {
			hi = max(hi, a[i]+b[i]*float64(most[i]))
		}
	}
	// A relative slack of a few ulps keeps a device from losing a grain to the
	// rounding of T itself.
	hi += hi * 1e-12
	count := func(t float64, out []int) (sum int) {
		for i := range devs {
			n := 0
			switch {
			case t < a[i] || most[i] == 0:
			case b[i] <= 0:
				n = most[i]
			default:
				n = min(int(math.Min((t-a[i])/b[i], float64(units))), most[i])
			}
			if out != nil {
				out[i] = n
			}
			sum += n
		}
		return sum
	}
	want := min(units, room)
	lo := slices.Min(a)
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if count(mid, nil) >= want {
			hi = mid
		} else {
			lo = mid
		}
	}
	for over := count(hi, parts) - want; over > 0; {
		// What is too much comes off the device that finishes last; of two that
		// finish together the one with the smaller part, which then may drop out.
		last := -1
		for i := range parts {
			if parts[i] == 0 {
				continue
			}
			if last < 0 {
				last = i
				continue
			}
			fi, fl := a[i]+b[i]*float64(parts[i]), a[last]+b[last]*float64(parts[last])
			if fi > fl || fi == fl && parts[i] < parts[last] {
				last = i
			}
		}
		n := 1
		if b[last] <= 0 {
			n = min(over, parts[last])
		}
		parts[last] -= n
		over -= n
	}
	if rest := units - want; rest > 0 {
		first := 0
		for i := range parts {
			if a[i]+b[i]*float64(parts[i]+rest) < a[first]+b[first]*float64(parts[first]+rest) {
				first = i
			}
		}
		parts[first] += rest
	}
	return toItems(parts, total, grain)
}

// toItems turns counts of grains into counts of work-items; the last part takes
// the ragged end.
func toItems(parts []int, total, grain int) []int {
	at := 0
	for i, n := range parts {
		end := min(at+n*grain, total)
		parts[i], at = end-at, end
	}
	return parts
}

// Fractions divides total work-items in the given proportions, at multiples of
// grain, by the method of largest remainders: no part is further than one grain
// from its exact size, and the sum is total. Shares that are negative or not
// finite count as 0; if all are 0 the first gets everything. Parts lie one
// behind the other; only the end of the last one need not be a multiple of
// grain.
func Fractions(total, grain int, shares []float64) []int {
	if len(shares) == 0 {
		return nil
	}
	parts := make([]int, len(shares))
	if total <= 0 {
		return parts
	}
	grain = max(grain, 1)
	units := (total + grain - 1) / grain
	weight := make([]float64, len(shares))
	largest := 0.0
	for i, s := range shares {
		if s > 0 && !math.IsInf(s, 1) {
			weight[i] = s
			largest = max(largest, s)
		}
	}
	sum := 0.0
	for i := range weight {
		if largest > 0 {
			weight[i] /= largest // the sum of huge shares must not overflow
		}
		sum += weight[i]
	}
	if sum == 0 {
		weight[0], sum = 1, 1
	}
	type remainder struct {
		i    int
		part float64
	}
	var rest []remainder
	left := units
	for i, w := range weight {
		exact := w / sum * float64(units)
		parts[i] = min(int(exact), left)
		left -= parts[i]
		if w > 0 {
			rest = append(rest, remainder{i, exact - float64(parts[i])})
		}
	}
	sort.SliceStable(rest, func(x, y int) bool { return rest[x].part > rest[y].part })
	for i := 0; left > 0; i++ {
		parts[rest[i%len(rest)].i]++
		left--
	}
	return toItems(parts, total, grain)
}
