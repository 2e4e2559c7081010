package main

import (
	"os/exec"
	"syscall"
)

// ownGroup has a console's interrupt reach this program alone, which hands it on
// once.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
