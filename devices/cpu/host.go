package cpu

import "runtime"

// host is what the machine says of its processor.
type host struct {
	name, vendor string
	mhz          int // the highest clock; 0: not known
}

func (h host) withDefaults() host {
	if h.name == "" {
		h.name = runtime.GOARCH + " processor"
	}
	return h
}
