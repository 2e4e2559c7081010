package tandem

import (
	"strconv"
	"sync"
)

// names are the tasks' names. Most are never asked for, so they are made when
// the first one is.
type names struct {
	given map[string]int // task by the name that it was given

	mu   sync.Mutex // several runs of a graph may report at once
	made []string   // by task; fewer than there are tasks: to be made again
}

// give gives a task a name instead of the one it was given before, if any;
// false: another task has been given it.
func (n *names) give(name, old string, task int) bool {
	if other, taken := n.given[name]; taken && other != task {
		return false
	}
	if n.given == nil {
		n.given = map[string]int{}
	}
	delete(n.given, old)
	n.given[name] = task
	n.made = nil
	return true
}

// nameOf is the name of task i: the one it was given, or the kernel's, with a
// number from the second of that name on: k, k#2, k#3.
func (g *Graph) nameOf(i int) string {
	return g.allNames()[i]
}

// allNames are the names of all tasks. They are the graph's.
func (g *Graph) allNames() []string {
	n := &g.names
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.made) != g.Len() {
		n.made = g.makeNames()
	}
	return n.made
}

func (g *Graph) makeNames() []string {
	made := make([]string, g.Len())
	last := map[string]*int{} // number given last, by kernel
	base, count := "", new(int)
	last[base] = count
	for i := range made {
		t := g.task(i)
		if name := t.wish().name; name != "" {
			made[i] = name
			continue
		}
		if k := t.call.Kernel.Name; k != base {
			base = k
			if count = last[base]; count == nil {
				count = new(int)
				last[base] = count
			}
		}
		for made[i] == "" {
			*count++
			name := base
			if *count > 1 {
				name += "#" + strconv.Itoa(*count)
			}
			if _, taken := g.names.given[name]; !taken {
				made[i] = name
			}
		}
	}
	return made
}
