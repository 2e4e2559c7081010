//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup has a terminal's interrupt reach this program alone, which hands it
// on once.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
