package costmodel

import (
	"cmp"
	"math"
	"slices"
)

// law is a rule that gives seconds for a size.
type law interface {
	at(s Size) float64
	// fixed is the part that does not grow with the size, in seconds.
	fixed() float64
	name() string
}

// axis is the measure of size that a law runs over.
type axis int

const (
	flops axis = iota
	items
	bytes
)

func (a axis) of(s Size) float64 { return [3]float64{s.Flops, s.Items, s.Bytes}[a] }
func (a axis) String() string    { return [3]string{"operations", "work-items", "bytes"}[a] }

// line is seconds = a + b·x, a and b not negative.
type line struct {
	x    axis
	a, b float64
}

func (l line) at(s Size) float64 { return l.a + l.b*l.x.of(s) }
func (l line) fixed() float64    { return l.a }
func (l line) name() string      { return "line over " + l.x.String() }

// power is seconds = exp(alpha)·x^beta.
type power struct {
	x           axis
	alpha, beta float64
}

func (p power) at(s Size) float64 { return math.Exp(p.alpha + p.beta*math.Log(max(p.x.of(s), 1))) }
func (p power) fixed() float64    { return 0 }
func (p power) name() string      { return "power of " + p.x.String() }

// chart joins the points by straight lines in log-log coordinates and goes on
// beyond the ends as between the two last points.
type chart struct {
	x      axis
	lx, lt []float64 // ascending lx
}

func (c chart) at(s Size) float64 {
	x := math.Log(max(c.x.of(s), 1))
	i, _ := slices.BinarySearch(c.lx, x)
	i = min(max(i, 1), len(c.lx)-1)
	slope := (c.lt[i] - c.lt[i-1]) / (c.lx[i] - c.lx[i-1])
	return math.Exp(c.lt[i-1] + min(max(slope, 0), 4)*(x-c.lx[i-1]))
}
func (c chart) fixed() float64 { return 0 }
func (c chart) name() string   { return "chart over " + c.x.String() }

// datum is one point as a fit sees it.
type datum struct {
	size Size
	t    float64 // seconds
	w    float64 // confidence, 0 to 1
	runs int
}

// fit is the law that predicts best, and how well.
type fit struct {
	law    law
	err    float64 // typical error, as a difference of logarithms
	points int
	lo, hi float64 // range of work seen, along the law's own axis
	x      axis
	// What the law leaves over at the points, as logarithms, by ascending
	// logarithm of x: a cache that is full, a clock that drops, a law that is
	// not quite right.
	lx, left []float64
}

// at is what a size takes, in seconds: the law, corrected by what it leaves
// over at the nearest points below and above.
func (f *fit) at(s Size) float64 {
	sec := f.law.at(s)
	if len(f.lx) == 0 {
		return sec
	}
	x := math.Log(max(f.x.of(s), 1))
	i, _ := slices.BinarySearch(f.lx, x)
	switch {
	case i == 0:
		return sec * math.Exp(f.left[0])
	case i == len(f.lx):
		return sec * math.Exp(f.left[i-1])
	}
	part := (x - f.lx[i-1]) / (f.lx[i] - f.lx[i-1])
	return sec * math.Exp(f.left[i-1]*(1-part)+f.left[i]*part)
}

// leave works out what the law leaves over. A single run is not trusted, it may
// have been disturbed; three are.
func (f *fit) leave(data []datum) {
	pts := slices.Clone(data)
	slices.SortStableFunc(pts, func(a, b datum) int { return cmp.Compare(f.x.of(a.size), f.x.of(b.size)) })
	for i := 0; i < len(pts); {
		var sum, n float64
		j := i
		for ; j < len(pts) && f.x.of(pts[j].size) <= f.x.of(pts[i].size)*1.01; j++ {
			trust := min(1, float64(pts[j].runs-1)/2)
			sum += trust * math.Log(pts[j].t/max(f.law.at(pts[j].size), 1e-12))
			n++
		}
		f.lx = append(f.lx, math.Log(max(f.x.of(pts[i].size), 1)))
		f.left = append(f.left, sum/n)
		i = j
	}
}

