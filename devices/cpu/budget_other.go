//go:build !linux

package cpu

import "runtime"

func systemBudget() (n int, warning string) { return runtime.NumCPU(), "" }
