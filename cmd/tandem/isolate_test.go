//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIsolateRunsAgain has a child that dies the first time and ends well when
// the device on which it died is left out.
func TestIsolateRunsAgain(t *testing.T) {
	self := filepath.Join(t.TempDir(), "child")
	script := `#!/bin/sh
for a in "$@"; do case "$a" in --isolated-journal=*) j="${a#*=}";; --devices=*) d="${a#*=}";; esac; done
case "$d" in
*!opencl:1) echo '{"task":-1,"ended":true}' >> "$j"; echo "result without: $d";;
*) echo 'half a result'
   echo '{"task":0,"name":"a","devices":["cpu:0"]}' >> "$j"
   echo '{"task":1,"name":"b","after":[0],"devices":["opencl:1","cpu:0"]}' >> "$j"
   echo '{"task":2,"name":"c","after":[1],"devices":["opencl:0"]}' >> "$j"
   echo '{"task":0,"over":true}' >> "$j"
   printf '{"task":1,"ov' >> "$j"
   kill -SEGV $$;;
esac
`
	if err := os.WriteFile(self, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	a := &app{stdout: &out, stderr: &errOut, args: []string{"run", "p.yaml", "--isolate"}}
	if err := a.isolate(t.Context(), self); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "result without: !opencl:1\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if got := errOut.String(); !strings.Contains(got, `under way: "b" on opencl:1, cpu:0. No output was written; running it again without opencl:1`) {
		t.Errorf("stderr %q does not say what was done", got)
	}
}

func TestIsolateGivesUp(t *testing.T) {
	self := filepath.Join(t.TempDir(), "child")
	for script, want := range map[string]string{
		"kill -SEGV $$": "nothing had begun",
		`echo '{"task":0,"name":"a","devices":["cpu:0"]}' >> "$j"; exit 2`:                                                `under way: "a" on cpu:0`,
		`for n in 0 1; do echo "{\"task\":$n,\"name\":\"t$n\",\"devices\":[\"opencl:$n\"]}" >> "$j"; done; kill -ABRT $$`: `"t0" on opencl:0; "t1" on opencl:1`,
	} {
		text := "#!/bin/sh\nfor a in \"$@\"; do case \"$a\" in --isolated-journal=*) j=\"${a#*=}\";; esac; done\n" + script
		if err := os.WriteFile(self, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		a := &app{stdout: &out, stderr: &errOut}
		err := a.isolate(t.Context(), self)
		var work *workError
		if !errors.As(err, &work) || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%s: err = %v, want a failure of the work with %s", script, err, want)
		}
	}
}

// TestIsolateInterrupted hands an interrupt on to the child.
func TestIsolateInterrupted(t *testing.T) {
	self := filepath.Join(t.TempDir(), "child")
	ready := filepath.Join(t.TempDir(), "ready")
	text := "#!/bin/sh\nfor a in \"$@\"; do case \"$a\" in --isolated-journal=*) j=\"${a#*=}\";; esac; done\n" +
		"trap 'echo \"{\\\"task\\\":-1,\\\"ended\\\":true}\" >> \"$j\"; exit 130' INT\n: > " + ready + "\nwhile :; do read line || :; done\n"
	if err := os.WriteFile(self, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for {
			if _, err := os.Stat(ready); err == nil {
				cancel(&interruptError{os.Interrupt})
				return
			}
		}
	}()
	var out, errOut bytes.Buffer
	a := &app{stdout: &out, stderr: &errOut}
	if code := exitCode(ctx, a.isolate(ctx, self)); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}
