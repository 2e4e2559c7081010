package sim

import (
	"cmp"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/tandemrun/tandem/devices"
)

// Parse reads a description from YAML text; file is its name for messages.
// Keys are those of the fault messages:
//
//	devices:
//	  - name: big                 # default: the kind
//	    kind: gpu                 # cpu, gpu, fpga or accelerator
//	    count: 2                  # so many alike
//	    compute_units: 80
//	    queues: 1
//	    flops: 10Tflop/s
//	    bandwidth: 800GB/s        # of its own memory
//	    launch_latency: 5us
//	    memory: 16GiB
//	    max_alloc: 4GiB
//	    local_memory: 64KiB
//	    unified: false            # true: works on the host's memory
//	    copy_engines: 2           # 0: copies take the compute engine
//	    h2d: {latency: 10us, bandwidth: 12GB/s}
//	    d2h: {latency: 10us, bandwidth: 12GB/s}
//	    peer: {latency: 10us, bandwidth: 40GB/s}
//	    kernels:
//	      linalg_gemm: {flops_per_item: 2048, bytes_per_item: 12}
//	      nop: {time: 1ms}
//	      "*": {items_per_second: 1e9}
//	    slowdown: 1.5
//	    throttle: [{from: 5ms, to: 10ms, factor: 3}]
//	    noise: {spread: 0.05, seed: 1}
//	    lost_at: 12ms
//	    out_of_memory: [{from: 2ms, to: 3ms}]
//
// Spec says what each means. What is wrong with the file is a [Faults] with
// everything that is wrong, in the order of the lines.
func Parse(file string, text []byte) (Description, error) {
	r := &reader{file: file, places: map[string]*token.Token{}}
	d := r.description(text)
	if len(r.found) == 0 {
		for _, f := range d.check() {
			r.fault(r.places[f.path], f.path, "%s", f.Message)
		}
	}
	if len(r.found) == 0 {
		return d, nil
	}
	slices.SortStableFunc(r.found, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	found := make(Faults, len(r.found))
	for i, p := range r.found {
		found[i] = p.Fault
	}
	return Description{}, found
}

func (r *reader) description(text []byte) (d Description) {
	body := r.parse(text)
	if body == nil {
		return d
	}
	r.places["devices"] = body.GetToken()
	r.mapping(body, "", fields{
		"version": func(path string, n ast.Node) {
			v := 1
			if r.whole(&v)(path, n); v != 1 {
				r.fault(n.GetToken(), path, "version %d; this program reads version 1", v)
			}
		},
		"devices": r.list(func(path string, n ast.Node) {
			d.Devices = append(d.Devices, Spec{})
			r.spec(path, n, &d.Devices[len(d.Devices)-1])
		}),
	})
	return d
}

func (r *reader) spec(path string, n ast.Node, s *Spec) {
	var kind string
	r.mapping(n, path, fields{
		"name": r.text(&s.Name), "kind": r.text(&kind), "count": r.counted(&s.Count), "compute_units": r.counted(&s.ComputeUnits), "queues": r.counted(&s.Queues),
		"flops": r.quantity(&s.Flops, flopsRate), "bandwidth": r.quantity(&s.Bandwidth, bytesRate), "launch_latency": r.time(&s.LaunchLatency),
		"memory": r.bytes(&s.Memory), "max_alloc": r.bytes(&s.MaxAlloc), "local_memory": r.bytes(&s.LocalMemory), "unified": r.truth(&s.Unified),
		"pinned": r.bytes(&s.Pinned), "pageable": r.quantity(&s.Pageable, plain),
		"copy_engines": r.whole(&s.CopyEngines), "h2d": r.link(&s.Upload), "d2h": r.link(&s.Download),
		"peer": func(path string, n ast.Node) {
			s.Peer = &devices.Link{}
			r.link(s.Peer)(path, n)
		},
		"kernels": func(path string, n ast.Node) { r.kernels(path, n, s) },
		"slowdown": func(path string, n ast.Node) {
			s.Slowdown = 1
			if r.quantity(&s.Slowdown, plain)(path, n); s.Slowdown == 0 {
				r.fault(n.GetToken(), path, "want more than 0")
			}
		},
		"throttle": r.windows(&s.Throttle),
		"noise": func(path string, n ast.Node) {
			r.mapping(n, path, fields{"spread": r.quantity(&s.Noise.Spread, plain), "seed": r.seed(&s.Noise.Seed)})
		},
		"lost_at":       r.time(&s.LostAt),
		"out_of_memory": r.windows(&s.OutOfMemory),
	})
	s.Kind = devices.Kind(kind)
}

func (r *reader) kernels(path string, n ast.Node, s *Spec) {
	s.Kernels = map[string]KernelSpec{}
	for _, e := range r.entries(n, path) {
		var k KernelSpec
		r.mapping(e.node, path+"."+e.name, fields{"time": r.time(&k.Time), "items_per_second": r.quantity(&k.ItemsPerSecond, itemsRate),
			"flops_per_item": r.quantity(&k.FlopsPerItem, plain), "bytes_per_item": r.quantity(&k.BytesPerItem, bytesUnit)})
		s.Kernels[e.name] = k
	}
}

func (r *reader) windows(w *[]Window) field {
	return r.list(func(path string, n ast.Node) {
		*w = append(*w, Window{})
		one := &(*w)[len(*w)-1]
		r.mapping(n, path, fields{"from": r.time(&one.From), "to": r.time(&one.To), "factor": r.quantity(&one.Factor, plain)})
		for _, missing := range []string{".to", ".factor", ".from"} {
			if r.places[path+missing] == nil {
				r.places[path+missing] = n.GetToken()
			}
		}
	})
}

func (r *reader) link(l *devices.Link) field {
	return func(path string, n ast.Node) {
		r.mapping(n, path, fields{"latency": r.time(&l.Latency), "bandwidth": r.quantity(&l.Bandwidth, bytesRate)})
	}
}
