package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"siteapi/integrations/cache/cachetest/valkeyserver"
	"siteapi/integrations/store/storetest/pgserver"
)

// flapping stops and starts the cache server and the database under load, alone and
// together, the database by turns in good order and without warning.
func flapping(ctx context.Context, t *trial) (o outcome, err error) {
	o.Tried = "cache server and PostgreSQL stopped and started"
	pg, err := pgserver.New()
	if errors.Is(err, pgserver.ErrNoBinaries) {
		o.NotRun = err.Error()
		return o, nil
	}
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, pg.Remove()) }()
	if err := pg.Up(); err != nil {
		return o, err
	}
	dir, err := os.MkdirTemp(t.dir, "cache-")
	if err != nil {
		return o, err
	}
	cacheServer, err := valkeyserver.New(dir)
	if errors.Is(err, valkeyserver.ErrNoBinary) {
		o.NotRun = err.Error()
		return o, nil
	}
	if err != nil {
		return o, err
	}
	if err := cacheServer.Start(); err != nil {
		return o, err
	}
	defer cacheServer.Stop()
	far, err := newFarEnds()
	if err != nil {
		return o, err
	}
	defer far.close()
	env := append(far.settings(), unlimited()...)
	s, err := newService(ctx, t.binary, t.dir, append(env, "DATABASE_URL="+pg.URL("postgres"), "CACHE_URL="+cacheServer.URL())...)
	if err != nil {
		return o, err
	}
	if err := s.start(); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.end(syscall.SIGKILL)) }()
	if err := s.ready(ctx, time.Minute); err != nil {
		return o, err
	}
	c := newCrowd(s.base, true)
	c.hurry.Store(true)
	// The first readers fill the cache while everything is well.
	if status, body := c.post(ctx, "/graphql", readQuery); status != 200 {
		return o, fmt.Errorf("before anything was stopped content is answered with %d %s", status, body)
	}
	c.begin(ctx)
	defer func() { err = errors.Join(err, c.end()) }()
	var slowest time.Duration
	for o.Times < t.times(20, 3) && ctx.Err() == nil {
		what := []string{"cache", "database", "both"}[o.Times%3]
		if what != "database" {
			cacheServer.Stop()
		}
		if what != "cache" {
			if err := pg.End([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}[o.Times%2]); err != nil {
				return o, err
			}
		}
		o.Times++
		pause(ctx, t.between(300*time.Millisecond, 2*time.Second))
		if what != "database" {
			err = cacheServer.Start()
		}
		if what != "cache" {
			err = errors.Join(err, pg.Up())
		}
		if err != nil {
			return o, err
		}
		began := time.Now()
		if err := c.await(ctx, "acknowledgements after "+what+" came back", c.statuses, 200, 10); err != nil {
			return o, err
		}
		slowest = max(slowest, time.Since(began))
		pause(ctx, t.between(300*time.Millisecond, time.Second))
	}
	if err := c.end(); err != nil {
		return o, err
	}
	if err := c.settle(ctx); err != nil {
		return o, err
	}
	o.Acknowledged = len(c.acked)
	if wrong := unless(c.statuses, 200, 503) + unless(c.tracks, 200, 503) + unless(c.reads, 200); wrong > 0 {
		o.note("answers other than 200 and 503: submissions %v, states %v, content %v", c.statuses, c.tracks, c.reads)
	}
	lost, why, err := audit(ctx, c.visitors, c.acked)
	if err != nil {
		return o, err
	}
	if lost > 0 {
		o.note("%s", why)
	}
	began := time.Now()
	if err := s.delivered(ctx, patience); err != nil {
		return o, err
	}
	took := time.Since(began)
	stored, err := s.readLedger(ctx)
	if err != nil {
		return o, err
	}
	gone, err := far.arrived(c.acked)
	o.Lost = lost + gone + stored.missing(c.acked)
	o.note("%d submissions had to be repeated", c.statuses[503])
	o.note("ten acknowledgements at most %v after a server was back", slowest.Round(time.Millisecond))
	o.note("all deliveries arrived %v after the load", took.Round(100*time.Millisecond))
	o.note("%d of %d reads of content answered", c.reads[200], c.reads[200]+unless(c.reads, 200))
	if bad := unless(c.reads, 200); bad > 0 {
		err = errors.Join(err, fmt.Errorf("content did not go on: %v", c.reads))
	}
	if bad := unless(c.statuses, 200, 503); bad > 0 {
		err = errors.Join(err, fmt.Errorf("submissions were answered with %v", c.statuses))
	}
	return o, err
}
