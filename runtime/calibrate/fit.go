package calibrate

import (
	"math"
	"time"

	"github.com/tandemrun/tandem/devices"
)

// Sample is one size and the time its copy took.
type Sample struct {
	Bytes int64
	Time  time.Duration
}

// FitLink fits latency and bandwidth to copies of several sizes: the α ≥ 0 and
// 1/β ≥ 0 with the least sum of squared relative errors of α + n/β. Relative,
// because otherwise the largest copy alone would decide and the latency would
// be lost in its noise. No samples, or none with a time: the zero Link.
func FitLink(samples []Sample) devices.Link {
	// Dividing each equation α + n·b = t by t weighs it by 1/t².
	var s0, s1, s2, t0, t1 float64
	n := 0
	for _, s := range samples {
		t := s.Time.Seconds()
		if t <= 0 || s.Bytes <= 0 {
			continue
		}
		x, w := float64(s.Bytes), 1/(t*t)
		s0 += w
		s1 += w * x
		s2 += w * x * x
		t0 += w * t
		t1 += w * x * t
		n++
	}
	if n == 0 {
		return devices.Link{}
	}
	det := s0*s2 - s1*s1
	alpha, perByte := 0.0, t1/s2
	if n > 1 && det > 1e-12*s0*s2 {
		alpha, perByte = (t0*s2-t1*s1)/det, (s0*t1-s1*t0)/det
	}
	switch {
	case alpha < 0:
		alpha, perByte = 0, t1/s2
	case perByte <= 0:
		// Larger copies were not slower, in the noise: the largest one shows
		// the least that the bandwidth can be.
		alpha, perByte = t0/s0, 1/largestRate(samples)
	}
	return devices.Link{Latency: time.Duration(math.Round(alpha * 1e9)), Bandwidth: 1 / perByte}
}

// largestRate is the bytes per second of the largest copy, latency included.
func largestRate(samples []Sample) float64 {
	var largest Sample
	for _, s := range samples {
		if s.Time > 0 && s.Bytes > largest.Bytes {
			largest = s
		}
	}
	return float64(largest.Bytes) / largest.Time.Seconds()
}
