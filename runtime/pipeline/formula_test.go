package pipeline

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func testScope() *scope {
	return &scope{vars: map[string]num{"n": intNum(1024), "alpha": floatNum(1.5), "zero": intNum(0), "big": intNum(math.MaxInt64)}, slots: []string{"i", "j"}}
}

func TestFormula(t *testing.T) {
	slots := []int64{3, 7}
	for text, want := range map[string]num{
		"n":                         intNum(1024),
		"3*n":                       intNum(3072),
		"n/2":                       intNum(512),
		"n/3":                       floatNum(1024.0 / 3),
		"7/2*2":                     floatNum(7),
		"big":                       intNum(math.MaxInt64),
		"big-1":                     intNum(math.MaxInt64 - 1), // exact: no way through a float
		"-big-1":                    intNum(math.MinInt64),
		"big/7":                     intNum(math.MaxInt64 / 7),
		"idiv(7, 2)":                intNum(3),
		"idiv(-7, 2)":               intNum(-4),
		"ceildiv(7, 2)":             intNum(4),
		"ceildiv(-7, 2)":            intNum(-3),
		"ceildiv(6, 2)":             intNum(3),
		"-7 % 3":                    intNum(-1),
		"2**62":                     intNum(1 << 62),
		"(-2)**63":                  intNum(math.MinInt64),
		"2**-1":                     floatNum(0.5),
		"alpha*2":                   floatNum(3),
		"i*10+j":                    intNum(37),
		"i == j":                    intNum(0),
		"i < j and not (i > j)":     intNum(1),
		"i != 3 || j >= 7":          intNum(1),
		"i == 3 ? j : 0":            intNum(7),
		"zero == 0 ? 5 : 1/zero":    intNum(5),
		"zero != 0 and 1/zero > 0":  intNum(0),
		"min(n, 5, j)":              intNum(5),
		"max(1, 2.5)":               floatNum(2.5),
		"abs(-4)":                   intNum(4),
		"floor(2.7)":                intNum(2),
		"ceil(2.2)":                 intNum(3),
		"round(2.5)":                intNum(2),
		"sqrt(9)":                   floatNum(3),
		"sin(pi/2)":                 floatNum(1),
		"1e3":                       floatNum(1000),
		"0x10":                      intNum(16),
		"true + true":               intNum(2),
		"float(7)/2":                floatNum(3.5),
		"pow(2, 10)":                intNum(1024),
		"1.5 == alpha":              intNum(1),
		"inf > big":                 intNum(1),
		"9007199254740993 - 1":      intNum(9007199254740992),
		"9007199254740993*1":        intNum(9007199254740993),
		"idiv(9007199254740993, 1)": intNum(9007199254740993),
	} {
		eval, _, err := parseFormula(text, testScope())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		fr := frame{v: slots}
		if got := eval(&fr); fr.err != nil || got != want {
			t.Errorf("%s = %v (%v), want %v", text, got, fr.err, want)
		}
	}
}

