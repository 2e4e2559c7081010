package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	// The Go kernel called directly is the reference for whatever device ran.
	hits := make([]uint32, 4096)
	throws := binary.NativeEndian.AppendUint32(nil, 1000)
	args := devices.MakeArgs([]devices.HostArg{{Bytes: devices.AsBytes(hits)}, {Bytes: throws}})
	darts(devices.Range{Hi: [3]int{4096, 1, 1}, Global: [3]int{4096, 1, 1}}, &args)
	inside := 0
	for _, h := range hits {
		inside += int(h)
	}
	want := fmt.Sprintf("%d of 4096000 darts hit: pi is about %.4f\n", inside, 4*float64(inside)/4096000)
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if pi := 4 * float64(inside) / 4096000; pi < 3.13 || pi > 3.15 {
		t.Errorf("pi = %v", pi)
	}
}
