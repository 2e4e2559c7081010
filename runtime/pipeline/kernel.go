package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
	"github.com/tandemrun/tandem/kernels/clc"
	"github.com/tandemrun/tandem/kernels/cudasrc"
	"github.com/tandemrun/tandem/kernels/library"
	"github.com/tandemrun/tandem/kernels/spirv"
	"github.com/tandemrun/tandem/kernels/syclsrc"
)

// source is a kernel file read with one set of options, once.
type source struct {
	path string
	lang devices.Language
	opts clc.Options
	good []*kernels.Kernel
	err  error // what is wrong with others, or with all
}

// readKernel finds the kernel of a step; nil after a fault.
func (r *reader) readKernel(n *node, path string) *kernels.Kernel {
	if n.kind == kindText {
		name, ok := r.textOf(n, path)
		if !ok {
			return nil
		}
		k, err := library.Lookup(name)
		if err != nil {
			f := r.add(n, path, "%s", strings.TrimSuffix(err.Error(), ": "+devices.ErrInvalid.Error()))
			if strings.HasSuffix(name, ".cl") {
				f.Msg, f.Hint = fmt.Sprintf("%q is no built-in kernel", clip(name)), fmt.Sprintf("for a file write {file: %s, entry: NAME}", clip(name))
			}
			return nil
		}
		return k
	}
	if n.kind != kindMap {
		r.add(n, path, "want the name of a built-in kernel, or {file: k.cl, entry: name}; got %s", n.what())
		return nil
	}
	f := r.fields(n, path, "a kernel", keysOf[kernelFormat]())
	if f["file"] == nil {
		r.add(n, path, "the kernel has no file").Hint = "write {file: k.cl, entry: name}, or the name of a built-in kernel as text"
		return nil
	}
	name, ok := r.textOf(f["file"], path+".file")
	lang, known := r.language(f["lang"], f["file"], name, path)
	ok = ok && known
	entry := ""
	if e := f["entry"]; e != nil {
		var isText bool
		entry, isText = r.textOf(e, path+".entry")
		ok = ok && isText
	}
	opts, good := r.readBuildOptions(f, path)
	if !ok || !good {
		return nil
	}
	if lang == devices.LangBinary {
		return r.readBinary(f, name, entry, path)
	}
	src := r.readSource(r.p.resolve(name), lang, opts)
	if lang == devices.LangRTL {
		return r.pickRTL(src, f, name, entry, path)
	}
	if isStated(lang) {
		return r.pickStated(src, f, name, entry, path)
	}
	for _, k := range src.good {
		if k.Name == entry || (entry == "" && len(src.good) == 1 && src.err == nil) {
			return k
		}
	}
	r.sourceFault(src, f, name, entry, path)
	return nil
}

// languages are those of the kernel files that are read.
var languages = []devices.Language{devices.LangOpenCL, devices.LangCUDA, devices.LangSPIRV, devices.LangSYCL, devices.LangSYCLLibrary, devices.LangRTL}

func languageNames() []string {
	var names []string
	for _, l := range languages {
		names = append(names, string(l))
	}
	return names
}

// oneOf is "a, b or c".
func oneOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// language finds the language of a source and holds it against those that are
// read.
func (r *reader) language(lang, file *node, name, path string) (devices.Language, bool) {
	known := []devices.Language{devices.LangOpenCL, devices.LangSPIRV, devices.LangCUDA, devices.LangPTX, devices.LangSYCL, devices.LangSYCLLibrary, devices.LangRTL, devices.LangBinary, devices.LangGo}
	byExt := map[string]devices.Language{".cl": devices.LangOpenCL, ".spv": devices.LangSPIRV, ".so": devices.LangSYCLLibrary, ".cu": devices.LangCUDA, ".ptx": devices.LangPTX,
		".cpp": devices.LangSYCL, ".v": devices.LangRTL, ".sv": devices.LangRTL, ".aocx": devices.LangBinary, ".xclbin": devices.LangBinary}
	l, at, where := byExt[strings.ToLower(filepath.Ext(name))], file, path+".file"
	if lang != nil {
		s, ok := r.textOf(lang, path+".lang")
		if !ok {
			return "", false
		}
		l, at, where = devices.Language(s), lang, path+".lang"
		if !slices.Contains(known, l) {
			r.add(at, where, "there is no language %q", clip(s)).Hint = near(s, languageNames())
			return "", false
		}
	}
	switch {
	case name == "":
		return "", false
	case l == "":
		r.add(at, where, "the extension of %s does not say its language", clip(name)).Hint = "add lang: " + oneOf(languageNames())
		return "", false
	case !slices.Contains(languages, l) && l != devices.LangBinary:
		r.add(at, where, "sources in %s are not supported by this build yet", l).Hint = "kernel files are OpenCL C (.cl), CUDA C (.cu), SPIR-V (.spv), SYCL C++ (.cpp), libraries of SYCL functions (.so) or Verilog (.v, .sv), or programs for FPGAs (.aocx, .xclbin)"
		return "", false
	}
	return l, true
}

