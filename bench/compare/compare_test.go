package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/bench"
)

func TestParsePeer(t *testing.T) {
	got, err := parsePeer([]byte("overhead.rw2.10k.us_per_task 3.5 us lower\nstream.triad.gbps 2e1 GB/s higher\n"))
	want := []bench.Result{{Name: "overhead.rw2.10k.us_per_task", Value: 3.5, Unit: "us", Better: "lower"}, {Name: "stream.triad.gbps", Value: 20, Unit: "GB/s", Better: "higher"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, wrong := range []string{"a 1 us", "a one us lower", "a NaN us lower", "a 1 us faster", "warning: no such thing"} {
		if _, err := parsePeer([]byte(wrong)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: err = %v, want one that names the line", wrong, err)
		}
	}
}

// sample is a comparison of three rounds.
func sample() *figures {
	var f figures
	add := func(system string, round int, name string, v float64, better string) {
		f.add(system, round, []bench.Result{{Name: name, Value: v, Unit: "us", Better: better}})
	}
	for round, v := range []float64{1, 2, 9} {
		add(ours, round, "overhead.rw2.100k.us_per_task", v, "lower")
		add("starpu", round, "overhead.rw2.100k.us_per_task", 20*v, "lower") // the machine was slow in the last round
	}
	add("tbb", 0, "overhead.rw2.100k.us_per_task", 0.5, "lower")
	add(ours, 0, "library.vector.add.1000000.us", 100, "lower")
	add(ours, 0, "library.vector.add.1000000.cpu.us", 300, "lower")
	add("openmp", 0, "library.vector.add.1000000.us", 120, "lower")
	add(ours, 0, "cold.exec.median_ms", 60, "lower")
	add(ours, 0, "stream.triad.gbps", 19, "higher")
	add("openmp", 0, "stream.triad.gbps", 20, "higher")
	f.borrow()
	return &f
}

func TestRows(t *testing.T) {
	all := rows(sample())
	find := func(figure, peer string) *row {
		for i := range all {
			if all[i].Figure == figure && all[i].Peer == peer {
				return &all[i]
			}
		}
		t.Fatalf("no row of %s and %q", figure, peer)
		return nil
	}
	r := find("overhead.rw2.100k.us_per_task", "starpu")
	if r.Tandem != (spread{2, 1, 9, 3}) || r.Other.Median != 40 || *r.Ratio != (spread{0.05, 0.05, 0.05, 3}) || r.Met == nil || !*r.Met {
		t.Errorf("rounds are not compared with each other: %+v, ratio %+v", r, r.Ratio)
	}
	if r := find("overhead.rw2.100k.us_per_task", "tbb"); *r.Ratio != (spread{2, 2, 2, 1}) || *r.Met || r.verdict() != "≤ 1 x tbb: not met" {
		t.Errorf("%+v says %q", r, r.verdict())
	}
	if r := find("library.vector.add.1000000.us", "openmp"); r.Met == nil || !*r.Met {
		t.Errorf("%+v", r)
	}
	if r := find("library.vector.add.1000000.cpu.us", "openmp"); r.Ratio.Median != 2.5 || r.Met != nil || r.verdict() != "slower than half" {
		t.Errorf("a device alone: %+v says %q", r, r.verdict())
	}
	if r := find("cold.exec.median_ms", ""); r.verdict() != "≤ 50: not met" {
		t.Errorf("%+v says %q", r, r.verdict())
	}
	if r := find("stream.triad.gbps", "openmp"); r.verdict() != "≥ 0.95 x openmp: met" {
		t.Errorf("%+v says %q", r, r.verdict())
	}
	if goals, met := count(all); goals != 5 || met != 3 {
		t.Errorf("%d of %d goals met, want 3 of 5", met, goals)
	}
}

func TestSpread(t *testing.T) {
	if s := spreadOf([]float64{4, 1, 2, 3}); s != (spread{2.5, 1, 4, 4}) {
		t.Errorf("even: %+v", s)
	}
	if s := spreadOf(nil); s != (spread{}) {
		t.Errorf("none: %+v", s)
	}
}

// TestReports: the JSON holds the figures, the page the machine and a table for
// each problem, the plot is XML with a bar's label.
func TestReports(t *testing.T) {
	d := document{Machine: machine{CPU: "a processor", Workers: 2, Versions: []version{{"StarPU", "1.3.10"}}}}
	d.put(problem{Name: "overhead", Date: "2026-01-02T03:04:05Z", Load: "0.1", Rows: rows(sample())})
	d.put(problem{Name: "grain", Quick: true, LeftOut: []string{"tbb in grain: no\ncompiler"}})
	var b bytes.Buffer
	if err := d.writeJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back document
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || len(back.rows()) != len(d.rows()) || back.rows()[0].Ratio == nil || back.Machine.CPU != "a processor" {
		t.Errorf("JSON: %v, %+v", err, back)
	}
	b.Reset()
	if err := d.writeMarkdown(&b, "images/x.svg"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| StarPU | 1.3.10 |", "3 of 5 goals met", "(images/x.svg)", "\n## overhead\n\nMeasured 2026-01-02T03:04:05Z with", "\n## grain\n", "A quick run",
		"| overhead.rw2.100k.us_per_task | us | 2 | starpu | 40 | 0.05 | 0.05 … 0.05 | ≤ 0.1 x starpu: met |", "- tbb in grain: no compiler\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, &b)
		}
	}
	b.Reset()
	if err := writePlot(&b, d.rows()); err != nil {
		t.Fatal(err)
	}
	text := ""
	for dec := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := tok.(xml.CharData); ok {
			text += string(c)
		}
	}
	if !strings.Contains(text, "overhead.rw2.100k.us_per_task / starpu") || strings.Contains(text, "library") {
		t.Errorf("the plot says %q", text)
	}
	if err := writePlot(io.Discard, nil); err == nil {
		t.Error("a plot of nothing is no error")
	}
	b.Reset()
	writeTable(&b, d.rows())
	if !strings.Contains(b.String(), "3 of 5 goals met") || !strings.Contains(b.String(), "slower than half") {
		t.Errorf("the table:\n%s", &b)
	}
}

