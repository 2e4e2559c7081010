package cuda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/devices/cuda/nvrtc"
	"github.com/tandemrun/tandem/devices/internal/argcheck"
	"github.com/tandemrun/tandem/devices/internal/ragged"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/bridge"
)

// compilers are what turns sources into PTX.
type compilers struct {
	nvrtc    *nvrtc.Library // nil: there is none
	err      error          // why
	driver   nvrtc.Version  // what the driver supports
	warnings []string
}

// findCompilers looks for an NVRTC that the driver's version of CUDA takes.
func findCompilers(cudaVersion int, cacheDir string) *compilers {
	c := &compilers{driver: nvrtc.Version{Major: cudaVersion / 1000, Minor: cudaVersion % 1000 / 10}}
	if c.nvrtc, c.err = nvrtc.Open(nvrtc.Options{Driver: c.driver, CacheDir: cacheDir}); c.err != nil {
		c.warnings = append(c.warnings, "CUDA C and OpenCL C cannot be compiled, only PTX and machine code be loaded: "+c.err.Error()+"; "+nvrtc.Hint)
	}
	return c
}

// languages are what a device takes with these compilers.
func (c *compilers) languages() []devices.Language {
	if c.nvrtc == nil {
		return []devices.Language{devices.LangPTX, devices.LangBinary}
	}
	return []devices.Language{devices.LangCUDA, devices.LangOpenCL, devices.LangPTX, devices.LangBinary}
}

// why says, in a message on a language that is not taken, that it could be.
func (c *compilers) why(l devices.Language) string {
	if c.nvrtc == nil && (l == devices.LangCUDA || l == devices.LangOpenCL) {
		return fmt.Sprintf(" (%v; %s)", c.err, nvrtc.Hint)
	}
	return ""
}

// request is a compilation for this device, by default for the newest
// architecture that compiler and device share.
func (d *device) request(src *devices.Source, text string) (nvrtc.Request, error) {
	c := d.traits.compilers
	r := nvrtc.Request{Name: src.Name, Text: text, Options: slices.Clone(src.Options)}
	if r.Name == "" {
		r.Name = "source"
	}
	device := 10*d.traits.major + d.traits.minor
	if r.Arch = c.nvrtc.Arch(device); r.Arch == 0 {
		return r, fmt.Errorf("%s has compute capability %d.%d, and NVRTC %v compiles for %v only: %w",
			d.info.Name, d.traits.major, d.traits.minor, c.nvrtc.Version(), c.nvrtc.Archs(), devices.ErrUnsupported)
	}
	for i := range r.Options {
		if o := r.Options[i]; strings.HasPrefix(o, "-arch") || strings.HasPrefix(o, "--gpu-architecture") {
			return r, fmt.Errorf("the option %s: the architecture is the device's: %w", o, devices.ErrInvalid)
		}
	}
	return r, nil
}

// compile makes PTX of p's source, fills in what p has to know of it, and
// returns the image to load.
func (d *device) compile(p *program) ([]byte, error) {
	src, text := p.src, string(p.src.Text)
	var translated *bridge.Program
	if src.Language == devices.LangOpenCL {
		var err error
		if translated, err = bridge.Translate(src); err != nil {
			return nil, d.renamed(err)
		}
		text = translated.Text
		with := *src
		with.Options = translated.Options
		src = &with
	}
	r, err := d.request(src, text)
	if err != nil {
		return nil, d.compileError(p.src, "", err)
	}
	res, err := d.traits.compilers.nvrtc.Compile(r)
	if translated != nil { // in terms of OpenCL C
		if c, ok := err.(*devices.CompileError); ok {
			c.Log = translated.Log(c.Log)
		} else if err == nil {
			res.Log = translated.Log(res.Log)
		}
	}
	if err != nil {
		return nil, d.renamed(err)
	}
	p.ptx, p.log, p.time, p.fromCache = res.Image, res.Log, res.Time, res.FromCache
	image, err := d.loadable(p, r)
	if err == nil && translated != nil {
		p.translated(translated)
	}
	return image, err
}

// translated takes over what the bridge knows of the kernels.
func (p *program) translated(t *bridge.Program) {
	p.entries, p.refused, p.ranged = nil, t.Refused, true
	p.uses = ragged.OpenCL(string(p.src.Text))
	for _, k := range t.Kernels {
		e := entry{symbol: k.Symbol, name: k.Entry, fixed: k.FixedLocal}
		for _, param := range k.Params {
			q := argcheck.Parameter{Name: param.Name, Type: param.Type.String(), Size: param.Type.Size}
			switch param.Kind {
			case kernels.Buffer:
				q.Space, q.Size = argcheck.Global, addressBytes
			case kernels.Local:
				q.Space, q.Size = argcheck.Local, addressBytes
			default:
				q.Space = argcheck.Value
			}
			e.params = append(e.params, q)
		}
		p.entries = append(p.entries, e)
	}
}

// renamed puts the device's id into a compiler's error.
func (d *device) renamed(err error) error {
	if c, ok := err.(*devices.CompileError); ok {
		mine := *c
		mine.Device = d.info.ID
		return &mine
	}
	return fmt.Errorf("%s: %w", d.info.ID, err)
}

// loadable is what the driver takes of a compiled program: its PTX, or machine
// code where the compiler is newer than the driver (CUDA's minor version
// compatibility), which refuses its PTX.
func (d *device) loadable(p *program, r nvrtc.Request) ([]byte, error) {
	c := d.traits.compilers
	if !c.driver.Less(c.nvrtc.Version()) {
		return p.ptx, nil
	}
	r.Cubin, r.Arch = true, 10*d.traits.major+d.traits.minor
	res, err := c.nvrtc.Compile(r)
	if err != nil {
		return nil, d.renamed(err)
	}
	var perr error
	if p.entries, perr = parsePTX(p.ptx); perr != nil {
		return nil, d.compileError(p.src, p.log, fmt.Errorf("%w: %w", perr, devices.ErrInvalid))
	}
	p.ptx = nil // what is made of it could not be loaded
	p.time += res.Time
	return res.Image, nil
}
