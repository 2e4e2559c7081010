package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzGroups: whatever the file of groups holds, a warning is one line that
// names the group by number, and by no empty name.
func FuzzGroups(f *testing.F) {
	for _, seed := range []string{withRender, withoutRender, "", "render:x:105", ":x:105:", "a:b:c:d\nx::105:\n", "render:x:105:\r\n", "r\x00:x:105:", "r|reboot:x:105:", "+::0:::\n"} {
		f.Add(seed, 105, uint32(0o660))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, groups string, gid int, mode uint32) {
		path := filepath.Join(dir, "group")
		if err := os.WriteFile(path, []byte(groups), 0o600); err != nil {
			t.Fatal(err)
		}
		n := Node{Path: "/dev/dri/renderD128", Serves: "OpenCL", Reason: "permission denied", GroupID: gid, Group: groupNames(path)[gid], Mode: fmt.Sprintf("%04o", mode&0o777)}
		r := Report{Nodes: []Node{n}}
		r.judge()
		if len(r.Warnings) != 1 {
			t.Fatalf("%d warnings, want 1", len(r.Warnings))
		}
		if w := r.Warnings[0]; strings.ContainsAny(w, "\n\r\x00|&`") || strings.Contains(w, "()") || !strings.Contains(w, fmt.Sprint(gid)) { // the remedy may be pasted into a shell
			t.Errorf("the warning %q", w)
		}
	})
}
