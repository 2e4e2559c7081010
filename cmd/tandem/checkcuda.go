package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/bridge"
)

// isCUDA reports whether a file is a source in CUDA C.
func isCUDA(name string) bool { return strings.HasSuffix(name, ".cu") }

// oldestCUDA is the compute capability that kernels in CUDA C are compiled for
// where nobody says which.
const oldestCUDA = 75

// capabilities reads compute capabilities, "8.0" or "80".
func capabilities(list []string) ([]int, error) {
	var archs []int
	for _, text := range list {
		major, minor, dotted := strings.Cut(strings.TrimSpace(text), ".")
		if !dotted && len(major) > 1 {
			major, minor = major[:len(major)-1], major[len(major)-1:]
		}
		a, err1 := strconv.Atoi(major)
		b, err2 := strconv.Atoi(minor)
		if err1 != nil || err2 != nil || a < 5 || a > 99 || b < 0 || b > 9 {
			return nil, fmt.Errorf("--cuda %q: want compute capabilities, as in 8.0,9.0: %w", text, devices.ErrInvalid)
		}
		archs = append(archs, 10*a+b)
	}
	return archs, nil
}

// checkCUDA compiles kernels with NVRTC, for which no GPU is needed. Without
// archs it compiles those in CUDA C that no device has compiled.
func (a *app) checkCUDA(list []*kernels.Kernel, archs []int, doc *checkJSON) error {
	asked := len(archs) > 0
	if !asked {
		archs = []int{oldestCUDA}
		list = slices.DeleteFunc(slices.Clone(list), func(k *kernels.Kernel) bool {
			return k.Variant(devices.LangCUDA) == nil || tried(doc, k.Name)
		})
		if len(list) == 0 {
			return nil
		}
	}
	lib, err := nvrtc.Open(nvrtc.Options{})
	if err != nil && asked {
		return fmt.Errorf("--cuda: %w; %s", err, nvrtc.Hint)
	}
	if err != nil {
		a.warn("kernels in CUDA C were not compiled: %v; %s", err, nvrtc.Hint)
		return nil
	}
	var errs []error
	for _, arch := range archs {
		d, err := a.compileCUDA(lib, arch, list)
		errs = append(errs, err)
		doc.Devices = append(doc.Devices, d)
	}
	return errors.Join(errs...)
}

// tried reports whether a device has compiled a kernel or failed to.
func tried(doc *checkJSON, kernel string) bool {
	for _, d := range doc.Devices {
		for _, k := range d.Kernels {
			if k.Kernel == kernel && k.Refused == "" {
				return true
			}
		}
	}
	return false
}

// cudaBuild is a source compiled for one compute capability.
type cudaBuild struct {
	log     string
	err     error
	refused map[string]error // by the bridge
}

// compileCUDA compiles kernels for one compute capability, each source once.
func (a *app) compileCUDA(lib *nvrtc.Library, arch int, list []*kernels.Kernel) (checkDeviceJSON, error) {
	id := fmt.Sprintf("cuda %d.%d", arch/10, arch%10)
	d := checkDeviceJSON{ID: id, Kernels: []checkBuildJSON{}}
	if !slices.Contains(lib.Archs(), arch) {
		return d, fmt.Errorf("NVRTC %v compiles for no compute capability %d.%d, only for %v: %w", lib.Version(), arch/10, arch%10, lib.Archs(), devices.ErrInvalid)
	}
	entries := map[*devices.Source][]string{}
	for _, k := range list {
		if v := cudaVariant(k); v != nil {
			entries[v.Source] = append(entries[v.Source], v.Entry)
		}
	}
	builds := map[*devices.Source]*cudaBuild{}
	var errs []error
	for _, k := range list {
		j := checkBuildJSON{Kernel: k.Name}
		v := cudaVariant(k)
		if v == nil {
			j.Refused = "it is neither OpenCL C nor CUDA C"
			d.Kernels = append(d.Kernels, j)
			continue
		}
		b := builds[v.Source]
		if b == nil {
			b = buildCUDA(lib, arch, id, v.Source, entries[v.Source])
			builds[v.Source] = b
			if j.Log = strings.TrimSpace(b.log); j.Log != "" {
				a.warn("%s: %s: the compiler says:\n%s", id, v.Source.Name, indent(j.Log))
			}
			errs = append(errs, b.err)
		}
		err := b.err
		if why := b.refused[v.Entry]; err == nil && why != nil {
			err = why
			errs = append(errs, why)
		}
		if j.Built = err == nil; err != nil {
			j.Error = err.Error()
		}
		d.Kernels = append(d.Kernels, j)
	}
	return d, errors.Join(errs...)
}

// cudaVariant is the variant of a kernel that goes to NVIDIA's GPUs.
func cudaVariant(k *kernels.Kernel) *kernels.Variant {
	if v := k.Variant(devices.LangCUDA); v != nil {
		return v
	}
	return k.Variant(devices.LangOpenCL)
}

// buildCUDA compiles a source.
func buildCUDA(lib *nvrtc.Library, arch int, id string, src *devices.Source, entries []string) *cudaBuild {
	b := &cudaBuild{}
	r := nvrtc.Request{Name: src.Name, Text: string(src.Text), Arch: arch, Options: src.Options, Names: entries}
	log := func(s string) string { return s }
	if src.Language == devices.LangOpenCL {
		p, err := bridge.Translate(src)
		if err != nil {
			b.err = onDevice(err, id, log)
			return b
		}
		r.Text, r.Options, r.Names, log, b.refused = p.Text, p.Options, nil, p.Log, p.Refused
	}
	res, err := lib.Compile(r)
	if err != nil {
		b.err = onDevice(err, id, log)
		return b
	}
	b.log = log(res.Log)
	return b
}

// onDevice names what was compiled for in a compiler's error, and brings its
// log into terms of the source.
func onDevice(err error, id string, log func(string) string) error {
	if c, ok := errors.AsType[*devices.CompileError](err); ok {
		mine := *c
		mine.Device, mine.Log = id, log(c.Log)
		return &mine
	}
	return fmt.Errorf("%s: %w", id, err)
}
