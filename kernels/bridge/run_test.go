package bridge_test

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda"
	"github.com/tandemrun/tandem/devices/cuda/cudatest"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/devicetest"
	"github.com/tandemrun/tandem/devices/opencl"
)

// TestMain lets the test program be the child that asks vendors' libraries.
func TestMain(m *testing.M) {
	if opencl.RunProbeChild() || cuda.RunProbeChild() {
		return
	}
	os.Exit(m.Run())
}

// machine is a device with what a test needs of it.
type machine struct {
	t   *testing.T
	dev devices.Device
	q   devices.Queue
}

func openMachine(t *testing.T, d devices.Driver, name string) *machine {
	t.Helper()
	b := d.Probe(t.Context())
	reason := b.Reason
	devicetest.Require(t, name, reason)
	dev, err := d.Open(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	q, err := dev.NewQueue(devices.Compute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return &machine{t, dev, q}
}

func (m *machine) wait(e devices.Event, err error) {
	m.t.Helper()
	if err == nil {
		err = devices.Wait(m.t.Context(), e)
		e.Release()
	}
	if err != nil {
		m.t.Fatalf("%+v", err)
	}
}

// launch is one run of a kernel: over in, if there is one, into out.
type launch struct {
	entry  string
	ranges []devices.NDRange // one after the other
	in     []byte
	words  int // of out
	local  []int64
}

// run runs a launch and returns what is in out then.
func (m *machine) run(prog devices.Program, l *launch) []byte {
	m.t.Helper()
	k, err := prog.Kernel(l.entry)
	if err != nil {
		m.t.Fatalf("%s: %+v", l.entry, err)
	}
	out := make([]byte, 4*l.words)
	var args []devices.Arg
	var buffers []devices.Buffer
	for _, data := range [][]byte{l.in, out} {
		if data == nil {
			continue
		}
		b, err := m.dev.Alloc(int64(len(data)))
		if err != nil {
			m.t.Fatal(err)
		}
		m.wait(m.q.Copy(&devices.Copy{Kind: devices.HostToDevice, Dst: b, Host: data, Size: int64(len(data))}, nil))
		buffers, args = append(buffers, b), append(args, devices.Arg{Buffer: b})
	}
	for _, n := range l.local {
		args = append(args, devices.Arg{LocalBytes: n})
	}
	for _, r := range l.ranges {
		m.wait(m.q.Launch(&devices.Launch{Kernel: k, Range: r, Args: args}, nil))
	}
	m.wait(m.q.Copy(&devices.Copy{Kind: devices.DeviceToHost, Src: buffers[len(buffers)-1], Host: out, Size: int64(len(out))}, nil))
	for _, b := range buffers {
		if err := b.Free(); err != nil {
			m.t.Error(err)
		}
	}
	if err := k.Close(); err != nil {
		m.t.Error(err)
	}
	return out
}

func line(n, local int) []devices.NDRange {
	return []devices.NDRange{{Dims: 1, Size: [3]int{n}, Local: [3]int{local}}}
}

// TestRun: kernels that try every part of the language have the same bits on an
// OpenCL device as in CUDA C, executed by the test double.
func TestRun(t *testing.T) {
	_, err := nvrtc.Open(nvrtc.Options{})
	devicetest.Require(t, "nvrtc", err)
	there := openMachine(t, &cuda.Driver{Library: cudatest.Build(t)}, cudatest.Require)
	here := openMachine(t, &opencl.Driver{}, "opencl")
	const seed = 20
	rng := rand.New(rand.NewPCG(seed, 1))
	in := make([]byte, 8192*4)
	for i := range len(in) / 4 {
		binary.LittleEndian.PutUint32(in[4*i:], rng.Uint32())
	}
	cube := devices.NDRange{Dims: 3, Size: [3]int{7, 5, 3}, Local: [3]int{2, 2, 2}, Offset: [3]int{3, 2, 1}}
	upper, lower := cube, cube // two parts of a larger range
	upper.Size, upper.Offset, upper.Whole = [3]int{7, 2, 3}, [3]int{}, [3]int{7, 5, 3}
	lower.Size, lower.Offset, lower.Whole = [3]int{7, 3, 3}, [3]int{0, 2, 0}, [3]int{7, 5, 3}
	for file, launches := range map[string][]launch{
		"language.cl": {
			{entry: "literals"}, {entry: "lanes"}, {entry: "operators"}, {entry: "shifts"}, {entry: "conversions"}, {entry: "functions"},
			{entry: "integers"}, {entry: "relations"}, {entry: "halfs"}, {entry: "memory"},
		},
		"group.cl": {
			{entry: "reverse", ranges: line(96, 16), in: in, words: 96, local: []int64{16 * 4, 16 * 8}},
			{entry: "reverse", ranges: line(100, 16), in: in, words: 100, local: []int64{16 * 4, 16 * 8}},
			{entry: "copies", ranges: line(64, 16), in: in, words: 64},
			{entry: "atomics", ranges: line(200, 32), in: in, words: 16},
			{entry: "ids", ranges: []devices.NDRange{cube}, words: 7 * 5 * 3},
			{entry: "ids", ranges: []devices.NDRange{upper, lower}, words: 7 * 5 * 3},
		},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		src := &devices.Source{Name: file, Language: devices.LangOpenCL, Text: text}
		programs := map[*machine]devices.Program{}
		for _, m := range []*machine{here, there} {
			if programs[m], err = m.dev.Compile(t.Context(), src); err != nil {
				t.Fatalf("%+v", err)
			}
		}
		for _, l := range launches {
			if l.ranges == nil {
				l.ranges, l.in, l.words = line(256, 64), in, 256*16
			}
			want, got := here.run(programs[here], &l), there.run(programs[there], &l)
			wrong := 0
			for i := 0; i < len(want); i += 4 {
				if w, g := binary.LittleEndian.Uint32(want[i:]), binary.LittleEndian.Uint32(got[i:]); w != g {
					if wrong++; wrong < 5 {
						t.Errorf("%s, %s over %v: word %d (of item %d, %d) is %#x, want %#x", file, l.entry, l.ranges, i/4, i/64, i/4%16, g, w)
					}
				}
			}
			if wrong > 0 {
				t.Errorf("%s, %s: %d of %d words differ (seed %d)", file, l.entry, wrong, l.words, seed)
			}
		}
		for _, p := range programs {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