func TestFormulaFaults(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
		want string // message and hint
	}{
		{"n//2", 1, "// is no operator; for a quotient rounded down write idiv(a, b)"},
		{"n /* half */ / 2", 2, "/* is no operator; for a quotient rounded down write idiv(a, b)"},
		{"2*m", 2, `there is no variable "m"; there are alpha, big, n, zero, i, j`},
		{"2*alhpa", 2, `there is no variable "alhpa"; did you mean "alpha"?`},
		{"2^3", 1, `"^" is no operator of expressions; for a power write **`},
		{"map(1..9, # * 2)", 4, ""},
		{"repeat(n, 9)", 0, `there is no function "repeat"`},
		{"mni(1, 2)", 0, `there is no function "mni"; did you mean "min"?`},
		{"sqrt(1, 2)", 0, "sqrt takes 1 argument(s), got 2"},
		{"[1, 2]", 0, "a list is not part of expressions"},
		{"'text'", 0, "text in quotes is not part of expressions"},
		{"n.x", 2, "a.b or a[b] is not part of expressions"},
		{"let x = 1; x", 4, "a statement is not part of expressions"},
		{"1..3", 1, `".." is no operator of expressions`},
		{"n +", 2, "this is no expression: unexpected token EOF"},
		{"é + 1", 0, `there is no variable "é"`},
		{"1 + é", 4, `there is no variable "é"`},
		{strings.Repeat("n+", 600) + "n", 0, ""},
		{strings.Repeat("(", 3000) + "n" + strings.Repeat(")", 3000), 0, "the expression has more than 4096 bytes"},
	} {
		eval, _, err := parseFormula(c.text, testScope())
		switch {
		case err == nil:
			t.Errorf("%.40s is accepted: %v", c.text, eval(&frame{v: []int64{0, 0}}))
		case c.want != "" && !strings.HasPrefix(err.msg+"; "+err.hint, c.want):
			t.Errorf("%.40s: %s; %s, want %s", c.text, err.msg, err.hint, c.want)
		case c.want != "" && err.at != c.at:
			t.Errorf("%.40s: at %d, want %d", c.text, err.at, c.at)
		}
	}
	for text, want := range map[string]string{
		"big + 1":       "9223372036854775807 + 1 does not fit in 64 bits",
		"-big - 2":      "-9223372036854775807 - 2 does not fit in 64 bits",
		"big * n":       "9223372036854775807 * 1024 does not fit in 64 bits",
		"2**64":         "2 ** 64 does not fit in 64 bits",
		"n / zero":      "1024 / 0",
		"n % zero":      "% of 1024 by 0",
		"alpha % 2":     "% takes whole numbers, got 1.5 and 2",
		"idiv(1, zero)": "idiv of 1 by 0",
	} {
		eval, _, err := parseFormula(text, testScope())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		fr := frame{v: []int64{0, 0}}
		if eval(&fr); fr.err == nil || fr.err.Error() != want {
			t.Errorf("%s: %v, want %s", text, fr.err, want)
		}
	}
}

// TestCheckedArithmetic compares with numbers of any size.
func TestCheckedArithmetic(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	draw := func() int64 {
		edges := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1 << 32, -1 << 31}
		if rng.IntN(3) == 0 {
			return edges[rng.IntN(len(edges))]
		}
		return int64(rng.Uint64()) >> rng.IntN(63)
	}
	for range 20000 {
		a, b := draw(), draw()
		for op, f := range map[string]func(*frame, num, num) num{"+": add, "-": subtract, "*": multiply} {
			var exact big.Int
			x, y := big.NewInt(a), big.NewInt(b)
			switch op {
			case "+":
				exact.Add(x, y)
			case "-":
				exact.Sub(x, y)
			default:
				exact.Mul(x, y)
			}
			var fr frame
			got := f(&fr, intNum(a), intNum(b))
			if fits := exact.IsInt64(); fits != (fr.err == nil) || (fits && got != intNum(exact.Int64())) {
				t.Fatalf("%d %s %d = %v (%v), want %v", a, op, b, got, fr.err, &exact)
			}
		}
		if b == 0 || (a == math.MinInt64 && b == -1) {
			continue
		}
		var fr frame
		q, r, c := floorDivide(&fr, intNum(a), intNum(b)).i, remainder(&fr, intNum(a), intNum(b)).i, ceilDivide(&fr, intNum(a), intNum(b)).i
		even := a%b == 0
		if fr.err != nil || r != a%b || (even && (q != a/b || c != q)) || (!even && c != q+1) {
			t.Fatalf("%d by %d: %d, %d, remainder %d (%v)", a, b, q, c, r, fr.err)
		}
	}
}

// BenchmarkFill says what an element of a fill costs.
func BenchmarkFill(b *testing.B) {
	for _, text := range []string{"1", "i", "i*j/1000", "i == j ? 1 : 0", "sin(0.1*i)*exp(-j)"} {
		b.Run("formula="+strings.ReplaceAll(text, " ", ""), func(b *testing.B) {
			const rows, cols = 1000, 1000
			yaml := fmt.Sprintf("buffers:\n  x: {dtype: float32, shape: [%d, %d], fill: \"%s\"}\nsteps: []\n", rows, cols, text)
			if text == "1" {
				yaml = strings.Replace(yaml, `"1"`, "1", 1)
			}
			p, err := parse("bench.yaml", []byte(yaml), Options{})
			if err != nil {
				b.Fatal(err)
			}
			def := p.buffers[0]
			mem := make([]byte, def.array.Bytes())
			b.SetBytes(int64(len(mem)))
			for b.Loop() {
				if err := def.fill.write(b.Context(), mem, def.array.DType, def.array.Shape); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows/cols, "ns/element")
		})
	}
}
