package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood","Elapsed":0}
{"Action":"output","Package":"m/a","Test":"TestNotHere","Output":"=== RUN   TestNotHere\n"}
{"Action":"output","Package":"m/a","Test":"TestNotHere","Output":"    a_test.go:3: opencl: no library\n"}
{"Action":"output","Package":"m/a","Test":"TestNotHere","Output":"--- SKIP: TestNotHere (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestNotHere","Elapsed":0}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"    a_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad","Elapsed":0.1}
{"Action":"fail","Package":"m/a","Elapsed":1.25}
{"Action":"pass","Package":"m/b","Elapsed":0.5}
{"ImportPath":"m/c","Action":"build-output","Output":"c.go:1:1: broken\n"}
{"Action":"fail","Package":"m/c","Elapsed":0,"FailedBuild":"m/c"}
go: a line of its own
`

func TestCount(t *testing.T) {
	var out strings.Builder
	got, err := count(strings.NewReader(events), &out)
	if err != nil {
		t.Fatal(err)
	}
	if want := (tally{1, 2, 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	const want = `    a_test.go:9: got 1, want 2
FAIL  m/a  1.2 s
ok    m/b  0.5 s
c.go:1:1: broken
FAIL  m/c  0.0 s
go: a line of its own
skip  m/a TestNotHere: a_test.go:3: opencl: no library
1 passed, 2 failed, 1 skipped
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestKeepAddsALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts")
	for _, c := range []tally{{5, 0, 1}, {2, 1, 0}} {
		if err := c.keep(path); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "5 0 1\n2 1 0\n" {
		t.Errorf("file holds %q, %v", b, err)
	}
}
