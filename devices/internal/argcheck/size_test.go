package argcheck

import "testing"

func TestValueSize(t *testing.T) {
	for typ, want := range map[string]int{
		"char": 1, "uchar4": 4, "short3": 8, "int": 4, "uint16": 64, "long2": 16, "ulong": 8, "half": 2, "half3": 8,
		"float": 4, "float3": 16, "double8": 64, "S": 0, "float5": 0, "size_t": 0, "int*": 0, "": 0, "struct P": 0,
	} {
		if got := ValueSize(typ); got != want {
			t.Errorf("ValueSize(%q) = %d, want %d", typ, got, want)
		}
	}
}
