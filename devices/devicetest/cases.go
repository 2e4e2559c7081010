package devicetest

import "slices"

// cases are all cases, in the order of the contract: driver, memory, copies,
// programs, launches, arguments, order, events, many at once.
func cases() []testCase {
	return slices.Concat(driverCases(), memoryCases(), copyCases(), programCases(), launchCases(),
		argumentCases(), orderCases(), eventCases(), loadCases())
}
