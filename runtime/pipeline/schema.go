package pipeline

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels/library"
)

// schemaID names the schema; editors refer to it.
const schemaID = "https://github.com/tandemrun/tandem/pipeline-1.schema.json"

// Schema is a JSON Schema (draft 2020-12) of the format, for editors. It knows
// the shape of a pipeline; names, sizes and arguments are for Load.
func Schema() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, ExpandedStruct: true, Mapper: alternative}
	s := r.Reflect(&document{})
	s.ID, s.Title = schemaID, "tandem pipeline, version 1"
	if s.Definitions == nil {
		s.Definitions = jsonschema.Definitions{}
	}
	// Types that only alternatives refer to.
	for name, t := range map[string]any{"step": &stepFormat{}, "loop": &loopFormat{}, "kernel": &kernelFormat{}, "argument": &argFormat{}} {
		d := r.Reflect(t)
		for other, def := range d.Definitions {
			s.Definitions[other] = def
		}
		d.Version, d.Definitions = "", nil
		s.Definitions[name] = d
	}
	return json.MarshalIndent(s, "", "  ")
}

// alternative is the schema of a type that stands for several forms.
func alternative(t reflect.Type) *jsonschema.Schema {
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", MinLength: count(1)} }
	number, integer := &jsonschema.Schema{Type: "number"}, &jsonschema.Schema{Type: "integer"}
	boolean := &jsonschema.Schema{Type: "boolean"}
	size := anyOf(integer, text())
	switch t {
	case reflect.TypeFor[numberOrText]():
		return anyOf(number, text())
	case reflect.TypeFor[numberOrBoolText]():
		return anyOf(number, boolean, text())
	case reflect.TypeFor[integerOrText]():
		return size
	case reflect.TypeFor[valueLiteral]():
		return anyOf(number, boolean, text(), &jsonschema.Schema{Type: "array"})
	case reflect.TypeFor[defineLiteral]():
		return anyOf(number, boolean, &jsonschema.Schema{Type: "string"}, &jsonschema.Schema{Type: "null"})
	case reflect.TypeFor[fieldFormat]():
		return &jsonschema.Schema{Type: "object", MinProperties: count(1), MaxProperties: count(2)}
	case reflect.TypeFor[sizes]():
		return anyOf(&jsonschema.Schema{Type: "array", Items: size, MinItems: count(1), MaxItems: count(3)}, size)
	case reflect.TypeFor[loopRange]():
		return &jsonschema.Schema{Type: "array", Items: size, MinItems: count(2), MaxItems: count(3)}
	case reflect.TypeFor[arguments]():
		arg := anyOf(ref("argument"), number, boolean, text(), &jsonschema.Schema{Type: "array"})
		return anyOf(&jsonschema.Schema{Type: "array", Items: arg}, &jsonschema.Schema{Type: "object", AdditionalProperties: arg})
	case reflect.TypeFor[splitRule]():
		return anyOf(&jsonschema.Schema{Enum: []any{"auto", "none"}}, &jsonschema.Schema{Type: "array", Items: anyOf(number, text()), MinItems: count(1)})
	case reflect.TypeFor[deviceChoice]():
		return anyOf(&jsonschema.Schema{Type: "integer", Minimum: "0"}, text())
	case reflect.TypeFor[anyStep]():
		return anyOf(ref("step"), ref("loop"))
	case reflect.TypeFor[kernelRef]():
		var names []any
		for _, k := range library.All() {
			names = append(names, k.Name)
		}
		return anyOf(&jsonschema.Schema{Enum: names}, ref("kernel"))
	case reflect.TypeFor[dtypeName]():
		var names []any
		for _, name := range devices.DTypeNames() {
			names = append(names, name)
		}
		return &jsonschema.Schema{Enum: names}
	case reflect.TypeFor[languageName]():
		var known []any
		for _, l := range languages {
			known = append(known, l)
		}
		return &jsonschema.Schema{Enum: known}
	}
	return nil
}

func anyOf(s ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: s} }

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

func count(n uint64) *uint64 { return &n }
