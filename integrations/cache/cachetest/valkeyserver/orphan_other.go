//go:build !linux

package valkeyserver

import "os/exec"

// dieWithUs is not supported on this system.
func dieWithUs(*exec.Cmd) {}
