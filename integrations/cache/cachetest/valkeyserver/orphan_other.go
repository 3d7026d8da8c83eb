//go:build !linux

package valkeyserver

import "os/exec"

// dieWithUs can't be promised by this system.
func dieWithUs(*exec.Cmd) {}
