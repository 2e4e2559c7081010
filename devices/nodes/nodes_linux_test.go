package nodes

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// node is a stand-in for a device node: a plain file.
type node struct {
	path string
	gid  int
	mode os.FileMode
}

const (
	withRender    = "root:x:0:\nvideo:x:44:\nrender:x:105:\nusers:x:1000:\n"
	withoutRender = "root:x:0:\nvideo:x:44:\nusers:x:1000:\n"
)

// scanAs builds a tree and scans it with the file permissions of user 65534.
func scanAs(t *testing.T, uid int, groups string, list []node) Report {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("giving files to other groups takes root")
	}
	root := t.TempDir()
	for dir := root; strings.HasPrefix(dir, filepath.Clean(os.TempDir())+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "group"), []byte(groups), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		p := filepath.Join(root, n.path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(p, 0, n.gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, n.mode); err != nil {
			t.Fatal(err)
		}
	}
	var r Report
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The user of file accesses is a property of the thread; the thread ends
		// with this goroutine, which never unlocks it.
		runtime.LockOSThread()
		for _, call := range []uintptr{unix.SYS_SETFSGID, unix.SYS_SETFSUID} {
			if _, _, errno := unix.RawSyscall(call, uintptr(uid), 0, 0); errno != 0 {
				t.Errorf("setfsid: %v", errno)
			}
		}
		r = Scanner{Root: root, GroupFile: filepath.Join(root, "group")}.Scan()
	}()
	<-done
	return r
}

func nobody(t *testing.T, groups string, list ...node) Report {
	t.Helper()
	r := scanAs(t, 65534, groups, list)
	t.Logf("%+v", r)
	return r
}

func names(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q lacks %q", text, w)
		}
	}
}

func TestRenderNodeWithoutPermission(t *testing.T) {
	n := []node{{"dev/dri/renderD128", 105, 0o660}, {"dev/dri/card0", 44, 0o660}}
	r := nobody(t, withRender, n...)
	if len(r.Warnings) != 1 || len(r.Nodes) != 1 {
		t.Fatalf("%d warnings about %d nodes, want 1 about 1", len(r.Warnings), len(r.Nodes))
	}
	names(t, r.Warnings[0], "/dev/dri/renderD128 exists but may not be opened", "permission denied", "group 105 (render)", "usermod -aG render", "--group-add 105")
	names(t, r.Verdict, "a GPU node exists but may not be opened")
}

func TestGroupWithoutName(t *testing.T) {
	r := nobody(t, withoutRender, node{"dev/dri/renderD128", 105, 0o660})
	if len(r.Warnings) != 1 {
		t.Fatalf("%d warnings, want 1", len(r.Warnings))
	}
	names(t, r.Warnings[0], "gid 105", "--group-add 105")
	if strings.Contains(r.Warnings[0], "()") || strings.Contains(r.Warnings[0], "usermod") {
		t.Errorf("%q: names a group that has no name", r.Warnings[0])
	}
}

func TestNoNode(t *testing.T) {
	r := nobody(t, withRender)
	if len(r.Warnings) != 0 || len(r.Nodes) != 0 {
		t.Errorf("%+v: want nothing", r)
	}
	names(t, r.Verdict, "no GPU node", "not a matter of permissions")
	if strings.Contains(r.Verdict, "group") {
		t.Errorf("%q gives advice about groups", r.Verdict)
	}
}

func TestTwinByPath(t *testing.T) {
	r := nobody(t, withRender, node{"dev/dri/renderD128", 0, 0o666}, node{"dev/dri/by-path/pci-0000:00:02.0-render", 992, 0o660})
	if len(r.Warnings) != 1 {
		t.Fatalf("%d warnings, want 1", len(r.Warnings))
	}
	names(t, r.Warnings[0], "by-path/pci-0000:00:02.0-render", "992")
	names(t, r.Verdict, "1 GPU node(s) may be opened, 1 may not")
}

func TestOtherVendors(t *testing.T) {
	r := nobody(t, withRender, node{"dev/nvidia0", 0, 0o600}, node{"dev/nvidiactl", 0, 0o600}, node{"dev/kfd", 0, 0o600})
	if len(r.Warnings) != 3 {
		t.Fatalf("%d warnings, want 3", len(r.Warnings))
	}
	names(t, strings.Join(r.Warnings, "\n"), "/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "udev")
	if strings.Contains(strings.Join(r.Warnings, ""), "usermod") {
		t.Error("a group without access is offered as the remedy")
	}
}

func TestOneOfTwo(t *testing.T) {
	r := nobody(t, withRender, node{"dev/dri/renderD128", 0, 0o660}, node{"dev/dri/renderD129", 0, 0o666})
	if len(r.Warnings) != 1 || len(r.Nodes) != 2 || r.Nodes[0].Usable || !r.Nodes[1].Usable {
		t.Fatalf("%+v: want renderD129 usable and one warning for renderD128", r)
	}
	names(t, r.Warnings[0], "renderD128")
}

func TestRootMayOpenAll(t *testing.T) {
	r := scanAs(t, 0, withRender, []node{{"dev/dri/renderD128", 105, 0o660}, {"dev/kfd", 0, 0o600}})
	if len(r.Warnings) != 0 {
		t.Errorf("warnings %q, want none", r.Warnings)
	}
}

func TestOrderOfNodes(t *testing.T) {
	var list []node
	for _, i := range []int{10, 9, 0} {
		list = append(list, node{fmt.Sprintf("dev/nvidia%d", i), 0, 0o666})
	}
	r := nobody(t, withRender, list...)
	got := ""
	for _, n := range r.Nodes {
		got += n.Path + " "
	}
	if want := "/dev/nvidia0 /dev/nvidia9 /dev/nvidia10 "; got != want {
		t.Errorf("order %q, want %q", got, want)
	}
}

func TestGroupFileWithRubbish(t *testing.T) {
	p := filepath.Join(t.TempDir(), "group")
	if err := os.WriteFile(p, []byte("a:b\n\nx:y:z:\nok:x:7:\nlater:x:7:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := groupNames(p)
	if len(got) != 1 || got[7] != "ok" {
		t.Errorf("%v, want map[7:ok]", got)
	}
}
