package library

import (
	"math"

	"github.com/tandemrun/tandem/devices"
	"github.com/tandemrun/tandem/kernels"
)

// FinanceBlackScholes prices European options after Black and Scholes (1973).
//
// Prices are off by less than 1e-6 of spot plus strike. Where volatility·√years
// is below 1e-6 the price is that of certainty: the discounted difference or
// nothing. A spot or strike that is not positive, negative years and NaN give
// NaN.
var FinanceBlackScholes = financeBlackScholes()

func financeBlackScholes() *kernels.Kernel {
	one := kernels.PerItem(1)
	return &kernels.Kernel{
		Name: "finance.blackscholes",
		Doc:  "prices of European call and put options, each within 1e-6·(spot + strike)",
		Params: []kernels.Param{
			in("spot", devices.Float32, one, "price of the share now, above 0"),
			in("strike", devices.Float32, one, "price agreed on, above 0"),
			in("years", devices.Float32, one, "time to expiry in years, 0 or more"),
			out("call", devices.Float32, one, "price of the right to buy"),
			out("put", devices.Float32, one, "price of the right to sell"),
			value("rate", devices.Float32, nil, "riskless interest rate a year, continuous: 0.02 is 2 %"),
			value("volatility", devices.Float32, nil, "volatility a year: 0.3 is 30 %"),
		},
		Variants: variants(blackScholesGo, clSource("finance.cl", ""), "finance_blackscholes", kernels.Needs{}),
		Infer:    elementwise("spot", "strike", "years", "call", "put"),
		Work: func(c *kernels.Call) kernels.Work {
			return kernels.Work{Flops: 150 * float64(c.Array("spot").Elements()), Bytes: bytesOf(c, "spot", "strike", "years", "call", "put")}
		},
	}
}

func blackScholesGo(r devices.Range, a *devices.Args) {
	lo, hi := r.Lo[0], r.Hi[0]
	spot, strike, years := devices.Slice[float32](a, 0)[lo:hi], devices.Slice[float32](a, 1)[lo:hi], devices.Slice[float32](a, 2)[lo:hi]
	call, put := devices.Slice[float32](a, 3)[lo:hi], devices.Slice[float32](a, 4)[lo:hi]
	rate, volatility := devices.Value[float32](a, 5), devices.Value[float32](a, 6)
	n := priceBlocks(call, put, spot, strike, years, rate, volatility)
	for i := n; i < len(call); i++ {
		s := spot[i]
		call[i], put[i] = price(s, strike[i], years[i], rate, volatility)
	}
}

func price(s, x, t, rate, volatility float32) (call, put float32) {
	if !(s > 0 && x > 0 && t >= 0) {
		nan := float32(math.NaN())
		return nan, nan
	}
	spread := float32(volatility * root(t))
	if spread < 1e-6 {
		spread = 1e-6
	}
	drift := float32(growth(rate, volatility) * t)
	d1 := float32((logarithm(float32(s*reciprocal(x))) + drift) * reciprocal(spread))
	d2 := d1 - spread
	below1, above1 := sides(d1)
	below2, above2 := sides(d2)
	paid := float32(x * exponential(-float32(rate*t)))
	return float32(s*below1) - float32(paid*below2), float32(paid*above2) - float32(s*above1)
}

// growth is the drift of the logarithm of a price in a year.
func growth(rate, volatility float32) float32 {
	return rate + float32(float32(0.5*volatility)*volatility)
}

// sides are the normal distribution function of d and of -d.
func sides(d float32) (below, above float32) {
	t := tail(d)
	if d > 0 {
		return 1 - t, t
	}
	return t, 1 - t
}
