package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// patience is how long an interrupted program waits for what it cannot stop: a
// kernel that runs on a device runs to its end.
const patience = 4 * time.Second

// interruptError is the cause of a context that a signal has ended.
type interruptError struct{ sig os.Signal }

func (e *interruptError) Error() string {
	if e.sig == syscall.SIGTERM {
		return "terminated"
	}
	return "interrupted"
}

func (e *interruptError) code() int {
	if e.sig == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}

// abandon says why the program ends while work is under way; with --json the
// document of a command that fails says it too, unless one is written already or
// just now.
func (a *app) abandon(stop *interruptError, why string) {
	text := fmt.Sprintf("%v: %s", stop, why)
	fmt.Fprintf(a.stderr, "tandem: %s\n", text)
	if a.json && a.writing.TryLock() && !a.wroteJSON {
		// Nothing is left to do if this fails.
		_ = a.write(failureJSON{Exit: stop.code(), Faults: []fault{{Message: text}}})
	}
}

// interruptible returns a context that the first SIGINT or SIGTERM ends. The
// program then drains what runs and leaves by itself. It leaves at once at a
// second signal, and after a few seconds if a kernel does not let it go; files
// that are being put in place are finished first. release ends the watching.
func (a *app) interruptible() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 4)
	listen := func() { signal.Notify(signals, os.Interrupt, syscall.SIGTERM) }
	listen()
	// A vendor library may put handlers of its own in place of ours when it is
	// loaded, without what Go's runtime needs of them. Asking again restores ours.
	a.rearm = func() {
		signal.Stop(signals)
		listen()
	}
	over := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		var stop *interruptError
		select {
		case <-over:
			return
		case s := <-signals:
			stop = &interruptError{s}
			cancel(stop)
		}
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-over:
			return
		case s := <-signals:
			stop = &interruptError{s}
			a.committing.Lock()
		case <-timer.C:
			a.committing.Lock()
			if a.committed { // it is about to end by itself
				a.committing.Unlock()
				select {
				case <-over:
					return
				case s := <-signals:
					stop = &interruptError{s}
				}
				a.committing.Lock()
				break
			}
			a.abandon(stop, "a kernel still runs on a device and cannot be stopped; leaving it behind. No output was written")
			os.Exit(stop.code())
		}
		a.abandon(stop, "again; leaving at once")
		os.Exit(stop.code())
	})
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		watcher.Wait()
		cancel(nil)
	}
}
