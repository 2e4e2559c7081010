package modelstore

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/partitioner/costmodel"
)

func sample(kernel, device string, items float64, run time.Duration) costmodel.Sample {
	return costmodel.Sample{Key: costmodel.Key{Kernel: kernel, Device: device}, Size: costmodel.Size{Items: items}, Run: run}
}

func learn(t *testing.T, m *costmodel.Model, samples ...costmodel.Sample) {
	t.Helper()
	for _, s := range samples {
		if err := m.Observe(s); err != nil {
			t.Fatal(err)
		}
	}
}

func load(t *testing.T, s *Store) *costmodel.Model {
	t.Helper()
	m, err := s.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func save(t *testing.T, s *Store, m *costmodel.Model) {
	t.Helper()
	if err := s.Save(context.Background(), m); err != nil {
		t.Fatal(err)
	}
}

// runs counts the runs kept of each series.
func runs(m *costmodel.Model) map[costmodel.Key]int {
	n := map[costmodel.Key]int{}
	for _, e := range m.Entries() {
		n[e.Key] = e.Runs
	}
	return n
}

func TestSaveMergesProcesses(t *testing.T) {
	s := &Store{filepath.Join(t.TempDir(), "model")}
	a, b := load(t, s), load(t, s)
	learn(t, a, sample("k", "d", 10, time.Millisecond), sample("k", "e", 10, time.Millisecond))
	learn(t, b, sample("k", "d", 10, time.Millisecond), sample("l", "d", 10, time.Millisecond))
	save(t, s, a)
	save(t, s, b)
	want := map[costmodel.Key]int{{Kernel: "k", Device: "d"}: 2, {Kernel: "k", Device: "e"}: 1, {Kernel: "l", Device: "d"}: 1}
	for who, got := range map[string]map[costmodel.Key]int{"on disk": runs(load(t, s)), "in the second saver": runs(b)} {
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", who, got, want)
		}
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%s: %v has %d runs, want %d", who, k, got[k], n)
			}
		}
	}
	// Nothing new, nothing written.
	before, err := os.Stat(s.file("d"))
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, b)
	after, err := os.Stat(s.file("d"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("a save of nothing replaced the file (%v)", err)
	}
}

func TestDamagedFileIsSetAside(t *testing.T) {
	s := &Store{t.TempDir()}
	m := load(t, s)
	learn(t, m, sample("k", "good", 10, time.Millisecond), sample("k", "bad", 10, time.Millisecond))
	save(t, s, m)
	for name, text := range map[string]string{"cut short": `{"version":1,"ser`, "empty": "", "from the future": `{"version":99}`, "negative": `{"version":1,"series":[{"points":[{"runs_s":[-3]}]}]}`} {
		if err := os.WriteFile(s.file("bad"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		back, err := s.Load(context.Background())
		if !errors.Is(err, devices.ErrInvalid) || !strings.Contains(err.Error(), "set aside as") {
			t.Errorf("%s: %v, want a warning that wraps ErrInvalid", name, err)
		}
		if got := runs(back); len(got) != 1 || got[costmodel.Key{Kernel: "k", Device: "good"}] != 1 {
			t.Errorf("%s: %v, want the good file alone", name, got)
		}
		kept, err := os.ReadFile(s.file("bad") + damaged)
		if err != nil || string(kept) != text {
			t.Errorf("%s: set aside as %q (%v)", name, kept, err)
		}
		if _, err := os.Stat(s.file("bad")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: still there (%v)", name, err)
		}
	}
	// Damage that shows while saving does not lose what is saved.
	if err := os.WriteFile(s.file("bad"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	learn(t, m, sample("k", "bad", 20, time.Millisecond))
	if err := s.Save(context.Background(), m); !errors.Is(err, devices.ErrInvalid) {
		t.Errorf("saving over damage: %v, want a warning", err)
	}
	if got := runs(load(t, s))[costmodel.Key{Kernel: "k", Device: "bad"}]; got != 1 {
		t.Errorf("after saving over damage %d runs, want 1", got)
	}
}

func TestUnwritableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Store{filepath.Join(file, "model")}
	m := &costmodel.Model{}
	learn(t, m, sample("k", "d", 10, time.Millisecond))
	if err := s.Save(context.Background(), m); err == nil {
		t.Error("saved below a file")
	}
	if samples, _ := m.Pending(); len(samples) != 1 {
		t.Errorf("%d samples pending, want the one that was not saved", len(samples))
	}
	if got := runs(m); got[costmodel.Key{Kernel: "k", Device: "d"}] != 1 {
		t.Errorf("the model lost what it knew: %v", got)
	}
}

func TestClear(t *testing.T) {
	s := &Store{t.TempDir()}
	m := load(t, s)
	learn(t, m, sample("k", "d", 10, 5), sample("l", "d", 10, 5), sample("k", "e", 10, 5))
	save(t, s, m)
	n, err := s.Clear(context.Background(), func(k costmodel.Key) bool { return k.Kernel == "k" })
	if n != 2 || err != nil {
		t.Errorf("cleared %d (%v), want 2", n, err)
	}
	if got := runs(load(t, s)); len(got) != 1 || got[costmodel.Key{Kernel: "l", Device: "d"}] != 1 {
		t.Errorf("left %v, want l on d", got)
	}
	if _, err := os.Stat(s.file("e")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of a device with nothing left: %v", err)
	}
	if n, err := (&Store{filepath.Join(s.Dir, "none")}).Clear(context.Background(), func(costmodel.Key) bool { return true }); n != 0 || err != nil {
		t.Errorf("a folder that is not there: %d, %v", n, err)
	}
}

func TestLockedByAnother(t *testing.T) {
	s := &Store{t.TempDir()}
	unlock, err := s.acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m := &costmodel.Model{}
	learn(t, m, sample("k", "d", 10, 5))
	if err := s.Save(ctx, m); !errors.Is(err, context.Canceled) {
		t.Errorf("saved past a lock: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	save(t, s, m)
}

const childEnv = "TANDEM_MODELSTORE_CHILD"

// Two processes that learn and save at once lose nothing.
func TestTwoProcesses(t *testing.T) {
	const rounds = 12 // fewer runs than a series keeps
	if dir := os.Getenv(childEnv); dir != "" {
		who := os.Getenv(childEnv + "_NAME")
		s := &Store{dir}
		m := load(t, s)
		for i := range rounds {
			learn(t, m, sample(who, "d", 10, time.Duration(1000+i)))
			save(t, s, m)
		}
		return
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var children []*exec.Cmd
	for i := range 2 {
		c := exec.Command(self, "-test.run=^TestTwoProcesses$")
		c.Env = append(os.Environ(), childEnv+"="+dir, childEnv+"_NAME=child"+strconv.Itoa(i))
		c.Stdout, c.Stderr = os.Stderr, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("child: %v", err)
		}
	}
	got := runs(load(t, &Store{dir}))
	for i := range 2 {
		if n := got[costmodel.Key{Kernel: "child" + strconv.Itoa(i), Device: "d"}]; n != rounds {
			t.Errorf("child %d saved %d runs, %d are there", i, rounds, n)
		}
	}
}
