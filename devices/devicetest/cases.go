package devicetest

// cases are all cases, in the order of the contract: driver, memory, copies,
// programs, launches, order, events, many at once.
func cases() []testCase {
	var all []testCase
	all = append(all, driverCases()...)
	return all
}