func (r *reader) readBuildOptions(f map[string]*node, path string) (o clc.Options, ok bool) {
	before := len(r.list) + r.more
	if n := f["options"]; n != nil {
		o.Options, _ = r.textList(n, path+".options")
	}
	if n := f["include"]; n != nil {
		dirs, nodes := r.textList(n, path+".include")
		for i, dir := range dirs {
			full := r.p.resolve(dir)
			if !isFolder(full) {
				r.add(nodes[i], path+".include", "there is no folder %s", full)
			}
			o.Include = append(o.Include, full)
		}
	}
	n := f["defines"]
	switch {
	case n == nil:
	case n.kind != kindMap:
		r.add(n, path+".defines", "want a mapping of macros to text, got %s", n.what())
	default:
		for _, e := range n.entries {
			at := join(path+".defines", e.name)
			switch {
			case e.value.kind == kindList || e.value.kind == kindMap:
				r.add(e.value, at, "want text or a number, got %s", e.value.what())
			case e.value.kind == kindNull:
				o.Defines = append(o.Defines, clc.Define{Name: e.name})
			case e.value.text == "": // defined as nothing
				o.Defines = append(o.Defines, clc.Define{Name: e.name, Value: " "})
			default:
				o.Defines = append(o.Defines, clc.Define{Name: e.name, Value: e.value.text})
			}
		}
	}
	return o, len(r.list)+r.more == before
}

// readSource reads a kernel file, once for each set of options.
func (r *reader) readSource(path string, lang devices.Language, o clc.Options) *source {
	key := fmt.Sprintf("%q %q %q %q %q", path, lang, o.Include, o.Defines, o.Options)
	src := r.sources[key]
	if src == nil {
		src = &source{path: path, lang: lang, opts: o}
		switch lang {
		case devices.LangRTL:
			src.good, src.err = readRTL(path, o)
		case devices.LangCUDA:
			src.good, src.err = cudasrc.Entries(path, o)
		case devices.LangSYCL:
			src.good, src.err = syclsrc.Entries(path, o)
		case devices.LangSPIRV:
			src.good, src.err = spirv.Entries(path)
		case devices.LangSYCLLibrary:
			src.good, src.err = readLibrary(path)
		default:
			src.good, src.err = clc.Entries(path, o)
		}
		r.sources[key] = src
	}
	return src
}

// sourceFault says why a source has not the kernel that was asked for.
func (r *reader) sourceFault(src *source, f map[string]*node, name, entry, path string) {
	at, where := f["entry"], path+".entry"
	if at == nil {
		at, where = f["file"], path+".file"
	}
	load := clc.Load
	switch src.lang {
	case devices.LangSYCL:
		load = syclsrc.Load
	case devices.LangCUDA:
		load = cudasrc.Load
	}
	_, err := load(src.path, entry, src.opts)
	if errors.Is(err, fs.ErrNotExist) {
		r.add(f["file"], path+".file", "there is no file %s", src.path).Hint = nearFile(src.path)
		return
	}
	for _, e := range flatten(err) {
		var ce *clc.Error
		switch {
		case errors.As(e, &ce) && ce.Pos.Line > 0:
			r.put(&Fault{File: ce.Pos.File, Line: ce.Pos.Line, Column: ce.Pos.Column, Msg: ce.Msg, Err: e,
				Hint: fmt.Sprintf("%s of %s line %d uses it", where, r.file, at.line)})
		case errors.As(e, &ce):
			r.add(at, where, "%s: %s", name, ce.Msg).Err = e
		default:
			r.add(at, where, "%s: %v", name, e).Err = e
		}
	}
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
