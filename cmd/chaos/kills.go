package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// patience is how long whatever has to happen in the end may take.
const patience = 3 * time.Minute

// unlimited lets the service bring leads to the far ends as fast as it can.
func unlimited() []string {
	return []string{"DELIVERY_RATE=0", "DELIVERY_RETRY_MAX=1s", "CONTENT_TYPES=heroSection"}
}

// older is how many of the submissions of earlier rounds are asked for after a restart.
const older = 100

// kills ends the process with SIGKILL again and again under load, every fourth time
// while it starts. After each restart the service has to list every submission that was
// ever acknowledged, once for each target. Those of the latest round and some of the
// earlier ones are asked for by their content and by their PDF as well; in the end all.
func kills(ctx context.Context, t *trial) (o outcome, err error) {
	o.Tried = "SIGKILL under load, some during the start"
	far, err := newFarEnds()
	if err != nil {
		return o, err
	}
	defer far.close()
	s, err := newService(ctx, t.binary, t.dir, append(far.settings(), unlimited()...)...)
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
	c.begin(ctx)
	defer func() { err = errors.Join(err, c.end()) }()
	asked, known, longest := 0, 0, time.Duration(0)
	for o.Times < t.kills {
		c.hurry.Store(true)
		pause(ctx, t.between(50*time.Millisecond, 600*time.Millisecond))
		began := time.Now()
		if err := t.kill(s, &o); err != nil {
			return o, err
		}
		if o.Times%4 == 3 && o.Times < t.kills {
			pause(ctx, t.between(0, startUpTime))
			if err := t.kill(s, &o); err != nil {
				return o, err
			}
		}
		if err := s.ready(ctx, time.Minute); err != nil {
			return o, err
		}
		longest = max(longest, time.Since(began))
		c.hurry.Store(false)
		acked := c.soFar()
		list, err := s.readLedger(ctx)
		if err != nil {
			return o, err
		}
		sample := append([]*lead(nil), acked[known:]...)
		for range min(older, known) {
			sample = append(sample, acked[t.rand.IntN(known)])
		}
		lost, why, err := audit(ctx, c.visitors, sample)
		if err != nil {
			return o, err
		}
		if gone := list.missing(acked); lost+gone > 0 {
			o.Acknowledged, o.Lost = len(acked), max(lost, gone)
			return o, fmt.Errorf("after kill %d: %d acknowledged submissions are without exactly one delivery each, %d are lost: %s", o.Times, gone, lost, why)
		}
		asked, known = asked+len(sample), len(acked)
		if o.Times%20 < 2 {
			t.progress("  %d kills, %d submissions acknowledged", o.Times, len(acked))
		}
	}
	if err := c.end(); err != nil {
		return o, err
	}
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
	if err := s.delivered(ctx, patience); err != nil {
		return o, err
	}
	gone, err := far.arrived(c.acked)
	if err != nil {
		return o, err
	}
	o.Lost = lost + gone
	o.note("after each restart everything acknowledged was listed once for each target; %d times one was asked for by its content and its PDF, and all of them in the end", asked)
	o.note("%d submissions had to be repeated", c.statuses[0]+c.statuses[503])
	o.note("restart to first answer at most %v", longest.Round(time.Millisecond))
	if gone == 0 {
		o.note("CMS and CRM hold every lead once")
	}
	if wrong := unless(c.statuses, 200, 0, 503); wrong > 0 {
		return o, fmt.Errorf("submissions were answered with %v", c.statuses)
	}
	return o, nil
}

// kill ends the process and starts it again at once.
func (t *trial) kill(s *service, o *outcome) error {
	o.Times++
	return errors.Join(s.end(syscall.SIGKILL), s.start())
}
