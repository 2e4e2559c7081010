package calibrate

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
)

func TestFitLinkFindsWhatMadeTheSamples(t *testing.T) {
	want := devices.Link{Latency: 12 * time.Microsecond, Bandwidth: 6.4e9}
	var samples []Sample
	for n := int64(4 << 10); n <= 16<<20; n *= 4 {
		samples = append(samples, Sample{n, want.Time(n)})
	}
	got := FitLink(samples)
	if d := (got.Latency - want.Latency).Abs(); d > 20*time.Nanosecond {
		t.Errorf("latency %v, want %v", got.Latency, want.Latency)
	}
	if math.Abs(got.Bandwidth/want.Bandwidth-1) > 1e-3 {
		t.Errorf("bandwidth %g, want %g", got.Bandwidth, want.Bandwidth)
	}
}

func TestFitLinkStaysPossible(t *testing.T) {
	tests := []struct {
		name    string
		samples []Sample
		want    devices.Link
	}{
		{"none", nil, devices.Link{}},
		{"no time", []Sample{{4096, 0}}, devices.Link{}},
		{"one", []Sample{{1000, time.Microsecond}}, devices.Link{Bandwidth: 1e9}},
		{"negative latency", []Sample{{1000, time.Microsecond}, {4000, 8 * time.Microsecond}}, devices.Link{Bandwidth: 1.25e9 / 1.5}},
		{"larger is faster", []Sample{{1000, 2 * time.Microsecond}, {4000, 1 * time.Microsecond}}, devices.Link{Latency: 1200 * time.Nanosecond, Bandwidth: 4e9}},
	}
	for _, tt := range tests {
		got := FitLink(tt.samples)
		if got.Latency != tt.want.Latency || math.Abs(got.Bandwidth-tt.want.Bandwidth) > 1e-6*tt.want.Bandwidth {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// small keeps the test short; the numbers are still the device's.
var small = Options{Repeats: 3, MaxCopyBytes: 1 << 20, StreamBytes: 1 << 20, PeakTime: 2 * time.Millisecond}

func checkMeasure(t *testing.T, d devices.Driver) {
	t.Helper()
	dev, err := d.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Measure(t.Context(), dev, small)
	if err != nil {
		t.Error(err)
	}
	if err := dev.Close(); err != nil {
		t.Errorf("something was left on the device: %v", err)
	}
	for name, v := range map[string]float64{"upload": c.Upload.Bandwidth, "download": c.Download.Bandwidth, "stream": c.StreamBytes} {
		if v < 1e8 || v > 1e13 {
			t.Errorf("%s: %g bytes/s is not believable", name, v)
		}
	}
	if c.PeakFlops < 1e8 || c.PeakFlops > 1e15 {
		t.Errorf("peak: %g flop/s is not believable", c.PeakFlops)
	}
	if c.LaunchLatency <= 0 || c.LaunchLatency > 0.1 {
		t.Errorf("launch latency: %g s is not believable", c.LaunchLatency)
	}
	if !c.ZeroCopy {
		t.Error("a device on the host's memory should take host pages")
	}
	t.Logf("%+v", c)
}

func TestMeasureCPU(t *testing.T) {
	devicetest.CheckGoroutines(t)
	checkMeasure(t, cpu.Driver{})
}

func TestMeasureOpenCL(t *testing.T) {
	d := &opencl.Driver{CacheDir: t.TempDir()}
	b := d.Probe(t.Context())
	if !b.Available {
		devicetest.Require(t, "opencl", b.Reason)
	}
	if !b.Devices[0].UnifiedMemory {
		t.Skipf("%s has memory of its own; the bounds of this test are for one that has not", b.Devices[0].ID)
	}
	checkMeasure(t, d)
}

func TestMeasureStops(t *testing.T) {
	dev, err := cpu.Driver{}.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := Measure(ctx, dev, small); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
	if err := dev.Close(); err != nil {
		t.Error(err)
	}
}

func TestStore(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "new", "folder")}
	d := devices.Info{ID: "opencl:1", Backend: "opencl", Ordinal: 1, Name: "H200", UUID: "5e2a", DriverVersion: "570.1"}
	if _, found, err := s.Get(&d); found || err != nil {
		t.Fatalf("found %v, error %v in an empty store", found, err)
	}
	want := devices.Calibration{Upload: devices.Link{Latency: 10 * time.Microsecond, Bandwidth: 25e9}, PeakFlops: 6e13,
		MeasuredAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err := s.Put(&d, want); err != nil {
		t.Fatal(err)
	}
	moved := d
	moved.ID, moved.Ordinal = "opencl:0", 0 // a card with a UUID is known wherever it is listed
	if got, found, err := s.Get(&moved); !found || err != nil || got != want {
		t.Errorf("got %+v, %v, %v; want %+v", got, found, err, want)
	}
	newer := d
	newer.DriverVersion = "575.0"
	if _, found, err := s.Get(&newer); found || err != nil {
		t.Errorf("another driver version: found %v, error %v; want none", found, err)
	}
	fewer := d
	fewer.ComputeUnits = 2
	if _, found, err := s.Get(&fewer); found || err != nil {
		t.Errorf("another number of compute units: found %v, error %v; want none", found, err)
	}
}

func TestStoreSetsDamageAside(t *testing.T) {
	d := devices.Info{ID: "cpu:0", Backend: "cpu", Name: "host"}
	good := devices.Calibration{MeasuredAt: time.Unix(1, 0).UTC()}
	for name, content := range map[string]string{
		"empty": "", "cut": `{"version":1,"devi`, "other version": `{"version":9}`,
		"unknown key": `{"version":1,"speed":3}`, "another device": `{"version":1,"device":{"backend":"x"}}`,
	} {
		s := Store{Dir: t.TempDir()}
		if err := s.Put(&d, good); err != nil {
			t.Fatal(err)
		}
		path := s.path(identityOf(&d))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, found, err := s.Get(&d)
		if found || err == nil || !strings.Contains(err.Error(), ".damaged") || !strings.Contains(err.Error(), "cpu:0") {
			t.Errorf("%s: found %v, error %v; want an error that names the device and the file set aside", name, found, err)
		}
		if b, err := os.ReadFile(path + ".damaged"); err != nil || string(b) != content {
			t.Errorf("%s: set aside %q, %v; want the content", name, b, err)
		}
		if _, found, err := s.Get(&d); found || err != nil {
			t.Errorf("%s: second look: found %v, error %v; want not measured", name, found, err)
		}
		if err := s.Put(&d, good); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, found, _ := s.Get(&d); !found {
			t.Errorf("%s: not found after measuring again", name)
		}
	}
}

func TestNoFolder(t *testing.T) {
	d := devices.Info{ID: "cpu:0"}
	if err := (Store{}).Put(&d, devices.Calibration{}); err != nil {
		t.Error(err)
	}
	if _, found, err := (Store{}).Get(&d); found || err != nil {
		t.Errorf("found %v, error %v", found, err)
	}
}
