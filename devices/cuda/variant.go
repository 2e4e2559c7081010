package cuda

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"
)

// A kernel in CUDA C or PTX takes its place from its block's number. When the
// local size does not divide the range, or the launch is a part of a larger
// one, or begins at an offset, the numbers that the hardware gives are not the
// right ones. Such a launch uses a variant of the kernel, made by changing the
// PTX: it takes one parameter more, the window, reads block numbers from there,
// and threads outside of the range leave at once. Kernels whose threads work
// together are not launched over such a range: who leaves is missed by the
// others.

// window is the variant's last parameter.
type window struct {
	first  [3]uint32 // number of the launch's first block
	blocks [3]uint32 // blocks of the whole range
	end    [3]uint32 // work-items before this one run
}

const windowBytes = int(unsafe.Sizeof(window{}))

// axes are the names of dimensions in PTX.
const axes = "xyz"

// windowed makes the variant of the kernel e.
func windowed(text []byte, e *entry) ([]byte, error) {
	body := text[e.bodyStart:e.bodyEnd]
	for _, w := range []string{"%tandem", "%clusterid", "%gridid"} {
		if bytes.Contains(body, []byte(w)) {
			return nil, fmt.Errorf("it uses %s", w)
		}
	}
	if bytes.Contains(body, []byte("call")) && otherUse(text, e) {
		return nil, fmt.Errorf("a function that it may call looks at block numbers itself")
	}
	var out bytes.Buffer
	out.Grow(len(text) + 2048)
	if e.paramEnd == 0 {
		return nil, fmt.Errorf("its list of parameters is missing")
	}
	out.Write(bytes.TrimRight(text[:e.paramEnd], " \t\r\n"))
	if len(e.params) > 0 {
		out.WriteString(",")
	}
	fmt.Fprintf(&out, "\n\t.param .align 4 .b8 tandem_window[%d]\n", windowBytes)
	out.Write(text[e.paramEnd:e.bodyStart])
	out.WriteString("\n\t.reg .b32 %tandem<15>;\n\t.reg .pred %tandemp;\n")
	for d := range 3 {
		axis := axes[d : d+1]
		// Registers: 0-2 block number, 3-5 number of blocks, then scratch.
		fmt.Fprintf(&out, "\tld.param.u32 %%tandem6, [tandem_window+%d];\n", 4*d)
		fmt.Fprintf(&out, "\tmov.u32 %%tandem7, %%ctaid.%s;\n", axis)
		fmt.Fprintf(&out, "\tadd.u32 %%tandem%d, %%tandem7, %%tandem6;\n", d)
		fmt.Fprintf(&out, "\tld.param.u32 %%tandem%d, [tandem_window+%d];\n", 3+d, 12+4*d)
		fmt.Fprintf(&out, "\tld.param.u32 %%tandem8, [tandem_window+%d];\n", 24+4*d)
		fmt.Fprintf(&out, "\tmov.u32 %%tandem9, %%ntid.%s;\n", axis)
		fmt.Fprintf(&out, "\tmov.u32 %%tandem10, %%tid.%s;\n", axis)
		fmt.Fprintf(&out, "\tmad.lo.u32 %%tandem11, %%tandem%d, %%tandem9, %%tandem10;\n", d)
		out.WriteString("\tsetp.ge.u32 %tandemp, %tandem11, %tandem8;\n\t@%tandemp ret;\n")
	}
	out.Write(replaceBlockNumbers(body))
	out.Write(text[e.bodyEnd:])
	return out.Bytes(), nil
}

// replaceBlockNumbers puts the variant's registers in the place of the
// hardware's.
func replaceBlockNumbers(body []byte) []byte {
	var pairs []string
	for d := range 3 {
		axis := axes[d : d+1]
		pairs = append(pairs, "%nctaid."+axis, fmt.Sprintf("%%tandem%d", 3+d), "%ctaid."+axis, fmt.Sprintf("%%tandem%d", d))
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(body)))
}

// otherUse reports whether something outside of e's body, and of other
// kernels', reads block numbers.
func otherUse(text []byte, e *entry) bool {
	list, err := parsePTX(text)
	if err != nil {
		return true
	}
	at := 0
	for _, other := range list {
		if bytes.Contains(text[at:other.bodyStart], []byte("ctaid.")) {
			return true
		}
		at = other.bodyEnd
	}
	return bytes.Contains(text[at:], []byte("ctaid."))
}
