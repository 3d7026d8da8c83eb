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
	return []string{"CMS_RATE=0", "CRM_RATE=0", "DELIVERY_RETRY_MAX=1s", "CONTENT_TYPES=heroSection"}
}

// kills ends the process with SIGKILL again and again under load, every fourth time
// while it starts. After each restart every submission that was ever acknowledged is
// asked for.
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
	asked, longest := 0, time.Duration(0)
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
		lost, why, err := audit(ctx, c.visitors, acked)
		if err != nil {
			return o, err
		}
		list, err := s.readLedger(ctx)
		if err != nil {
			return o, err
		}
		if gone := list.missing(acked); lost+gone > 0 {
			o.Acknowledged, o.Lost = len(acked), lost+gone
			return o, fmt.Errorf("after kill %d: %d acknowledged submissions are lost, %d are without exactly one delivery each: %s", o.Times, lost, gone, why)
		}
		asked += len(acked)
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
	if err := s.delivered(ctx, patience); err != nil {
		return o, err
	}
	if o.Lost, err = far.arrived(c.acked); err != nil {
		return o, err
	}
	o.note("after each restart everything acknowledged was asked for, %d times in all, by its content and by its PDF", asked)
	o.note("%d submissions had to be repeated", c.statuses[0]+c.statuses[503])
	o.note("restart to first answer at most %v", longest.Round(time.Millisecond))
	o.note("CMS and CRM hold every lead once")
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
