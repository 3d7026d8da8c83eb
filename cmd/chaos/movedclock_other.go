//go:build !linux || !amd64

package main

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// movedClock is not possible on this system.
type movedClock struct{}

func newMovedClock() (*movedClock, error) {
	return nil, errors.New("moving the clock of one process takes Linux on x86-64")
}

func (*movedClock) set(time.Duration)      {}
func (*movedClock) close()                 {}
func (*movedClock) launch(*exec.Cmd) error { return errors.ErrUnsupported }
func (*movedClock) takeOver(int) error     { return errors.ErrUnsupported }
func underClock(context.Context) error     { return errOutside }
