package main

func Example() {
	main()
	// Output: [12 24 36] <nil>
}
