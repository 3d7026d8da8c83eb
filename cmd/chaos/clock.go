package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"
)

// jumps are the places that the clock is put to, from where it should be.
func jumps() []time.Duration {
	const day = 24 * time.Hour
	return []time.Duration{20 * day, 0, -time.Hour, 0, 7 * day, -7 * day, time.Hour, 0, -400 * day, 0, 3 * time.Second, -3 * time.Second, 0}
}

// clock moves the wall clock of the service under load, forth and back, while some
// calls to CMS and CRM fail so that there are retries to be timed. Only the service
// sees it, with its database: the machine's clock is left alone.
func clock(ctx context.Context, t *trial) (o outcome, err error) {
	o.Tried = "wall clock forth and back under load"
	far, err := newFarEnds()
	if err != nil {
		return o, err
	}
	defer far.close()
	s, err := newService(ctx, t.binary, t.dir, append(far.settings(), unlimited()...)...)
	if err != nil {
		return o, err
	}
	moved, err := newMovedClock()
	if err != nil {
		o.NotRun = err.Error()
		return o, nil // that it can't be is an outcome
	}
	defer moved.close()
	s.launch = moved.launch
	if err := s.start(); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, s.end(syscall.SIGKILL)) }()
	if err := s.ready(ctx, time.Minute); err != nil {
		return o, err
	}
	if err := moved.takeOver(s.pid()); err != nil {
		return o, err
	}
	c := newCrowd(s.base, true)
	c.hurry.Store(true)
	c.begin(ctx)
	defer func() { err = errors.Join(err, c.end()) }()
	far.failAtRandom(0.3, t.rand.Uint64())
	var longest time.Duration
	for n, offset := range jumps() {
		if t.short && n > 3 && n < len(jumps())-1 {
			continue
		}
		moved.set(offset)
		o.Times, longest = o.Times+1, max(longest, offset.Abs())
		if err := s.tellsTime(ctx, offset); err != nil {
			return o, err
		}
		if err := c.await(ctx, "acknowledgements after a jump", c.statuses, http.StatusOK, 20); err != nil {
			return o, err
		}
		pause(ctx, t.between(500*time.Millisecond, time.Duration(t.times(3000, 1000))*time.Millisecond))
	}
	if err := c.end(); err != nil {
		return o, err
	}
	far.recovers()
	if err := c.settle(ctx); err != nil {
		return o, err
	}
	o.Acknowledged = len(c.acked)
	lost, why, err := audit(ctx, c.visitors, c.acked)
	if err != nil {
		return o, err
	}
	if lost > 0 {
		o.note("%s", why)
	}
	began := time.Now()
	late, err := s.bringLate(ctx)
	if err != nil {
		return o, err
	}
	took := time.Since(began)
	stored, err := s.readLedger(ctx)
	if err != nil {
		return o, err
	}
	gone, err := far.arrived(c.acked)
	// What was delivered more than a month ago by the clock is listed no more, so the list
	// tells only of doubles; CMS and CRM tell what arrived.
	o.Lost = lost + gone + stored.doubled()
	o.note("the clock was put off by %v at most", longest)
	if late > 0 {
		o.note("%d deliveries whose try ended in the moment of a jump would have waited until then and came with `siteapi deliveries retry --all`", late)
	}
	o.note("answers to submissions %v, to states %v, of content %v", c.statuses, c.tracks, c.reads)
	if gone == 0 {
		o.note("CMS and CRM hold every lead once")
	}
	o.note("all deliveries arrived %v after the last jump", took.Round(time.Millisecond))
	if bad := unless(c.statuses, 200) + unless(c.tracks, 200) + unless(c.reads, 200); bad > 0 {
		err = errors.Join(err, fmt.Errorf("%d answers were not 200", bad))
	}
	return o, err
}

// settled is how long deliveries may take to arrive by themselves once the clock is right,
// and lateShare how many of them may not: a try that began before a jump and ended after
// it has a time for the next which nothing tells from one that the target asked for.
const (
	settled   = time.Minute
	lateShare = 0.01
)

// bringLate waits for the deliveries, does for the last few what an operator would, and
// returns their number.
func (s *service) bringLate(ctx context.Context) (late int, err error) {
	if err := s.delivered(ctx, settled); err == nil || ctx.Err() != nil {
		return 0, err
	}
	waiting, err := s.waiting(ctx)
	if err != nil {
		return 0, err
	}
	all, err := s.readLedger(ctx)
	if err != nil {
		return 0, err
	}
	if late = len(waiting); float64(late) > lateShare*float64(2*len(all)) {
		return late, fmt.Errorf("%d deliveries of %d submissions wait for a time that the clock was at, one of them %+v", late, len(all), waiting[0])
	}
	if _, _, err := s.command(ctx, "deliveries", "retry", "--all"); err != nil {
		return late, err
	}
	return late, s.delivered(ctx, patience)
}

// tellsTime makes sure that the service sees the clock where it was put, by the header
// Date of its answers. Go's server makes that anew every half a second at most.
func (s *service) tellsTime(ctx context.Context, offset time.Duration) error {
	var off time.Duration
	for range 20 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/healthz", nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return fmt.Errorf("asking the service for the time: %w", err)
		}
		_ = resp.Body.Close()
		date, err := http.ParseTime(resp.Header.Get("Date"))
		if err != nil {
			return fmt.Errorf("asking the service for the time: %w", err)
		}
		if off = date.Sub(time.Now().Add(offset)); off.Abs() < 2*time.Second {
			return nil
		}
		pause(ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("the clock was put %v off, and the service still sees another time, by %v", offset, off)
}
