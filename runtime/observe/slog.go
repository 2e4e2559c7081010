package observe

import (
	"context"
	"log/slog"

	tandem "github.com/tandemrun/tandem/runtime"
)

// Slog is an observer that writes to a log: runs at level Info, a failed one
// at Error, faults at Warn, and launches, copies and decisions at Debug. What
// the log would not show costs a look at its level.
func Slog(l *slog.Logger) tandem.Observer {
	ctx := context.Background()
	return tandem.Observer{
		RunStarted: func(e tandem.RunStarted) {
			l.LogAttrs(ctx, slog.LevelInfo, "run started", slog.Int64("run", e.Run), slog.String("name", e.Name),
				slog.Int("tasks", len(e.Tasks)), slog.Int("devices", len(e.Devices)))
		},
		Launched: func(e tandem.LaunchEvent) {
			if e.Err == nil && !l.Enabled(ctx, slog.LevelDebug) {
				return
			}
			attrs := []slog.Attr{slog.Int64("run", e.Run), slog.String("task", e.Name), slog.String("kernel", e.Kernel),
				slog.String("device", e.Device), slog.String("queue", e.Queue), slog.Int64("work_items", e.Range.Items()),
				slog.Duration("took", e.Times.Run())}
			if e.Parts > 1 {
				attrs = append(attrs, slog.Int("part", e.Part), slog.Int("parts", e.Parts))
			}
			done(ctx, l, "launch", e.Err, attrs)
		},
		Copied: func(e tandem.CopyEvent) {
			if e.Err == nil && !l.Enabled(ctx, slog.LevelDebug) {
				return
			}
			done(ctx, l, "copy", e.Err, []slog.Attr{slog.Int64("run", e.Run), slog.String("buffer", e.Buffer),
				slog.String("from", e.From), slog.String("to", e.To), slog.Int64("bytes", e.Bytes),
				slog.Bool("zero_copy", e.ZeroCopy), slog.Duration("took", e.Times.Run())})
		},
		Decided: func(e tandem.DecisionEvent) {
			if !l.Enabled(ctx, slog.LevelDebug) {
				return
			}
			names := make([]string, len(e.Chosen))
			for i, s := range e.Chosen {
				names[i] = s.Device
			}
			l.LogAttrs(ctx, slog.LevelDebug, "decision", slog.Int64("run", e.Run), slog.Int("task", e.Task),
				slog.Any("devices", names), slog.Int("candidates", len(e.Candidates)), slog.String("reason", e.Reason))
		},
		Faulted: func(e tandem.FaultEvent) {
			l.LogAttrs(ctx, slog.LevelWarn, "fault", slog.Int64("run", e.Run), slog.Int("task", e.Task),
				slog.String("device", e.Device), slog.Any("error", e.Err), slog.String("action", e.Action))
		},
		RunFinished: func(e tandem.RunFinished) {
			level, attrs := slog.LevelInfo, []slog.Attr{slog.Int64("run", e.Run)}
			if e.Err != nil {
				level, attrs = slog.LevelError, append(attrs, slog.Any("error", e.Err))
			}
			l.LogAttrs(ctx, level, "run finished", attrs...)
		},
	}
}

// done logs an operation that is over.
func done(ctx context.Context, l *slog.Logger, what string, err error, attrs []slog.Attr) {
	if err != nil {
		l.LogAttrs(ctx, slog.LevelWarn, what+" failed", append(attrs, slog.Any("error", err))...)
		return
	}
	l.LogAttrs(ctx, slog.LevelDebug, what, attrs...)
}