// axes are the measures that vary over the data, best first, without those
// that are proportional to an earlier one.
func axes(data []datum) []axis {
	var out []axis
	for _, a := range [3]axis{flops, items, bytes} {
		lo, hi := math.Inf(1), 0.0
		for _, d := range data {
			lo, hi = min(lo, a.of(d.size)), max(hi, a.of(d.size))
		}
		if lo <= 0 || hi < lo*1.01 {
			continue
		}
		if !slices.ContainsFunc(out, func(b axis) bool { return proportional(data, a, b) }) {
			out = append(out, a)
		}
	}
	return out
}

func proportional(data []datum, a, b axis) bool {
	q := a.of(data[0].size) / b.of(data[0].size)
	for _, d := range data {
		if r := a.of(d.size) / b.of(d.size); math.Abs(r-q) > 0.001*q {
			return false
		}
	}
	return true
}

// fitLaw finds the law for data of at least two sizes; ok is false if they do
// not differ in any measure.
func fitLaw(data []datum) (f fit, ok bool) {
	best := math.Inf(1)
	for rank, x := range axes(data) {
		for kind := range 3 {
			l := newLaw(kind, x, data)
			if l == nil {
				continue
			}
			// The simpler law and the better measure win unless the other one
			// is clearly better.
			err := trial(kind, x, data, l)
			if score := err*(1+0.15*float64(kind)) + 0.01*float64(kind+rank); score < best {
				best = score
				f = fit{law: l, err: err, points: len(data), x: x, lo: math.Inf(1)}
			}
		}
	}
	if f.law == nil {
		return f, false
	}
	for _, d := range data {
		f.lo, f.hi = min(f.lo, f.x.of(d.size)), max(f.hi, f.x.of(d.size))
	}
	f.leave(data)
	return f, true
}

// newLaw fits a law of one kind; nil: the data do not suffice.
func newLaw(kind int, x axis, data []datum) law {
	switch {
	case kind == 0:
		return fitLine(x, data)
	case kind == 1:
		return fitPower(x, data)
	case len(data) >= 4:
		return fitChart(x, data)
	}
	return nil
}

// trial is the typical error of a law: each point predicted from the others
// where there are at least three, else what the fit leaves over.
func trial(kind int, x axis, data []datum, whole law) float64 {
	var errs []float64
	rest := make([]datum, 0, len(data))
	// Sixteen points tell as much as sixty, and cost a quarter.
	step := (len(data) + 15) / 16
	for i := 0; i < len(data); i += step {
		d, l := data[i], whole
		if len(data) >= 3 {
			rest = append(append(rest[:0], data[:i]...), data[i+1:]...)
			if l = newLaw(kind, x, rest); l == nil {
				l = fitPower(x, rest)
			}
			if l == nil {
				l = whole
			}
		}
		errs = append(errs, math.Abs(math.Log(max(l.at(d.size), 1e-12)/d.t)))
	}
	// Between median and mean: one point off must not decide, but counts.
	mean := 0.0
	for _, e := range errs {
		mean += min(e, 3) / float64(len(errs))
	}
	return (mean + lowerMedian(errs)) / 2
}

// reweigh is Huber's weight for a residual r on the scale s.
func reweigh(r, s float64) float64 {
	if r = math.Abs(r); r > 1.5*s {
		return 1.5 * s / r
	}
	return 1
}

// scaleOf is a robust scale of residuals, never below 2 %.
func scaleOf(res []float64) float64 {
	abs := make([]float64, len(res))
	for i, r := range res {
		abs[i] = math.Abs(r)
	}
	return max(1.4826*lowerMedian(abs), 0.02)
}

// alike reports whether the sizes are within a factor of two. What differs
// between them then is noise rather than a law: time is taken to be proportional
// to size, which goes least wrong beyond them.
func alike(x axis, data []datum) bool {
	lo, hi := math.Inf(1), 0.0
	for _, d := range data {
		lo, hi = min(lo, x.of(d.size)), max(hi, x.of(d.size))
	}
	return hi < 2*lo
}

