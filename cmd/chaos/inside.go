package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
)

// insideVariable tells a copy of this program that it plays a scenario in a mount
// namespace of its own: what it mounts is seen by nobody else and gone when it ends,
// however it ends.
const insideVariable = "SITEAPI_CHAOS_INSIDE"

// assignment is what that copy is told, and verdict what it answers.
type (
	assignment struct {
		Scenario, Binary, Dir string
		Short                 bool
		Seed                  uint64
	}
	verdict struct {
		Outcome outcome
		Error   string
	}
)

// insiders are the scenarios that are played there.
func insiders() map[string]proof {
	return map[string]proof{"disk-full": smallDisk, "read-only": readOnlyStart}
}

// errOutside means that this process is no such copy.
var errOutside = errors.New("not in a namespace")

// inside plays a scenario if this process is a copy that was started for it.
func inside(ctx context.Context) error {
	task := os.Getenv(insideVariable)
	if task == "" {
		return errOutside
	}
	var a assignment
	if err := json.Unmarshal([]byte(task), &a); err != nil {
		return err
	}
	if err := os.Unsetenv(insideVariable); err != nil {
		return err
	}
	if err := privateMounts(); err != nil {
		return err
	}
	t := &trial{binary: a.Binary, dir: a.Dir, short: a.Short, rand: rand.New(rand.NewPCG(a.Seed, 3)), notes: os.Stderr}
	var v verdict
	var err error
	if v.Outcome, err = insiders()[a.Scenario](ctx, t); err != nil {
		v.Error = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(v)
}

// playInside has a copy of this program play a scenario in a mount namespace.
func (t *trial) playInside(ctx context.Context, scenario string) (outcome, error) {
	self, err := os.Executable()
	if err != nil {
		return outcome{}, err
	}
	task, err := json.Marshal(assignment{scenario, t.binary, t.dir, t.short, t.rand.Uint64()})
	if err != nil {
		return outcome{}, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), insideVariable+"="+string(task))
	cmd.Stdout, cmd.Stderr = &out, t.notes
	ownMounts(cmd)
	if err := cmd.Start(); err != nil {
		return outcome{NotRun: fmt.Sprintf("this system gives us no mounts of our own: %v", err)}, nil
	}
	if err := cmd.Wait(); err != nil {
		return outcome{}, fmt.Errorf("in a namespace: %w", err)
	}
	var v verdict
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		return outcome{}, fmt.Errorf("reading what came of it: %w", err)
	}
	if v.Error != "" {
		return v.Outcome, errors.New(v.Error)
	}
	return v.Outcome, nil
}
