package ragged

import (
	"fmt"
	"strings"
)

// Prelude is OpenCL C that defines the index functions for a geometry; it goes
// before a kernel that is built for one. Each has a function of
// its own, so that its argument is evaluated once and may be anything.
func Prelude(g Geometry) []byte {
	var b strings.Builder
	define := func(name string, of func(d int) string, other string) {
		fmt.Fprintf(&b, "static size_t tandem_%s(uint d) { return d == 0 ? %s : d == 1 ? %s : d == 2 ? %s : %s; }\n#define %s(d) tandem_%s(d)\n",
			name, of(0), of(1), of(2), other, "get_"+name, name)
	}
	constant := func(n int) string { return fmt.Sprintf("(size_t)%dUL", n) }
	if g.Uses&Size != 0 {
		define("global_size", func(d int) string { return constant(max(g.Whole[d], 1)) }, "(size_t)1UL")
	}
	if g.Uses&Offset != 0 {
		define("global_offset", func(d int) string { return constant(g.Offset[d]) }, "(size_t)0UL")
	}
	if g.Uses&GroupID != 0 {
		define("group_id", func(d int) string {
			return fmt.Sprintf("(get_global_id(%d) - %s) / %s", d, constant(g.Origin[d]), constant(max(g.Local[d], 1)))
		}, "(size_t)0UL")
		define("num_groups", func(d int) string {
			l := max(g.Local[d], 1)
			return constant((max(g.Whole[d], 1) + l - 1) / l)
		}, "(size_t)1UL")
	}
	if g.Uses&Enqueued != 0 {
		define("enqueued_local_size", func(d int) string { return constant(max(g.Local[d], 1)) }, "(size_t)1UL")
	}
	if g.Uses&Linear != 0 {
		fmt.Fprintf(&b, "static size_t tandem_global_linear_id(void) { return ((get_global_id(2) - %s) * %s + get_global_id(1) - %s) * %s + get_global_id(0) - %s; }\n#define get_global_linear_id() tandem_global_linear_id()\n",
			constant(g.Offset[2]), constant(max(g.Whole[1], 1)), constant(g.Offset[1]), constant(max(g.Whole[0], 1)), constant(g.Offset[0]))
	}
	return []byte(b.String())
}
