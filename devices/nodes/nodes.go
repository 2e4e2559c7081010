// Package nodes looks at the device nodes of graphics processors and says
// which of them exist but may not be opened. A vendor's library does not tell
// the two apart: without permission it lists no device, as if there were none.
//
// Nothing here talks to a driver; on systems without /dev a scan is empty.
package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Scanner says where to look. The zero value looks at the running system.
type Scanner struct {
	// Root is the folder that holds "dev", for tests and for containers that
	// mount the host's tree elsewhere. Default "/".
	Root string
	// GroupFile names the groups. Default: etc/group under Root.
	GroupFile string
}

// A Node is one device node.
type Node struct {
	Path    string `json:"path"` // as the program would open it: /dev/dri/renderD128
	Serves  string `json:"serves"`
	Usable  bool   `json:"usable"`
	Reason  string `json:"reason,omitempty"` // why not, in the system's words
	GroupID int    `json:"group_id"`         // owning group
	Group   string `json:"group,omitempty"`  // its name; empty where it has none (a container)
	Mode    string `json:"mode"`
}

// A Report is what a scan found.
type Report struct {
	Nodes []Node `json:"nodes,omitempty"`
	// Warnings are one line for each processor that exists and cannot be used:
	// the path, the group, and what to do.
	Warnings []string `json:"warnings,omitempty"`
	// Verdict is one line on the whole, for a program that found no graphics
	// processor.
	Verdict string `json:"verdict"`
}

// family is one kind of node and who opens it.
type family struct {
	pattern string // under the root
	serves  string
	// open says that opening and closing the node has no effect; the others
	// are only asked for their permission bits, since opening one may wake a
	// processor up.
	open bool
}

func families() []family {
	return []family{
		{"dev/dri/renderD*", "OpenCL, SYCL and compute on a GPU", true},
		{"dev/dri/by-path/*-render", "the OpenCL drivers that open a GPU by its PCI address", true},
		{"dev/kfd", "AMD compute (ROCm)", false},
		{"dev/nvidiactl", "NVIDIA compute (CUDA, OpenCL)", false},
		{"dev/nvidia[0-9]*", "NVIDIA compute (CUDA, OpenCL)", false},
	}
}

// Scan looks at the nodes. It opens render nodes to see whether that is
// allowed, and closes them at once.
func (s Scanner) Scan() Report {
	root := s.Root
	if root == "" {
		root = "/"
	}
	groups := s.GroupFile
	if groups == "" {
		groups = filepath.Join(root, "etc/group")
	}
	names := groupNames(groups)
	var r Report
	for _, f := range families() {
		// A pattern that is a constant cannot be malformed.
		paths, _ := filepath.Glob(filepath.Join(root, f.pattern))
		slices.SortFunc(paths, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		})
		for _, p := range paths {
			info, err := os.Stat(p)
			if err != nil {
				continue // a dangling link: nothing to open
			}
			rel, err := filepath.Rel(root, p)
			if err != nil {
				continue
			}
			n := Node{Path: "/" + filepath.ToSlash(rel), Serves: f.serves, GroupID: groupOf(info), Mode: fmt.Sprintf("%04o", info.Mode().Perm())}
			n.Group = names[n.GroupID]
			err = mayUse(p, f.open)
			n.Usable = err == nil
			if err != nil {
				n.Reason = reason(err)
			}
			r.Nodes = append(r.Nodes, n)
		}
	}
	r.judge()
	return r
}

// reason is the system's word for err, without the path.
func reason(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

// judge writes the verdict and the warnings.
func (r *Report) judge() {
	usable := 0
	var refused []string
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Usable {
			usable++
			continue
		}
		refused = append(refused, n.Path)
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s exists but may not be opened (%s): it belongs to %s, mode %s; %s needs it. %s",
			n.Path, n.Reason, n.owner(), n.Mode, n.Serves, n.remedy()))
	}
	switch {
	case len(r.Nodes) == 0:
		r.Verdict = "no GPU node: this is not a matter of permissions, the machine (or the container) has no GPU or no kernel driver for it"
	case len(refused) == 0:
		r.Verdict = fmt.Sprintf("%d GPU node(s), all may be opened", usable)
	case usable == 0:
		r.Verdict = "a GPU node exists but may not be opened: " + strings.Join(refused, ", ")
	default:
		r.Verdict = fmt.Sprintf("%d GPU node(s) may be opened, %d may not: %s", usable, len(refused), strings.Join(refused, ", "))
	}
}

// owner names the group that may open the node.
func (n *Node) owner() string {
	if n.Group == "" {
		return fmt.Sprintf("gid %d, which has no name here", n.GroupID)
	}
	return fmt.Sprintf("group %d (%s)", n.GroupID, n.Group)
}

// remedy is what would let this user open the node.
func (n *Node) remedy() string {
	var mode uint32
	if _, err := fmt.Sscanf(n.Mode, "%o", &mode); err == nil && mode&0o060 != 0o060 {
		return "No group may read and write it: give it one with a udev rule (MODE=\"0660\"), or start the container with the device passed in"
	}
	if n.Group == "" {
		return fmt.Sprintf("Start the container with --group-add %d, or give gid %d to this user and log in again", n.GroupID, n.GroupID)
	}
	return fmt.Sprintf("Run: sudo usermod -aG %s $USER, and log in again; in a container: --group-add %d", n.Group, n.GroupID)
}

// plainName is what a group is called where commands can be pasted into a
// shell; one of another name goes by its number.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\$?$`)

// groupNames reads a file in the format of group(5); what cannot be read has no
// names.
func groupNames(path string) map[int]string {
	names := map[int]string{}
	b, err := os.ReadFile(path)
	if err != nil {
		return names
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 4)
		var id int
		if len(f) < 3 || !plainName.MatchString(f[0]) {
			continue
		}
		if _, err := fmt.Sscanf(f[2], "%d", &id); err != nil {
			continue
		}
		if _, taken := names[id]; !taken {
			names[id] = f[0]
		}
	}
	return names
}
