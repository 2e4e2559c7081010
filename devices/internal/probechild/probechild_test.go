//go:build unix

package probechild

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	behaviour = "TANDEM_TEST_BEHAVIOUR"
	backend   = "some"
)

type answer struct{ Devices int }

// TestMain is the child: it behaves as the tests tell it to.
func TestMain(m *testing.M) {
	if Answer(backend, func() any {
		switch os.Getenv(behaviour) {
		case "crash":
			_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		case "hang":
			select {}
		case "exit":
			os.Exit(0)
		case "chatty":
			os.Stdout.WriteString("a library says hello")
		}
		return answer{3}
	}) {
		return
	}
	os.Exit(m.Run())
}

func TestAsk(t *testing.T) {
	for _, c := range []struct{ how, broken string }{
		{"", ""},
		{"chatty", ""},
		{"crash", "it broke while being asked (signal 11, SIGSEGV)"},
		{"exit", "it ended the process while being asked (exit status 0)"},
	} {
		var a answer
		err := Ask(t.Context(), os.Args[0], backend, time.Minute, &a, behaviour+"="+c.how)
		if c.broken == "" {
			if err != nil || a.Devices != 3 {
				t.Errorf("%q: answer %+v, error %v", c.how, a, err)
			}
			continue
		}
		broken, ok := errors.AsType[*BrokenError](err)
		if !ok || broken.Error() != c.broken && !strings.Contains(broken.How, "segmentation fault") {
			t.Errorf("%q: error %v, want %q", c.how, err, c.broken)
		}
	}
}

func TestHang(t *testing.T) {
	var a answer
	err := Ask(t.Context(), os.Args[0], backend, 200*time.Millisecond, &a, behaviour+"=hang")
	if broken, ok := errors.AsType[*BrokenError](err); !ok || broken.How != "it gave no answer within 200ms" && !strings.Contains(broken.How, "it broke") {
		t.Errorf("a child that hangs: %v", err)
	}
}

func TestNotTheLibrary(t *testing.T) {
	var a answer
	var broken *BrokenError
	if err := Ask(t.Context(), "/nonexistent/program", backend, time.Minute, &a); err == nil || errors.As(err, &broken) {
		t.Errorf("a program that does not exist: %v", err)
	}
	cause := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := Ask(ctx, os.Args[0], backend, time.Minute, &a); !errors.Is(err, cause) {
		t.Errorf("an ended context: %v, want %v", err, cause)
	}
	if Answer("other", func() any { t.Error("asked as a child"); return nil }) {
		t.Error("this process is no child")
	}
}
