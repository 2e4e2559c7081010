package bridge

import (
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

// source makes a source of text.
func source(text string) *devices.Source {
	return &devices.Source{Name: "k.cl", Language: devices.LangOpenCL, Text: []byte(text)}
}

// TestLog: messages name the user's lines, columns and types.
func TestLog(t *testing.T) {
	l := compiler(t)
	for _, c := range []struct {
		text  string
		words []string
		not   string
	}{
		{"__kernel void f(__global float4 *x, int n) {\n\tx[0].xy = (float2)(1, 2) + smooth(n);\n}\n",
			[]string{"k.cl:2:29: error: identifier \"smooth\" is undefined\n  \tx[0].xy = (float2)(1, 2) + smooth(n);\n  \t                           ^\n"}, "tandem"},
		{"#line 40 \"dir \\\"q\\\"/g.cl\"\n__kernel void f(__global float4 *x) {\n  x[get_global_id(0)] = (float4)(1, 2, 3);\n}\n",
			[]string{`dir "q"/g.cl:41:1: error: static assertion failed`, "a vector literal has another number of elements", "(in bridge/header/vector.cuh:", "x[get_global_id(0)] = (float4)(1, 2, 3);"}, "tandem_"},
		{"__kernel void f(__global int4 *x, __global uint4 *y) {\n  int4 a = x[0]; x[1] = a + y[0]; }",
			[]string{"k.cl:2:", "error: no operator \"+\" matches these operands", "int4 + uint4"}, "candidate"},
	} {
		log := buildLog(t, l, source(c.text))
		for _, w := range c.words {
			if !strings.Contains(log, w) {
				t.Errorf("%q: the log does not say %q:\n%s", c.text, w, log)
			}
		}
		if strings.Contains(log, c.not) {
			t.Errorf("%q: the log says %q:\n%s", c.text, c.not, log)
		}
	}
}
