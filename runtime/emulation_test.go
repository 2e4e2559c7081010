package tandem_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/kernels"
	tandem "github.com/tandemrun/tandem/runtime"
)

// stand is the driver of an emulated device: the host's cores under another
// name, which take kernels in Go and in Verilog.
type stand struct{ cpu.Driver }

func (stand) Name() string { return "stand" }

func (d stand) Probe(ctx context.Context) devices.Backend {
	b := d.Driver.Probe(ctx)
	b.Name = "stand"
	for i := range b.Devices {
		b.Devices[i] = disguise(b.Devices[i])
	}
	return b
}

func (d stand) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	inner, err := d.Driver.Open(ctx, ordinal)
	return standDevice{inner}, err
}

func disguise(i devices.Info) devices.Info {
	i.ID, i.Backend, i.Kind, i.PhysicalID, i.Emulated = "stand:0", "stand", devices.KindFPGA, "stand", true
	return i
}

type standDevice struct{ devices.Device }

func (d standDevice) Info() devices.Info { return disguise(d.Device.Info()) }

func ids(list []devices.Info) string {
	var s []string
	for _, d := range list {
		s = append(s, d.ID)
	}
	return strings.Join(s, " ")
}

// TestEmulatedDevicesWorkOnRequest holds who gets an emulated device.
func TestEmulatedDevicesWorkOnRequest(t *testing.T) {
	every := func(*devices.Info) bool { return true }
	for _, c := range []struct {
		drivers []devices.Driver
		devices string
		emulate func(*devices.Info) bool
		opened  string
		on      string // of the task
		shares  []float64
		ran     string
	}{
		{devices: "", opened: "cpu:0", ran: "cpu:0"},
		{devices: "!opencl", opened: "cpu:0", ran: "cpu:0"},
		{devices: "stand", opened: "stand:0", ran: "stand:0"},
		{devices: "cpu,kind=fpga", opened: "cpu:0 stand:0", shares: []float64{0.5, 0.5}, ran: "cpu:0 stand:0"},
		{devices: "", emulate: every, opened: "cpu:0 stand:0", ran: "cpu:0"},
		{devices: "", emulate: every, opened: "cpu:0 stand:0", on: "stand", ran: "stand:0"},
		{devices: "", emulate: every, opened: "cpu:0 stand:0", on: "!cpu", ran: "stand:0"},
		{devices: "", emulate: every, opened: "cpu:0 stand:0", shares: []float64{0.5, 0.5}, ran: "cpu:0"},
		{devices: "", emulate: every, opened: "cpu:0 stand:0", on: "cpu,stand?", shares: []float64{0.5, 0.5}, ran: "cpu:0 stand:0"},
		{devices: "", emulate: func(d *devices.Info) bool { return d.ID == "stand:1" }, opened: "cpu:0", on: "cpu,stand?", ran: "cpu:0"},
		{devices: "", emulate: nil, opened: "cpu:0", on: "stand?", ran: "cpu:0"},
		{drivers: []devices.Driver{stand{}}, opened: "stand:0", ran: "stand:0"},
	} {
		if c.drivers == nil {
			c.drivers = []devices.Driver{cpu.Driver{}, stand{}}
		}
		s := open(t, tandem.Config{Drivers: c.drivers, Devices: c.devices, Emulate: c.emulate})
		if got := ids(s.Devices()); got != c.opened {
			t.Errorf("%+v: opened %s", c, got)
			continue
		}
		x, y := tandem.SliceOf(s, make([]int32, 4096)), tandem.SliceOf(s, make([]int32, 4096))
		g := tandem.NewGraph()
		task := g.Add(add, x, y)
		if c.on != "" {
			task.On(c.on)
		}
		if c.shares != nil {
			task.Split(c.shares...)
		}
		if err := submit(t, s, g).Wait(t.Context()); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		var ran []string
		for _, d := range s.Stats() {
			if d.Tasks > 0 {
				ran = append(ran, d.ID)
			}
		}
		if got := strings.Join(ran, " "); got != c.ran {
			t.Errorf("%+v: ran on %s", c, got)
		}
	}
}

