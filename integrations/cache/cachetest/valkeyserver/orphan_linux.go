package valkeyserver

import (
	"os/exec"
	"syscall"
)

// dieWithUs makes the kernel kill the server when its parent dies, so that a test that
// timed out leaves no server behind.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