// fitLine minimises relative squared errors, reweighted so that outlying
// points lose their pull.
func fitLine(x axis, data []datum) law {
	w := make([]float64, len(data))
	for i, d := range data {
		w[i] = d.w
	}
	res := make([]float64, len(data))
	narrow := alike(x, data)
	var l line
	for range 8 {
		var s, sx, sxx, st, sxt float64
		for i, d := range data {
			// Scaled by 1/t: u = 1/t, v = x/t, target 1.
			k, u, v := w[i], 1/d.t, x.of(d.size)/d.t
			s += k * u * u
			sx += k * u * v
			sxx += k * v * v
			st += k * u
			sxt += k * v
		}
		l = line{x: x}
		if det := s*sxx - sx*sx; det > 1e-12*s*sxx {
			l.a = (st*sxx - sxt*sx) / det
			l.b = (s*sxt - sx*st) / det
		}
		switch {
		case l.b <= 0 && !narrow:
			l.a, l.b = st/s, 0
		case l.a < 0 || narrow:
			l.a, l.b = 0, sxt/sxx
		}
		for i, d := range data {
			res[i] = l.at(d.size)/d.t - 1
		}
		sc := scaleOf(res)
		for i, d := range data {
			w[i] = d.w * reweigh(res[i], sc)
		}
	}
	return l
}

// fitPower is a reweighted straight line in logarithms.
func fitPower(x axis, data []datum) law {
	w := make([]float64, len(data))
	for i, d := range data {
		w[i] = d.w
	}
	res := make([]float64, len(data))
	p := power{x: x}
	for range 8 {
		var s, sx, st float64
		for i, d := range data {
			s += w[i]
			sx += w[i] * math.Log(max(x.of(d.size), 1))
			st += w[i] * math.Log(d.t)
		}
		mx, mt := sx/s, st/s
		var sxx, sxt float64
		for i, d := range data {
			dx := math.Log(max(x.of(d.size), 1)) - mx
			sxx += w[i] * dx * dx
			sxt += w[i] * dx * (math.Log(d.t) - mt)
		}
		if sxx == 0 {
			return nil
		}
		p.beta = min(max(sxt/sxx, 0), 4)
		if alike(x, data) {
			p.beta = 1
		}
		p.alpha = mt - p.beta*mx
		for i, d := range data {
			res[i] = math.Log(p.at(d.size) / d.t)
		}
		sc := scaleOf(res)
		for i, d := range data {
			w[i] = d.w * reweigh(res[i], sc)
		}
	}
	return p
}

func fitChart(x axis, data []datum) law {
	pts := slices.Clone(data)
	slices.SortStableFunc(pts, func(a, b datum) int { return cmp.Compare(x.of(a.size), x.of(b.size)) })
	c := chart{x: x}
	for i := 0; i < len(pts); {
		// Points within a percent of each other are one: their mean.
		var sx, st, s float64
		j := i
		for ; j < len(pts) && x.of(pts[j].size) <= x.of(pts[i].size)*1.01; j++ {
			s += pts[j].w
			sx += pts[j].w * math.Log(max(x.of(pts[j].size), 1))
			st += pts[j].w * math.Log(pts[j].t)
		}
		c.lx, c.lt = append(c.lx, sx/s), append(c.lt, st/s)
		i = j
	}
	if len(c.lx) < 3 {
		return nil
	}
	return c
}

// spread is one standard deviation of a prediction, relative to it: the fit's
// own error, and more the further the size is from what was seen.
func (f *fit) spread(s Size) float64 {
	rel := max(f.err, 0.05) + 0.2/float64(f.points)
	x := f.x.of(s)
	if x > 0 && x > f.hi {
		rel += 0.1 * math.Log2(x/f.hi)
	} else if x > 0 && x < f.lo {
		rel += 0.1 * math.Log2(f.lo/x)
	}
	return min(rel, 2)
}