// TestEmulatedDeviceIsTheLastResort holds that a kernel that only an emulated
// device takes runs there, and what is said where none was opened.
func TestEmulatedDeviceIsTheLastResort(t *testing.T) {
	rtl := *add
	rtl.Variants = []kernels.Variant{{Language: devices.LangRTL, Entry: "add", Source: add.Variants[0].Source}}
	s := open(t, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}, rtlStand{}}})
	g := tandem.NewGraph()
	g.Add(&rtl, tandem.SliceOf(s, []int32{1}), tandem.SliceOf(s, []int32{2}))
	_, err := s.Plan(t.Context(), g)
	var pe *tandem.PlanError
	if !errors.As(err, &pe) || !strings.Contains(pe.Hint, "stand:0 runs it: an emulation") {
		t.Errorf("without the emulated device: %v", err)
	}

	s = open(t, tandem.Config{Drivers: []devices.Driver{cpu.Driver{}, rtlStand{}}, Emulate: func(*devices.Info) bool { return true }})
	g = tandem.NewGraph()
	g.Add(&rtl, tandem.SliceOf(s, []int32{1}), tandem.SliceOf(s, []int32{2}))
	p, err := s.Plan(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Decisions()[0]; len(d.Chosen) != 1 || d.Chosen[0].Device != "stand:0" {
		t.Errorf("the task was placed on %+v", d.Chosen)
	}
}

// rtlStand takes Verilog alone.
type rtlStand struct{ stand }

func (d rtlStand) Probe(ctx context.Context) devices.Backend {
	b := d.stand.Probe(ctx)
	for i := range b.Devices {
		b.Devices[i].Languages = []devices.Language{devices.LangRTL}
	}
	return b
}

func (d rtlStand) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	inner, err := d.stand.Open(ctx, ordinal)
	return rtlStandDevice{inner}, err
}

type rtlStandDevice struct{ devices.Device }

func (d rtlStandDevice) Info() devices.Info {
	i := d.Device.Info()
	i.Languages = []devices.Language{devices.LangRTL}
	return i
}

// TestCost holds that plans reckon with what an emulated
// device would take, not with what the emulation takes.
func TestCost(t *testing.T) {
	times := devices.Times{Start: 10, End: 10 + time.Second}
	if times.Cost() != time.Second {
		t.Errorf("of a device that is there: %v", times.Cost())
	}
	times.Model.Run = time.Millisecond
	if times.Cost() != time.Millisecond || times.Run() != time.Second {
		t.Errorf("of an emulated one: %v, it ran for %v", times.Cost(), times.Run())
	}
}

// reloading is an emulated device that holds one image at a time.
type reloading struct{ stand }

func (d reloading) Open(ctx context.Context, ordinal int) (devices.Device, error) {
	inner, err := d.stand.Open(ctx, ordinal)
	return reloadingDevice{inner}, err
}

type reloadingDevice struct{ devices.Device }

func (reloadingDevice) Loaded() string { return "add" }
func (reloadingDevice) Image(src *devices.Source) (string, time.Duration) {
	return src.Name, 100 * time.Millisecond
}

// TestPlansCountLoading holds that plans know what is loaded and what loading
// takes.
func TestPlansCountLoading(t *testing.T) {
	s := open(t, tandem.Config{Drivers: []devices.Driver{reloading{}}})
	x, y := tandem.SliceOf(s, []int32{1}), tandem.SliceOf(s, []int32{2})
	g := tandem.NewGraph()
	g.Add(add, x, y)
	g.Add(set, y, int32(7))
	g.Add(set, x, int32(7))
	p, err := s.Plan(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	if p.Predicted < 100*time.Millisecond || p.Predicted > 150*time.Millisecond {
		t.Errorf("predicted %v; want one load of 100 ms in it", p.Predicted)
	}
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if got := values(t, y); got[0] != 7 {
		t.Errorf("y = %v", got)
	}
}
