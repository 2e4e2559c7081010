//go:build !linux && !windows

package dl

func loadedPath(_ uintptr, name string) string { return name }
