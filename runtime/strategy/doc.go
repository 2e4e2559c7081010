// Package strategy has ways to spread work over devices, as functions over
// graphs: the same tasks on different data ([DataParallel]), different tasks on
// the same data one behind the other ([PipelineParallel]), one large product in
// pieces ([ModelParallel]), a chain that stays where it is ([Fuse]), and a
// rehearsal that tells the cost model what to expect ([WarmUp]).
//
// All of them only add tasks, pin them, and make buffers for what lies between
// them; the session plans, moves bytes and runs as ever. What they predict comes
// from the session's cost model: without a warm-up that is data sheets.
//
// docs/strategies.md says which to take when.
package strategy
