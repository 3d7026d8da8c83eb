package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// readOnly makes the data folder read-only, under a running service and before a start.
func readOnly(ctx context.Context, t *trial) (o outcome, err error) {
	const tried = "data folder read-only while running, and at a start"
	if err := freezable(t.dir); err != nil {
		return outcome{Tried: tried, NotRun: fmt.Sprintf("files can't be made immutable, which takes root and a file system such as ext4: %v", err)}, nil
	}
	data := filepath.Join(t.dir, "data")
	defer func() { err = errors.Join(err, freeze(data, false)) }()
	o, err = t.withoutStorage(ctx, t.times(3, 1), "leave to write",
		func() error { return freeze(data, true) }, func() error { return freeze(data, false) })
	o.Tried = tried
	if err != nil {
		return o, err
	}
	started := *t
	started.dir = filepath.Join(t.dir, "start")
	at, err := started.playInside(ctx, "read-only")
	o.Times, o.Acknowledged, o.Lost = o.Times+at.Times, o.Acknowledged+at.Acknowledged, o.Lost+at.Lost
	o.Notes, o.NotRun = append(o.Notes, at.Notes...), at.NotRun
	return o, err
}

// readOnlyStart starts the service on a folder that nobody can write to.
func readOnlyStart(ctx context.Context, t *trial) (o outcome, err error) {
	data := filepath.Join(t.dir, "data")
	if err := mountDisk(data, diskSize); err != nil {
		return outcome{NotRun: err.Error()}, nil // that it can't be is an outcome
	}
	far, err := newFarEnds()
	if err != nil {
		return o, err
	}
	defer far.close()
	s, err := newService(ctx, t.binary, t.dir, append(far.settings(), unlimited()...)...)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.end(syscall.SIGKILL)) }()
	restart := func() error { return errors.Join(s.start(), s.ready(ctx, time.Minute)) }
	if err := restart(); err != nil {
		return o, err
	}
	c := newCrowd(s.base, true)
	c.begin(ctx)
	err = c.await(ctx, "acknowledgements", c.statuses, 200, 20)
	if err := errors.Join(err, c.end(), s.end(syscall.SIGKILL), c.err); err != nil {
		return o, err
	}
	if err := remountDisk(data, true); err != nil {
		return o, err
	}
	o.Times++
	if err := s.start(); err != nil {
		return o, err
	}
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		return o, errors.New("the service did not refuse to start on a read-only folder")
	}
	said, err := os.ReadFile(filepath.Join(t.dir, "siteapi.log"))
	if err != nil {
		return o, err
	}
	if !bytes.Contains(said, []byte("read-only")) && !bytes.Contains(said, []byte("readonly")) {
		return o, fmt.Errorf("the service does not say why it did not start: %s", said)
	}
	if err := errors.Join(remountDisk(data, false), restart(), c.settle(ctx)); err != nil {
		return o, err
	}
	var why string
	o.Acknowledged = len(c.acked)
	if o.Lost, why, err = audit(ctx, c.visitors, c.acked); o.Lost > 0 {
		o.note("%s", why)
	}
	o.note("on a read-only folder the service says so and does not start")
	return o, errors.Join(err, s.delivered(ctx, patience), s.end(syscall.SIGTERM), intact(ctx, filepath.Join(data, "siteapi.db")))
}
