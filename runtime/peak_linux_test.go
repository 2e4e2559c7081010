package tandem_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cpu"
	"github.com/tandemrun/tandem/devices/sim"
	tandem "github.com/tandemrun/tandem/runtime"
	"github.com/tandemrun/tandem/runtime/arrayfile"
)

// peakVariable makes the test program the one whose memory is measured: device,
// elements, input and output file.
const peakVariable = "TANDEM_TEST_PEAK"

// staging is more than what one device's pinned memory takes.
const staging = 2 * 3 * 4 << 20

// peakRun reads a file, doubles its elements and writes the result: what a
// pipeline does.
func peakRun(t *testing.T, device string, n int64, in, out string) {
	link := devices.Link{Latency: 0, Bandwidth: 1e9}
	c := tandem.Config{Drivers: []devices.Driver{cpu.Driver{Workers: 2}}}
	if device == "sim" {
		d := machine(t, sim.Spec{Memory: 4 << 30, Upload: link, Download: link, CopyEngines: 2, Flops: 1e9, Pinned: staging})
		c = tandem.Config{Drivers: []devices.Driver{d}, Calibrations: d.Calibrations()}
	}
	s := open(t, c)
	x, y := tandem.NewSlice[int32](s, int(n)), tandem.NewSlice[int32](s, int(n))
	for _, b := range []*tandem.Slice[int32]{x, y} {
		if err := b.Buffer().Err(); err != nil {
			fmt.Printf("refused: %v\n", err)
			return
		}
	}
	err := x.Buffer().Update(t.Context(), func(mem []byte) error {
		_, err := arrayfile.Read(in, arrayfile.Options{DType: devices.Int32, Shape: []int64{n}, Zeroed: true},
			func(arrayfile.Header) ([]byte, error) { return mem, nil })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	g := tandem.NewGraph()
	g.Add(double, x, y)
	g.Return(y)
	if err := s.Run(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := y.Buffer().Read(t.Context(), func(mem []byte) error {
		return arrayfile.Write(out, arrayfile.Header{DType: devices.Int32, Shape: []int64{n}}, mem, arrayfile.Options{})
	}); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") || strings.HasPrefix(line, "VmPeak:") {
			fmt.Print(line)
		}
	}
}

// TestPeakMemory holds the largest amount of memory that a run takes to its
// input, its output and one staging pool, by the system's own figures, and runs
// again in an address space with room for no more. A device with memory of its
// own is a simulated one here, whose memory is this process's too.
func TestPeakMemory(t *testing.T) {
	if spec := os.Getenv(peakVariable); spec != "" {
		part := strings.Split(spec, ",")
		n, err := strconv.ParseInt(part[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		peakRun(t, part[0], n, part[2], part[3])
		return
	}
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	const large, small = 16 << 20, 1024 // elements of 4 bytes
	files := map[int64]string{}
	for _, n := range []int64{large, small} {
		data := make([]byte, 4*n)
		for i := range data {
			data[i] = byte(i * 7)
		}
		files[n] = filepath.Join(dir, fmt.Sprintf("in%d.raw", n))
		if err := os.WriteFile(files[n], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out.raw")
	// kib runs the program, within limit KiB of address space if that is not 0.
	kib := func(device string, n, limit int64) (resident, space int64, text string) {
		t.Helper()
		command := `exec "$0" "$@"`
		if limit > 0 {
			command = fmt.Sprintf("ulimit -v %d; %s", limit, command)
		}
		cmd := exec.Command(shell, "-c", command, os.Args[0], "-test.run=^TestPeakMemory$", "-test.count=1")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s,%d,%s,%s", peakVariable, device, n, files[n], out), "GOMAXPROCS=2")
		got, err := cmd.CombinedOutput()
		text = string(got)
		if err != nil {
			t.Fatalf("%s, %d elements, limit %d KiB: %v\n%s", device, n, limit, err, text)
		}
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) == 3 && f[0] == "VmHWM:" {
				resident, _ = strconv.ParseInt(f[1], 10, 64)
			}
			if len(f) == 3 && f[0] == "VmPeak:" {
				space, _ = strconv.ParseInt(f[1], 10, 64)
			}
		}
		return resident, space, text
	}
	const slack = 12 << 10 // KiB; Go's own heap and stacks
	for device, copies := range map[string]int64{"cpu": 1, "sim": 2} {
		allowed := copies*2*4*large>>10 + staging>>10
		base, baseSpace, _ := kib(device, small, 0)
		resident, _, _ := kib(device, large, 0)
		t.Logf("%s: %d KiB more than a small run, input and output have %d KiB", device, resident-base, 2*4*large>>10)
		if base == 0 || resident-base > allowed+slack || resident-base < copies*4*large>>10 {
			t.Errorf("%s: %d KiB at most, %d KiB with a small array: want %d more at most", device, resident, base, allowed+slack)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
		// Go maps its heap in arenas of 64 MiB.
		if got, _, text := kib(device, large, baseSpace+allowed+slack+64<<10); got == 0 {
			t.Errorf("%s within a limit: %s", device, text)
		}
		want, err := os.ReadFile(files[large])
		if err != nil {
			t.Fatal(err)
		}
		doubled := devices.View[int32](want)
		for i := range doubled {
			doubled[i] *= 2
		}
		if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s within a limit: the output differs, err %v", device, err)
		}
		// Without room for the arrays that is said, and nothing breaks.
		if _, _, text := kib(device, 8*large, baseSpace+4*large>>10); !strings.Contains(text, "refused: buffer") {
			t.Errorf("%s without room: %s", device, text)
		}
	}
}
