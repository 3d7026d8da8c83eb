package content

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"siteapi/integrations/cms"
	"siteapi/schema"
)

const (
	// WatchLease is the lease of the instance that watches the CMS. The note of that name
	// is a [cms.Watching] as JSON.
	WatchLease = "watch"
	// watchLife is how long an instance that was killed keeps the lease.
	watchLife = 20 * time.Second
	// watchBeat is the time from one renewal of the lease to the next.
	watchBeat = 5 * time.Second
	// renewRetry is the time from a failed renewal of the content to the next.
	renewRetry = 3 * time.Second
)

// Watch keeps the content fresh by what the CMS's driver notices until ctx ends. Of the
// instances that share a cache one watches for all; while the database is away, the one
// that watches continues.
func (c *Service) Watch(ctx context.Context, watcher cms.Watcher, shared bool) {
	holder, stop := rand.Text(), func() {}
	watches, failing := false, false

	for {
		taken, err := c.Leases.TakeLease(ctx, WatchLease, holder, watchLife)
		if taken {
			note, _ := json.Marshal(watcher.Watching())
			err = c.Notes.SetNote(ctx, WatchLease, string(note))
		}
		if err != nil && !failing && ctx.Err() == nil {
			c.Log.Warn().Err(err).Msg("renewing the lease of the instance that watches the CMS")
		}
		failing = err != nil

		switch may := taken || !shared || watches && err != nil; {
		case may && !watches:
			watches, stop = true, c.startWatch(ctx, watcher)
		case watches && !may:
			c.Log.Info().Msg("another instance watches the CMS")
			stop()
			watches = false
		}

		select {
		case <-ctx.Done():
			stop()
			c.endWatch(holder)
			return
		case <-time.After(watchBeat):
		}
	}
}

// endWatch gives the lease back, so that another instance takes it at its next beat.
func (c *Service) endWatch(holder string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := c.Leases.EndLease(ctx, WatchLease, holder); err != nil {
		c.Log.Warn().Err(err).Msg("giving back the lease of the instance that watches the CMS")
	}
}

// startWatch watches and renews what is reported, until stop is called.
func (c *Service) startWatch(ctx context.Context, watcher cms.Watcher) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup

	scope, reports := cms.Scope{Types: c.types}, map[string]chan struct{}{}
	for _, locale := range schema.Locales() {
		reported := make(chan struct{}, 1)
		scope.Locales = append(scope.Locales, string(locale))
		reports[string(locale)] = reported
		running.Go(func() { c.keepFresh(ctx, locale, reported) })
	}

	running.Go(func() {
		err := watcher.Watch(ctx, scope, func(locales []string) {
			for _, locale := range locales {
				select {
				case reports[locale] <- struct{}{}:
				default: // a renewal that has not begun is enough for both
				}
			}
		})
		if err != nil && ctx.Err() == nil {
			c.Log.Error().Err(err).Msg("watching the CMS")
		}
	})

	return func() {
		cancel()
		running.Wait()
	}
}

// keepFresh renews the content of a locale after each report, one renewal at a time. A
// failed one is repeated until it succeeds. After a change it is repeated as after a
// webhook, since other instances may have read from a server that did not have it yet.
func (c *Service) keepFresh(ctx context.Context, locale schema.Locale, reported <-chan struct{}) {
	var again <-chan time.Time // nil: nothing is to be repeated
	var repetitions []time.Duration

	for {
		select {
		case <-ctx.Done():
			return
		case <-reported:
		case <-again:
		}

		changed, err := c.renew(ctx, c.locales[locale])
		switch {
		case err != nil:
			again = time.After(renewRetry)
			c.Count("content_watch", "error")
			continue
		case changed:
			repetitions = []time.Duration{firstRefetch, secondRefetch}
			c.Count("content_watch", "changed")
			c.Log.Info().Str("locale", string(locale)).Msg("content changed in the CMS")
		default:
			c.Count("content_watch", "equal")
		}

		again = nil
		if len(repetitions) > 0 {
			again, repetitions = time.After(repetitions[0]), repetitions[1:]
		}
	}
}