// TestPage: a problem that is measured again replaces what was known of it, the
// others stay; a page of another machine is not read on.
func TestPage(t *testing.T) {
	folder := t.TempDir()
	if d, err := readDocument(filepath.Join(folder, "benchmarks.json")); err != nil || len(d.Problems) != 0 {
		t.Errorf("no page: %+v, %v", d, err)
	}
	var d document
	d.put(problem{Name: "replay"})
	if err := d.writePage(folder); err != nil { // nothing to plot
		t.Fatal(err)
	}
	d.put(problem{Name: "overhead", Rows: rows(sample())})
	d.put(problem{Name: "replay", Date: "later"})
	d.put(problem{Name: "cold"})
	if err := d.writePage(folder); err != nil {
		t.Fatal(err)
	}
	back, err := readDocument(filepath.Join(folder, "benchmarks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range back.Problems {
		names = append(names, p.Name+p.Date)
	}
	if want := []string{"cold", "overhead", "replaylater"}; !slices.Equal(names, want) {
		t.Errorf("the page has %v, want %v", names, want)
	}
	for _, f := range []string{"benchmarks.md", "images/benchmarks.svg"} {
		if _, err := os.Stat(filepath.Join(folder, f)); err != nil {
			t.Error(err)
		}
	}
	if m := (machine{CPU: "a"}); m.same(&machine{CPU: "b"}) || !m.same(&machine{CPU: "a", Go: "another"}) {
		t.Error("machines are told apart by something else than what they are")
	}
	if err := os.WriteFile(filepath.Join(folder, "benchmarks.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readDocument(filepath.Join(folder, "benchmarks.json")); err == nil || !strings.Contains(err.Error(), "benchmarks.json") {
		t.Errorf("a damaged page: %v", err)
	}
}

// TestTables: every peer has a source and a problem, every goal is of a problem
// and against a peer of it.
func TestTables(t *testing.T) {
	problems := map[string]bool{}
	for _, p := range bench.Problems() {
		problems[p.Name] = true
	}
	of := map[string]bool{}
	for _, p := range peers() {
		if _, err := os.Stat(filepath.Join("..", "peers", filepath.FromSlash(p.source))); err != nil || !problems[p.problem] || p.install == "" {
			t.Errorf("peer %+v: %v", p, err)
		}
		of[p.problem+" "+p.name] = true
	}
	for _, g := range goals() {
		problem, _, _ := strings.Cut(g.figure, ".")
		if _, err := path.Match(g.figure, "x"); err != nil || !problems[problem] || g.system != "" && !of[problem+" "+g.system] {
			t.Errorf("goal %+v: %v", g, err)
		}
	}
}

// TestPeer builds and runs a peer that needs a C compiler with OpenMP only.
func TestPeer(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler")
	}
	for _, p := range peers() {
		if p.problem != "stream" {
			continue
		}
		folder := t.TempDir()
		program, err := p.build(t.Context(), filepath.Join("..", "peers"), folder)
		if err != nil {
			t.Skip(err) // a compiler without OpenMP
		}
		c := contest{limit: 1e11, log: io.Discard}
		results, err := c.measure(t.Context(), entrant{p.name, program, []string{"--quick"}, []string{"PEER_WORKERS=1"}, parsePeer})
		if err != nil || len(results) != 1 || results[0].Name != "stream.triad.gbps" || results[0].Value <= 0 {
			t.Errorf("got %v, %v", results, err)
		}
		if again, err := p.build(t.Context(), filepath.Join("..", "peers"), folder); err != nil || again != program {
			t.Errorf("built again: %s, %v, want %s", again, err, program)
		}
		if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
			t.Errorf("the folder holds %v, %v", list, err)
		}
		if _, err := c.measure(t.Context(), entrant{p.name, program, []string{"--slow"}, nil, parsePeer}); err == nil || !strings.Contains(err.Error(), "--slow") {
			t.Errorf("a wrong argument: %v", err)
		}
	}
}

func TestUsage(t *testing.T) {
	var stderr bytes.Buffer
	for _, args := range [][]string{{"-rounds", "-1"}, {"-nothing"}, {"-limit", "0s"}} {
		if code := run(t.Context(), args, io.Discard, &stderr); code != 2 {
			t.Errorf("%v: exit %d, want 2", args, code)
		}
	}
}
