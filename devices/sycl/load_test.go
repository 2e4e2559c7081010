package sycl

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// resident is the process's memory in bytes, and the number of its files and
// threads.
func resident(t *testing.T) (rss int64, files, threads int) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		field := strings.Fields(line)
		if len(field) < 2 {
			continue
		}
		switch n, _ := strconv.ParseInt(field[1], 10, 64); field[0] {
		case "VmRSS:":
			rss = n << 10
		case "Threads:":
			threads = int(n)
		}
	}
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return rss, len(list), threads
}

// TestLongRun launches often enough for what is kept of a launch to show.
func TestLongRun(t *testing.T) {
	d := open(t)
	q, k := newQueue(t, d), kernelOf(t, compile(t, d, incSource()), "inc")
	x := filled(t, q, make([]int32, 64))
	// No more than a thousand in flight: what those need is no leak.
	const warm, n, deep = 20_000, 100_000, 1000
	for range warm / deep {
		chain(t, q, k, x, deep)
	}
	rss, files, threads := resident(t)
	for range n / deep {
		chain(t, q, k, x, deep)
	}
	rssEnd, filesEnd, threadsEnd := resident(t)
	got := fmt.Sprintf("memory grew by %d KiB, files from %d to %d, threads from %d to %d", (rssEnd-rss)>>10, files, filesEnd, threads, threadsEnd)
	t.Log(got)
	if rssEnd-rss > 8<<20 || filesEnd > files || threadsEnd > threads+2 {
		t.Errorf("over %d launches %s", n, got)
	}
	if v := contents[int32](t, q, x); v[0] != warm+n || v[63] != warm+n {
		t.Errorf("the cells hold %d and %d, want %d", v[0], v[63], warm+n)
	}
	if d.pool.made > 2*deep {
		t.Errorf("the pool holds %d events, with %d in flight at most", d.pool.made, deep)
	}
}

// TestSessions opens and closes devices, also several at a time.
func TestSessions(t *testing.T) {
	drv := need(t)
	run := func() {
		var open []*device
		for range 3 {
			dev, err := drv.Open(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, dev.(*device))
		}
		for _, d := range open {
			p, err := d.Compile(t.Context(), incSource())
			if err != nil {
				t.Fatal(err)
			}
			k, err := p.Kernel("inc")
			if err != nil {
				t.Fatal(err)
			}
			dq, err := d.NewQueue(0)
			if err != nil {
				t.Fatal(err)
			}
			b, err := d.Alloc(256)
			if err != nil {
				t.Fatal(err)
			}
			chain(t, dq.(*queue), k.(*kernel), b, 10)
			for _, err := range []error{dq.Close(), k.Close(), p.Close(), b.Free(), d.Close()} {
				if err != nil {
					t.Error(err)
				}
			}
		}
	}
	for range 3 {
		run()
	}
	rss, files, _ := resident(t)
	for range 20 {
		run()
	}
	rssEnd, filesEnd, _ := resident(t)
	t.Logf("60 sessions: memory grew by %d KiB, files from %d to %d", (rssEnd-rss)>>10, files, filesEnd)
	if rssEnd-rss > 32<<20 || filesEnd > files {
		t.Errorf("60 sessions: memory grew by %d KiB, files from %d to %d", (rssEnd-rss)>>10, files, filesEnd)
	}
}
