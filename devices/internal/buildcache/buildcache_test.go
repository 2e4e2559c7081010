package buildcache

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var sample = Entry{Binary: []byte{0, 1, 2, 255}, Log: "k.cl:5: warning: unused variable\n", Meta: []byte("{}")}

func equal(a, b Entry) bool {
	return string(a.Binary) == string(b.Binary) && a.Log == b.Log && string(a.Meta) == string(b.Meta)
}

func TestPutGet(t *testing.T) {
	c := Open(filepath.Join(t.TempDir(), "new", "builds"), 0)
	k := MakeKey("source", "-O2", "device", "1.0")
	if _, ok := c.Get(k); ok {
		t.Fatal("hit in a cache that was never written")
	}
	if !c.Put(k, sample) {
		t.Fatal("not stored")
	}
	got, ok := c.Get(k)
	if !ok || !equal(got, sample) {
		t.Errorf("got %+v, %v, want %+v", got, ok, sample)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(c.dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("folder has mode %v (%v), want 0700", info.Mode().Perm(), err)
		}
	}
	other := Entry{Binary: []byte("second")}
	if !c.Put(k, other) {
		t.Fatal("not replaced")
	}
	if got, _ := c.Get(k); !equal(got, other) {
		t.Errorf("after the second Put: %+v", got)
	}
}

func TestKeyBorders(t *testing.T) {
	seen := map[Key]string{}
	for _, parts := range [][]string{{}, {""}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"c", "ab"}} {
		k := MakeKey(parts...)
		if prev, dup := seen[k]; dup {
			t.Errorf("%q has the key of %s", parts, prev)
		}
		seen[k] = fmt.Sprintf("%q", parts)
	}
}

func TestDamage(t *testing.T) {
	c := Open(t.TempDir()+"/builds", 0)
	k := MakeKey("x")
	c.Put(k, sample)
	good, err := os.ReadFile(c.path(k))
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if err := os.WriteFile(c.path(k), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x10
		write(bad)
		if _, ok := c.Get(k); ok {
			t.Fatalf("byte %d flipped: still a hit", i)
		}
		write(good[:i])
		if _, ok := c.Get(k); ok {
			t.Fatalf("cut to %d bytes: still a hit", i)
		}
	}
	write(append(good, 0))
	if _, ok := c.Get(k); ok {
		t.Error("a byte too many: still a hit")
	}
	if !c.Put(k, sample) {
		t.Fatal("a damaged entry is not replaced")
	}
	if got, ok := c.Get(k); !ok || !equal(got, sample) {
		t.Errorf("after replacing: %+v, %v", got, ok)
	}
	// An entry under another's name is a miss as well.
	if err := os.WriteFile(c.path(MakeKey("y")), good, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Get(MakeKey("y")); ok {
		t.Error("the entry of another key is a hit")
	}
}

func TestEviction(t *testing.T) {
	entry := Entry{Binary: make([]byte, 1000)}
	size := int64(len(encode(Key{}, entry)))
	c := Open(t.TempDir()+"/builds", 4*size)
	key := func(i int) Key { return MakeKey(fmt.Sprint(i)) }
	start := time.Now().Add(-time.Hour)
	for i := range 4 {
		c.Put(key(i), entry)
		at := start.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(c.path(key(i)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	c.Get(key(0)) // now the most recently used
	c.Put(key(4), entry)
	c.Put(key(5), entry)
	for i, want := range []bool{true, false, false, true, true, true} {
		if _, err := os.Stat(c.path(key(i))); (err == nil) != want {
			t.Errorf("entry %d kept: %v, want %v", i, err == nil, want)
		}
	}
	if c.Put(key(9), Entry{Binary: make([]byte, 5*size)}) {
		t.Error("an entry larger than the limit was stored")
	}
	if _, ok := c.Get(key(5)); !ok {
		t.Error("the oversized entry drove the others out")
	}
}

func TestAbandonedFiles(t *testing.T) {
	c := Open(t.TempDir()+"/builds", 0)
	c.Put(MakeKey("a"), sample)
	old, fresh := filepath.Join(c.dir, "new-1.tmp"), filepath.Join(c.dir, "new-2.tmp")
	for _, f := range []string{old, fresh} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Now().Add(-2 * abandonedAfter)
	if err := os.Chtimes(old, at, at); err != nil {
		t.Fatal(err)
	}
	c.Put(MakeKey("b"), sample)
	if _, err := os.Stat(old); err == nil {
		t.Error("a temporary file of two hours ago is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("a fresh temporary file, perhaps another process's, was removed")
	}
}

func TestUnusableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]string{"none": "", "below a file": filepath.Join(file, "builds"), "a file": file}
	if runtime.GOOS != "windows" {
		open := filepath.Join(t.TempDir(), "open")
		if err := os.Mkdir(open, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
		dirs["writable for all"] = open
		if os.Geteuid() == 0 {
			foreign := filepath.Join(t.TempDir(), "foreign")
			if err := os.Mkdir(foreign, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(foreign, 12345, 12345); err != nil {
				t.Fatal(err)
			}
			dirs["somebody else's"] = foreign
		}
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		dirs["not writable"] = "/proc/self/builds"
	}
	for name, dir := range dirs {
		c := Open(dir, 0)
		if c.Put(MakeKey("k"), sample) {
			t.Errorf("%s: Put says stored", name)
		}
		if _, ok := c.Get(MakeKey("k")); ok {
			t.Errorf("%s: hit", name)
		}
	}
}

func TestDir(t *testing.T) {
	t.Setenv(DirVariable, "/somewhere/else")
	if got := Dir(); got != "/somewhere/else" {
		t.Errorf("Dir() = %q, want the variable's value", got)
	}
	t.Setenv(DirVariable, "")
	if got := Dir(); got != "" {
		t.Errorf("Dir() = %q with an empty variable, want none", got)
	}
	if runtime.GOOS == "linux" {
		t.Setenv("XDG_CACHE_HOME", "/cache")
		os.Unsetenv(DirVariable) // Setenv above restores it
		if got := Dir(); got != "/cache/tandem" {
			t.Errorf("Dir() = %q, want /cache/tandem", got)
		}
	}
}

// TestTwoProcesses has the test program itself write to one folder from two
// more processes while this one reads: every hit has to be whole.
func TestTwoProcesses(t *testing.T) {
	const variable = "TANDEM_TEST_CACHE_WRITER"
	if dir := os.Getenv(variable); dir != "" {
		c := Open(dir, 200_000)
		for i := range 300 {
			n := i % 7
			c.Put(MakeKey(fmt.Sprint(n)), Entry{Binary: []byte(strings.Repeat(fmt.Sprint(n), 10_000*(n+1)))})
		}
		return
	}
	dir := filepath.Join(t.TempDir(), "builds")
	var wg sync.WaitGroup
	for range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTwoProcesses$")
		cmd.Env = append(os.Environ(), variable+"="+dir)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("writer: %v\n%s", err, out)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	c, hits := Open(dir, 200_000), 0
	for {
		for n := range 7 {
			e, ok := c.Get(MakeKey(fmt.Sprint(n)))
			if !ok {
				continue
			}
			hits++
			if want := strings.Repeat(fmt.Sprint(n), 10_000*(n+1)); string(e.Binary) != want {
				t.Fatalf("entry %d has %d bytes, want %d", n, len(e.Binary), len(want))
			}
		}
		select {
		case <-done:
			if hits == 0 {
				t.Error("no hit at all")
			}
			return
		default:
		}
	}
}
