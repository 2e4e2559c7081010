package pipeline

import (
	"reflect"
	"strings"
)

// The types below are the format: their JSON names are the keys that a pipeline
// file may have, for the reader and for Schema alike.

type document struct {
	Version int                     `json:"version,omitempty" jsonschema:"enum=1" jsonschema_description:"Version of the format; 1 if left out."`
	Vars    map[string]numberOrText `json:"vars,omitempty" jsonschema_description:"Variables for expressions, by name: a number, or an expression over the variables before it."`
	Buffers map[string]bufferFormat `json:"buffers,omitempty" jsonschema_description:"The arrays, by name. A buffer without file and fill starts as zeros."`
	Steps   []anyStep               `json:"steps" jsonschema_description:"What runs. The order of the file is the order of reads and writes of one buffer; steps that share no data may overlap."`
	Limits  *limitsFormat           `json:"limits,omitempty" jsonschema_description:"Bounds of the run."`
}

type bufferFormat struct {
	File  string            `json:"file,omitempty" jsonschema_description:"Input file: .npy .npz (a.npz:name) .png .jpg .pgm .ppm .csv .raw; relative to the pipeline file."`
	DType dtypeName         `json:"dtype,omitempty" jsonschema_description:"Element type. A file tells it, but for .raw."`
	Shape *[]integerOrText  `json:"shape,omitempty" jsonschema_description:"Length of each dimension, the last one varying fastest. A file tells it, but for .raw."`
	Fill  *numberOrBoolText `json:"fill,omitempty" jsonschema_description:"A value for every element, or an expression over the indices i, j, k of the first three dimensions."`
	Out   string            `json:"out,omitempty" jsonschema_description:"Output file, written when the whole run has succeeded; relative to the pipeline file."`
}

type stepFormat struct {
	ID       string         `json:"id,omitempty" jsonschema_description:"Name of the step, unique in the file."`
	Kernel   kernelRef      `json:"kernel" jsonschema_description:"A built-in kernel by name, or a kernel of a source file."`
	Global   *sizes         `json:"global,omitempty" jsonschema_description:"Work-items in each of one to three dimensions, the first varying fastest; a single number is one dimension. Built-in kernels know it from the shapes."`
	Local    *sizes         `json:"local,omitempty" jsonschema_description:"Work-group size in each dimension; need not divide the global size."`
	Args     *arguments     `json:"args,omitempty" jsonschema_description:"Arguments: a list by position, or a mapping by parameter name."`
	Split    *splitRule     `json:"split,omitempty" jsonschema_description:"auto, none, or the shares of the devices in probe order."`
	After    []string       `json:"after,omitempty" jsonschema_description:"Steps to wait for, by id, beyond what the data say. In a loop: of the same iteration."`
	Together []string       `json:"together,omitempty" jsonschema_description:"Steps that run at the same time as this one on one device, by id: kernels of one source that send data to each other through channels. In a loop: of the same iteration."`
	Device   *deviceChoice  `json:"device,omitempty" jsonschema_description:"A device selector (kind=gpu, opencl:0), or a position in the run's device list, from 0."`
	Repeat   *integerOrText `json:"repeat,omitempty" jsonschema_description:"How many times the step runs, one after the other."`
}

type loopFormat struct {
	For   map[string]loopRange `json:"for" jsonschema_description:"Loop variables: [from, to] or [from, to, step]; to is not reached. Several nest, the first outermost."`
	Steps []anyStep            `json:"steps" jsonschema_description:"The steps of one iteration."`
}

type kernelFormat struct {
	File    string                   `json:"file" jsonschema_description:"Source file, relative to the pipeline file."`
	Entry   string                   `json:"entry,omitempty" jsonschema_description:"Kernel in the file; may be left out where there is one."`
	Lang    languageName             `json:"lang,omitempty" jsonschema_description:"Language of the source; follows from the extension."`
	Options []string                 `json:"options,omitempty" jsonschema_description:"Compiler options, one each, passed on unchanged; of Verilog -GNAME=VALUE."`
	Include []string                 `json:"include,omitempty" jsonschema_description:"Folders searched for included files, relative to the pipeline file."`
	Defines map[string]defineLiteral `json:"defines,omitempty" jsonschema_description:"Macros by name, in Verilog parameters; the value is text, and nothing stands for 1."`
}

type argFormat struct {
	Buf        string         `json:"buf,omitempty" jsonschema_description:"A buffer, by name."`
	Mode       string         `json:"mode,omitempty" jsonschema:"enum=r,enum=w,enum=rw" jsonschema_description:"What the kernel does with the buffer: reads, writes every element it touches, or both. The source tells it if left out."`
	Val        *valueLiteral  `json:"val,omitempty" jsonschema_description:"A number, an expression, or a list of them for a vector."`
	Type       string         `json:"type,omitempty" jsonschema_description:"Type of the value (float, uint, float3, probe_t); the source tells it if left out."`
	LocalBytes *integerOrText `json:"local_bytes,omitempty" jsonschema_description:"Bytes of local memory for a __local pointer."`
	Bytes      string         `json:"bytes,omitempty" jsonschema_description:"A file with the bytes of a value, as the device lays it out."`
	Struct     []fieldFormat  `json:"struct,omitempty" jsonschema_description:"A struct by its fields, in order; it is laid out for the device."`
}

type limitsFormat struct {
	StepTimeoutS *numberOrText `json:"step_timeout_s,omitempty" jsonschema_description:"How long one launch of a step may run, in seconds."`
}

// keysOf are the keys of one of the types above, in order.
func keysOf[T any]() []string {
	var keys []string
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" {
			keys = append(keys, name)
		}
	}
	return keys
}

// The types below stand for values that have more than one form.
type (
	numberOrText     struct{}
	numberOrBoolText struct{}
	integerOrText    struct{}
	valueLiteral     struct{}
	defineLiteral    struct{}
	fieldFormat      struct{}
	sizes            struct{}
	loopRange        struct{}
	arguments        struct{}
	splitRule        struct{}
	deviceChoice     struct{}
	anyStep          struct{}
	kernelRef        struct{}
	dtypeName        string
	languageName     string
)
