// Package observe shows what a session did. A [Recorder] collects the events
// of runs; what it recorded becomes a trace for Perfetto ([WriteTrace]), a page
// for a browser ([WriteReport]) or numbers ([Stats], [HiddenRatio]).
// [Progress] and [Slog] are observers that speak while a run goes on, [Table]
// closes it.
package observe
