package arrayfile

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tandemrun/tandem/devices"
)

func TestCompareNaN(t *testing.T) {
	want := mustRead(t, "testdata/nan/cmp_want.npy", Options{})
	for name, index := range map[string]int64{"same": -1, "nan_for_number": 1, "number_for_nan": 2, "inf_for_number": 3} {
		got := mustRead(t, "testdata/nan/cmp_"+name+".npy", Options{})
		for _, pair := range [][2]Array{{got, want}, {want, got}} {
			r, err := Compare(pair[0], pair[1], Tolerance{RTol: 1e-6, ATol: 1e-6})
			if err != nil {
				t.Fatal(err)
			}
			if index < 0 {
				if !r.Equal || r.Reason != "" {
					t.Errorf("%s: %+v, want equal", name, r)
				}
				continue
			}
			if r.Equal || r.Differing != 1 || !slices.Equal(r.Worst.Index, []int64{index}) {
				t.Errorf("%s: %+v, want one difference at %d", name, r, index)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%s: no JSON: %v", name, err)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	inf, zero := math.Inf(1), math.Copysign(0, -1)
	for _, tt := range []struct {
		name   string
		a, b   Array
		tol    Tolerance
		differ int64
		reason string
	}{
		{"same", array([]int64{2}, 1.0, 2), array([]int64{2}, 1.0, 2), Tolerance{}, 0, ""},
		{"zeros", array([]int64{1}, zero), array([]int64{1}, 0.0), Tolerance{}, 0, ""},
		{"infinities", array([]int64{2}, inf, -inf), array([]int64{2}, inf, inf), Tolerance{RTol: 1, ATol: 1e300, MaxULP: 1 << 62}, 1, "at (1,): -inf against inf"},
		{"exact by default", array([]int64{1}, 1.0), array([]int64{1}, 1+0x1p-52), Tolerance{}, 1, "1 of 1"},
		{"one ulp", array([]int64{1}, 1.0), array([]int64{1}, 1+0x1p-52), Tolerance{MaxULP: 1}, 0, ""},
		{"ulp across zero", array([]int64{1}, 0x1p-149), array([]int64{1}, float32(-0x1p-149)).as(devices.Float32), Tolerance{MaxULP: 1}, 1, "dtype"},
		{"ulp across zero", array([]int64{1}, float32(0x1p-149)), array([]int64{1}, float32(-0x1p-149)), Tolerance{MaxULP: 2}, 0, ""},
		{"too many ulp", array([]int64{1}, float32(0x1p-149)), array([]int64{1}, float32(-0x1p-149)), Tolerance{MaxULP: 1}, 1, "at (0,)"},
		{"relative to b", array([]int64{1}, 110.0), array([]int64{1}, 100.0), Tolerance{RTol: 0.1}, 0, ""},
		{"not relative to a", array([]int64{1}, 100.0), array([]int64{1}, 110.5), Tolerance{RTol: 0.09}, 1, ""},
		{"worst", array([]int64{2, 2}, 1.0, 2, 3, 4), array([]int64{2, 2}, 1.0, 2.5, 1, 4), Tolerance{ATol: 0.1}, 2, "2 of 4 elements differ, the worst at (1, 0): 3 against 1"},
		{"int64", array([]int64{2}, int64(1<<53), -1<<63), array([]int64{2}, int64(1<<53+1), 1<<63-1), Tolerance{}, 2, "-9223372036854775808 against 9223372036854775807"},
		{"uint8", array([]int64{1}, uint8(3)), array([]int64{1}, uint8(5)), Tolerance{ATol: 2}, 0, ""},
		{"shape", array([]int64{1, 2}, 1.0, 2), array([]int64{2}, 1.0, 2), Tolerance{}, 0, "shape (1, 2) against (2,)"},
		{"empty", array[int8]([]int64{0}), array[int8]([]int64{0}), Tolerance{}, 0, ""},
	} {
		r, err := Compare(tt.a, tt.b, tt.tol)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if tt.reason == "dtype" {
			tt.differ = 0
		}
		if r.Differing != tt.differ || !strings.Contains(r.Reason, tt.reason) || r.Equal != (tt.differ == 0 && tt.reason == "") {
			t.Errorf("%s: got %+v, want %d differing, reason %q", tt.name, r, tt.differ, tt.reason)
		}
	}
	if _, err := Compare(array([]int64{1}, 1.0), Array{Header{devices.Int8, []int64{2}}, nil}, Tolerance{}); err == nil {
		t.Error("data of the wrong length was compared")
	}
	if _, err := Compare(array([]int64{1}, 1.0), array([]int64{1}, 1.0), Tolerance{RTol: math.NaN()}); err == nil {
		t.Error("NaN was taken as a tolerance")
	}
}

// as relabels the elements.
func (a Array) as(t devices.DType) Array {
	a.DType = t
	return a
}
