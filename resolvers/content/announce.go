package content

import (
	"context"
	"errors"
	"time"
)

// The edge is told of each new revision of a locale's content, by the instance that has a
// lease. A note of its name is the revision that was told last, written after the calls are
// durable. So what an instance was killed before it told, another one tells, or the
// same one after its next start.
const (
	announceLease = "announced:" // prefix of leases and notes; the key of the content follows

	// announceGrace is how long an instance leaves it to another one, which has fetched the
	// content or has the lease.
	announceGrace = 5 * time.Second
	// announceWait is how long an announcement waits for the database.
	announceWait = time.Second
)

// announce tells the edge of a revision after a time, unless the edge was told of it or
// the revision has been replaced by then.
func (c *Service) announce(l *localeContent, revision string, after time.Duration) {
	if c.TellEdge == nil {
		return
	}

	known := false
	c.state(l, func(s *localeState) {
		known = s.announced != nil && *s.announced == revision
		s.announced = &revision
	})
	if known {
		return
	}

	c.start(func(ctx context.Context) {
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(after):
			}

			now, ok := c.Revision(string(l.locale))
			if after > 0 && ok && now != revision || c.announceNow(ctx, l, revision) {
				return
			}
			after = announceGrace
		}
	})
}

// announceNow tells the edge of a revision if it was not told of it. It returns false
// while another instance has the lease.
func (c *Service) announceNow(ctx context.Context, l *localeContent, revision string) (done bool) {
	try, cancel := context.WithTimeout(ctx, announceWait)
	defer cancel()

	last, err := c.Notes.Note(try, announceLease+l.key)
	if err == nil && last == revision {
		return true
	}

	// Without the database the edge is told all the same.
	taken, err := c.Leases.TakeLease(try, announceLease+l.key, c.instance, announceGrace)
	if err == nil && !taken {
		return false
	}

	c.Count("content_changed", string(l.locale))
	c.TellEdge(ctx, []string{l.key})
	if ctx.Err() != nil || *c.state(l, nil).announced != revision {
		return true // it may not be durable, or is not the latest
	}

	err = errors.Join(
		c.Notes.SetNote(ctx, announceLease+l.key, revision),
		c.Leases.EndLease(ctx, announceLease+l.key, c.instance),
	)
	if err != nil {
		c.Log.Warn().Err(err).Str("locale", string(l.locale)).
			Msg("recording what the edge was told: it is told again after the next start")
	}
	return true
}
