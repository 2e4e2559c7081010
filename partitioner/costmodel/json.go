package costmodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/tandemrun/tandem/devices"
)

// formatVersion is the version of the stored form.
const formatVersion = 1

type modelJSON struct {
	Version int          `json:"version"`
	Series  []seriesJSON `json:"series"`
}

type seriesJSON struct {
	Kernel string      `json:"kernel"`
	Device string      `json:"device"`
	Seq    uint64      `json:"seq"`
	Slow   []float64   `json:"elapsed_over_run,omitempty"`
	Points []pointJSON `json:"points"`
}

type pointJSON struct {
	Footprint string    `json:"footprint"`
	Items     float64   `json:"items"`
	Flops     float64   `json:"flops,omitempty"`
	Bytes     float64   `json:"bytes,omitempty"`
	Seq       uint64    `json:"seq"`
	Runs      []float64 `json:"runs_s"`
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Kernel, b.Kernel))
}

func comparePoints(a, b Point) int {
	return cmp.Or(cmp.Compare(a.Size.Items, b.Size.Items), cmp.Compare(a.Size.Flops, b.Size.Flops), cmp.Compare(a.Size.Footprint, b.Size.Footprint))
}

// MarshalJSON writes everything that was learnt, in a fixed order.
func (m *Model) MarshalJSON() ([]byte, error) { return m.MarshalDevice("") }

// MarshalDevice is MarshalJSON of one device's series; "": of all.
func (m *Model) MarshalDevice(device string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := modelJSON{Version: formatVersion, Series: []seriesJSON{}}
	for k, sr := range m.series {
		if device != "" && k.Device != device {
			continue
		}
		j := seriesJSON{Kernel: k.Kernel, Device: k.Device, Seq: sr.seq, Slow: sr.slow, Points: []pointJSON{}}
		for _, p := range sr.points {
			j.Points = append(j.Points, pointJSON{p.size.Footprint, p.size.Items, p.size.Flops, p.size.Bytes, p.seq, p.runs})
		}
		slices.SortFunc(j.Points, func(a, b pointJSON) int { return cmp.Compare(a.Footprint, b.Footprint) })
		out.Series = append(out.Series, j)
	}
	slices.SortFunc(out.Series, func(a, b seriesJSON) int {
		return compareKeys(Key{a.Kernel, a.Device}, Key{b.Kernel, b.Device})
	})
	return json.Marshal(out)
}

// UnmarshalJSON adds what MarshalJSON wrote to the model; a series that the
// model has already is replaced. Values that cannot have been written are an
// error that wraps devices.ErrInvalid, and the model stays as it was.
func (m *Model) UnmarshalJSON(b []byte) error {
	var in modelJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return fmt.Errorf("cost model: %w: %w", err, devices.ErrInvalid)
	}
	if in.Version != formatVersion {
		return fmt.Errorf("cost model: version %d, this program reads %d: %w", in.Version, formatVersion, devices.ErrInvalid)
	}
	read := map[Key]*series{}
	seq := uint64(0)
	for _, j := range in.Series {
		k := Key{j.Kernel, j.Device}
		sr, err := j.series()
		if err != nil {
			return fmt.Errorf("cost model: %s on %s: %w", k.Kernel, k.Device, err)
		}
		if read[k] != nil {
			return fmt.Errorf("cost model: %s on %s is there twice: %w", k.Kernel, k.Device, devices.ErrInvalid)
		}
		read[k] = sr
		seq = max(seq, sr.seq)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.series == nil {
		m.series = map[Key]*series{}
	}
	for k, sr := range read {
		m.series[k] = sr
	}
	for len(m.series) > maxSeries {
		m.forgetSeries()
	}
	m.seq = max(m.seq, seq)
	return nil
}

func (j *seriesJSON) series() (*series, error) {
	sr := &series{points: map[string]*point{}, slow: j.Slow, seq: j.Seq}
	if len(j.Points) > maxPoints || len(j.Slow) > slowWindow {
		return nil, fmt.Errorf("%d sizes, %d ratios: %w", len(j.Points), len(j.Slow), devices.ErrInvalid)
	}
	for _, r := range j.Slow {
		if !(r >= 1) || math.IsInf(r, 1) {
			return nil, fmt.Errorf("elapsed over run %g: %w", r, devices.ErrInvalid)
		}
	}
	for _, p := range j.Points {
		size := Size{p.Footprint, p.Items, p.Flops, p.Bytes}
		if !size.valid() || len(p.Runs) == 0 || len(p.Runs) > window || sr.points[p.Footprint] != nil {
			return nil, fmt.Errorf("size %q with %d runs: %w", p.Footprint, len(p.Runs), devices.ErrInvalid)
		}
		for _, r := range p.Runs {
			if !(r > 0 && r <= maxRun.Seconds()) {
				return nil, fmt.Errorf("size %q ran for %g s: %w", p.Footprint, r, devices.ErrInvalid)
			}
		}
		sr.points[p.Footprint] = &point{size: size, runs: p.Runs, seq: p.Seq}
		sr.total += uint64(len(p.Runs))
	}
	return sr, nil
}

// Pending are the samples learnt since the last Settle, and a mark for Settle.
func (m *Model) Pending() (samples []Sample, mark uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.pending), m.observed
}

// Settle makes the model what stored is, which holds all samples up to mark,
// plus what was learnt since. stored is taken over and must not be used
// afterwards.
func (m *Model) Settle(stored *Model, mark uint64) {
	stored.mu.Lock()
	defer stored.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	since := min(int(m.observed-mark), len(m.pending))
	m.pending = slices.Delete(m.pending, 0, len(m.pending)-since)
	m.series, m.seq = stored.series, stored.seq
	for i := range m.pending {
		m.learn(&m.pending[i])
	}
}

// Forget drops the series for which drop returns true and their pending
// samples, and returns how many series there were.
func (m *Model) Forget(drop func(Key) bool) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.series {
		if drop(k) {
			delete(m.series, k)
			n++
		}
	}
	m.pending = slices.DeleteFunc(m.pending, func(s Sample) bool { return drop(s.Key) })
	return n
}
