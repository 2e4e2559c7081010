package clc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/kernels"
)

// expand preprocesses text and spells the result, without line breaks.
func expand(t *testing.T, text string, o Options) string {
	t.Helper()
	set, err := o.settings()
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFile("k.cl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, fault := preprocess("k.cl", f, set)
	if fault != nil {
		t.Fatalf("%v\n%s", fault, text)
	}
	var words []string
	for _, tok := range p.out {
		words = append(words, tok.text)
	}
	return strings.Join(words, " ")
}

func TestMacros(t *testing.T) {
	for text, want := range map[string]string{
		"#define A 1\nA B":                                             "1 B",
		"#define A A + 1\nA":                                           "A + 1",
		"#define A B\n#define B A\nA B":                                "A B",
		"#define F(x) x * x\nF(2) F (3) F":                             "2 * 2 3 * 3 F",
		"#define F(x, y) x##y\nF(a, b) F(, c) F(d, )":                  "ab c d",
		"#define S(x) #x\nS(a  + \"b\\n\") S( )":                       `"a + \"b\\n\"" ""`,
		"#define X(a) #a\n#define S(x) X(x)\n#define N 7\nS(N)":        `"7"`,
		"#define F(f, ...) f(__VA_ARGS__)\nF(g, 1, 2)":                 "g ( 1 , 2 )",
		"#define P(f, ...) p(f, ## __VA_ARGS__)\nP(a) P(a, b)":         "p ( a ) p ( a , b )",
		"#define P(f, r...) p(f, ## r)\nP(a, b, c)":                    "p ( a , b , c )",
		"#define F() 1\nF() F":                                         "1 F",
		"#define F(x) G x\n#define G(x) [x]\nF((1))":                   "[ 1 ]",
		"#define f(a) a*g\n#define g(a) f(a)\nf(2)(9)":                 "2 * 9 * g",
		"#define A(x) x\n#define C A(A)\nC(1)":                         "A ( 1 )",
		"#define N(\\\nx) x \\\n1\nN(a)":                               "a 1",
		"#define F(x) x\nF(\n1\n,2)":                                   "",
		"#undef A\n#define A 1\n#undef A\nA":                           "A",
		"__LINE__\n__LINE__ __FILE__":                                  `1 2 "k.cl"`,
		"#line 7 \"x.h\"\n__LINE__ __FILE__":                           `7 "x.h"`,
		"a /* b \n c */ d // e \\\n f\ng":                              "a d g",
		"#define F(x) x\n#if 1\nF(1\n#endif\n)":                        "1",
		"#if 0\ndon't\n#else\nok\n#endif":                              "ok",
		"#if 1 ? 2 : 1/0\na\n#endif":                                   "a",
		"#if defined A || !defined(B) && (3 > 2) == 1\na\n#endif":      "a",
		"#if -1 > 0u\na\n#endif\n#if 'a' == 97\nb\n#endif":             "a b",
		"#ifdef A\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif":        "b",
		"#if __has_attribute(x) || 0\na\n#else\nb\n#endif":             "b",
		"#if 1 << 4 == 16 && 7 % 4 == 3 && ~0 == -1\na\n#endif":        "a",
		"__OPENCL_C_VERSION__ __ENDIAN_LITTLE__ CL_VERSION_1_2":        "120 1 120",
		"#ifdef cl_khr_fp64\nd\n#endif\n#ifdef cl_khr_fp16\nh\n#endif": "d",
	} {
		if text == "#define F(x) x\nF(\n1\n,2)" {
			continue // a fault: TestPreprocessorFaults
		}
		if got := expand(t, text, Options{}); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestDefines(t *testing.T) {
	o := Options{
		Defines: []Define{{"A", "3.0f"}, {"B", ""}, {"C", " "}, {"SQ(x)", "((x)*(x))"}},
		Options: []string{"-DD=4", "-D E=5", "-D", "F", "-cl-mad-enable", "-DG=", "-UB", "-cl-std=CL2.0"},
	}
	got := expand(t, "A B [C] SQ(2) D E F [G] __OPENCL_C_VERSION__", o)
	if want := "3.0f B [ ] ( ( 2 ) * ( 2 ) ) 4 5 1 [ ] 200"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	list, err := Parse("dir/k.cl", []byte("kernel void f(int a) { }\n"), o)
	if err != nil {
		t.Fatal(err)
	}
	src := list[0].Variants[0].Source
	want := "#define A 3.0f\n#define B 1\n#define C \n#define SQ(x) ((x)*(x))\n" +
		"#define D 4\n#define E 5\n#define F 1\n#define G \n#undef B\n#line 1 \"dir/k.cl\"\nkernel void f(int a) { }\n"
	if string(src.Text) != want {
		t.Errorf("text:\n%s\nwant\n%s", src.Text, want)
	}
	if got := fmt.Sprint(src.Options); got != "[-cl-mad-enable -cl-std=CL2.0]" {
		t.Errorf("options %s", got)
	}
	for _, o := range []Options{
		{Defines: []Define{{"2x", "1"}}}, {Defines: []Define{{"A", "1\n#error"}}}, {Options: []string{"-D"}},
		{Options: []string{"-D1"}}, {Options: []string{"-cl-mad-enable -DN=1"}}, {Options: []string{"-DA=1 -DB=2"}},
	} {
		if _, err := Parse("k.cl", []byte("kernel void f(int a) { }"), o); err == nil {
			t.Errorf("%v is not refused", o)
		}
	}
}

// tree writes files under a new folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestIncludes(t *testing.T) {
	root := tree(t, map[string]string{
		"my kernels-g/affine.cl":      "/* one */ #include \"x\"\n#include \"coef.h\" /* two\nlines */\n#include <sub/type.h>\n__kernel void affine(__global const T *x, __global T *y)\n{\n    size_t i = get_global_id(0);\n    y[i] = COEF * x[i] + BIAS;\n}",
		"my kernels-g/inc dir/coef.h": "#ifndef COEF_H\n#define COEF_H\n#include \"near.h\"\n#define COEF 3.0f\n#endif\n",
		"my kernels-g/inc dir/near.h": "#pragma once\n#define NEAR 1",
		"my kernels-g/x":              "#include \"inc dir/near.h\"\n",
		"other inc/sub/type.h":        "typedef float T;\n#if 0\n#include \"gone.h\"\n#endif\n#ifndef cl_khr_fp64\n#include \"single.h\"\n#endif\n",
		"other inc/sub/single.h":      "#define SINGLE 1\n",
	})
	// The first line's directive stands behind a comment, which is legal.
	path := filepath.Join(root, "my kernels-g", "affine.cl")
	inc := filepath.Join(root, "my kernels-g", "inc dir")
	k, err := Load(path, "", Options{
		Include: []string{inc}, Options: []string{"-I", filepath.Join(root, "other inc")}, Defines: []Define{{"BIAS", "0.5f"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := k.Signature(); got != "affine(x r float[], y w float[])" {
		t.Error(got)
	}
	if p := k.Params[0].Pos; p.File != path || p.Line != 5 || p.Column != 40 {
		t.Errorf("x is at %s, want line 5 column 40 of affine.cl", p)
	}
	text := string(k.Variants[0].Source.Text)
	for _, l := range strings.Split(text, "\n") {
		if f := strings.Fields(l); len(f) > 0 && f[0] == "#include" && f[1] != `"gone.h"` {
			t.Errorf("an include is left: %s", l)
		}
	}
	if strings.Contains(text, "#pragma once") || strings.Count(text, "#define NEAR") != 1 {
		t.Errorf("the file with #pragma once is not there once:\n%s", text)
	}
	if !strings.Contains(text, "#define SINGLE") {
		t.Errorf("what a device without double precision includes is not there:\n%s", text)
	}
	checkLines(t, text, root)
}

// checkLines follows the #line directives of a self-contained text: each line
// has to be the line of the file that it claims to be.
func checkLines(t *testing.T, text, root string) {
	t.Helper()
	file, line := "", 0
	checked := 0
	for _, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(l, "#line ") {
			if _, err := fmt.Sscanf(l, "#line %d %q", &line, &file); err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			continue
		}
		if file == "" {
			continue
		}
		if b, err := os.ReadFile(file); err == nil {
			lines := strings.Split(string(b), "\n")
			if l != "" && (line > len(lines) || !strings.Contains(lines[line-1], strings.TrimSpace(l)) && !strings.Contains(l, "included before")) {
				t.Errorf("%q is said to be line %d of %s", l, line, file)
			}
			checked++
		}
		line++
	}
	if checked < 10 {
		t.Errorf("only %d lines were checked under %s:\n%s", checked, root, text)
	}
}

func TestIncludeFaults(t *testing.T) {
	root := tree(t, map[string]string{
		"a.h": "#include \"b.h\"\n", "b.h": "\n#include \"a.h\"\n", "d/x": "",
		"bad.h": "\n\nconstant int a = ;\n#if 1\n", "big.h": strings.Repeat("// filler\n", maxFileBytes/10+1),
	})
	for text, want := range map[string]string{
		"\n  #include \"none.h\"\n": `k.cl:2:3: cannot find the included file "none.h"; searched "` + root + `", "` + filepath.Join(root, "i c") + `"`,
		"#include <stdio.h>\n":      `k.cl:1:1: cannot include <stdio.h>: OpenCL C has no system headers, and it is not in the include folders ("` + filepath.Join(root, "i c") + `")`,
		"#include \"a.h\"\n":        "includes are nested more than 64 deep: " + filepath.Join(root, "a.h") + " includes " + filepath.Join(root, "b.h") + " includes " + filepath.Join(root, "a.h"),
		"#include \"bad.h\"\n":      filepath.Join(root, "bad.h") + ":4:2: this conditional has no #endif",
		"#include \"big.h\"\n":      "more than the 4194304 that a source may have",
		"#include \"d\"\n":          `cannot find the included file "d"`,
		"#include\n":                "#include names no file",
		"#include foo\n":            `#include wants "file" or <file>`,
	} {
		_, err := Parse(filepath.Join(root, "k.cl"), []byte(text+"kernel void f(int a) { }"), Options{Include: []string{filepath.Join(root, "i c")}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestPreprocessorFaults(t *testing.T) {
	bomb := "#define A0 x x x x x x x x x x\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("#define A%d A%d A%d A%d A%d A%d A%d A%d A%d\n", i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for text, want := range map[string]string{
		"#error stop  here\n":            "k.cl:1:2: #error stop here",
		"\n#if 1\n":                      "k.cl:2:2: this conditional has no #endif",
		"#endif\n":                       "k.cl:1:2: #endif without #if",
		"#if 1\n#else\n#else\n#endif\n":  "k.cl:3:2: #else behind #else",
		"#if 1/0\n#endif\n":              "division by zero",
		"#if (1\n#endif\n":               "lacks a ')'",
		"#if\n#endif\n":                  "the condition is incomplete",
		"#if 1.0\n#endif\n":              "1.0 is no integer",
		"#what\n":                        "unknown directive #what",
		"#define F(x) x\nF(1,2)\n":       "k.cl:2:1: macro F takes 1 arguments, got 2",
		"#define F(x) x\nint a = F(1;\n": "k.cl:2:9: the call of macro F is not closed",
		"#define P(a,b) a##b\nP(+,x)\n":  `macro P pastes "+" and "x"`,
		"/* open\n":                      "k.cl:1:1: this comment does not end",
		"a\x00b":                         "this is no text",
		bomb + "A11\n":                   "more than 1048576 tokens",
		strings.Repeat("#if 1\n", 300):   "nested more than 256 deep",
		"#define F(x) x\n" + strings.Repeat("F(", 100) + strings.Repeat(")", 100):         "nested more than 64 deep",
		"#if " + strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500) + "\n#endif\n": "nested too deeply",
	} {
		if got := fault(t, text, Options{}); !strings.Contains(got, want) {
			if len(text) > 200 {
				text = text[:200]
			}
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestPositions(t *testing.T) {
	list, err := Parse("k.cl", []byte(`#define MAKE(T, NAME) \
   kernel void NAME(global T *a, int b) { a[b] = 0.5; }
  MAKE(float,
       one)
#line 100 "gen.cl"
kernel void two(global float *a) { a[0] = 0.5; }
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(line, col int, file string) kernels.Pos { return kernels.Pos{File: file, Line: line, Column: col} }
	if p := list[0].Params[0].Pos; p != at(3, 3, "k.cl") {
		t.Errorf("one: a is at %s, want the macro's call, 3:3", p)
	}
	if r := list[0].Variants[0].Needs.FP64; r == nil || r.Pos != at(3, 3, "k.cl") || r.Text != "literal 0.5 in macro MAKE (k.cl:1:9) is a double" {
		t.Errorf("one: %s", reason(r))
	}
	if p := list[1].Params[0].Pos; p != at(100, 31, "gen.cl") {
		t.Errorf("two: a is at %s, want gen.cl:100:31", p)
	}
	_, err = Parse("k.cl", []byte("kernel void f(int a) { }\nkernel void f(int b) { }\nkernel void g(image2d_t i, foo x) { }"), Options{})
	var first *Error
	if !errors.As(err, &first) || first.Pos != at(2, 13, "k.cl") || !strings.Contains(first.Msg, "kernel f is defined twice; first in k.cl:1:13") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), `k.cl:3:28: unknown type "foo"`) {
		t.Errorf("got %v", err)
	}
}
