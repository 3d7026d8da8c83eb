package valkeyserver

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the server killed when the process that started it dies, so that a
// test that timed out leaves none behind.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
