package resolvers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/store"
	"siteapi/schema"
)

const (
	// watchLease is the lease of the instance that watches the CMS. Its note is a
	// [cms.Watching] as JSON.
	watchLease = "watch"
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
func (r *Resolver) Watch(ctx context.Context, watcher cms.Watcher, shared bool) {
	holder, stop := r.NewID(), func() {}
	watches, failing := false, false

	for {
		note, _ := json.Marshal(watcher.Watching())
		lease := store.Lease{Name: watchLease, Holder: holder, Note: string(note)}
		held, err := r.Leases.HoldLease(ctx, lease, watchLife)
		if err != nil && !failing && ctx.Err() == nil {
			r.Log.Warn().Err(err).Msg("renewing the lease of the instance that watches the CMS")
		}
		failing = err != nil

		switch may := held || !shared || watches && err != nil; {
		case may && !watches:
			watches, stop = true, r.startWatch(ctx, watcher)
		case watches && !may:
			r.Log.Info().Msg("another instance watches the CMS")
			stop()
			watches = false
		}

		select {
		case <-ctx.Done():
			stop()
			r.endWatch(holder)
			return
		case <-time.After(watchBeat):
		}
	}
}

// endWatch gives the lease back, so that another instance takes it at its next beat.
func (r *Resolver) endWatch(holder string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.Leases.EndLease(ctx, watchLease, holder); err != nil {
		r.Log.Warn().Err(err).Msg("giving back the lease of the instance that watches the CMS")
	}
}

// startWatch watches and renews what is reported, until stop is called.
func (r *Resolver) startWatch(ctx context.Context, watcher cms.Watcher) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup

	scope, reports := cms.Scope{Types: r.content.types}, map[string]chan struct{}{}
	for _, locale := range schema.Locales() {
		reported := make(chan struct{}, 1)
		scope.Locales = append(scope.Locales, string(locale))
		reports[string(locale)] = reported
		work.Go(func() { r.keepFresh(ctx, locale, reported) })
	}

	work.Go(func() {
		err := watcher.Watch(ctx, scope, func(locales []string) {
			for _, locale := range locales {
				select {
				case reports[locale] <- struct{}{}:
				default: // a renewal that has not begun is enough for both
				}
			}
		})
		if err != nil && ctx.Err() == nil {
			r.Log.Error().Err(err).Msg("watching the CMS")
		}
	})

	return func() {
		cancel()
		work.Wait()
	}
}

// keepFresh renews the content of a locale after each report, one renewal at a time. A
// failed one is repeated until it succeeds. After a change it is repeated as after a
// webhook, since other instances may have read from a server that did not have it yet.
func (r *Resolver) keepFresh(ctx context.Context, locale schema.Locale, reported <-chan struct{}) {
	var again <-chan time.Time // nil: nothing is to be repeated
	var repetitions []time.Duration

	for {
		select {
		case <-ctx.Done():
			return
		case <-reported:
		case <-again:
		}

		changed, err := r.content.renew(ctx, locale)
		switch {
		case err != nil:
			again = time.After(renewRetry)
			r.Count(Event{"content_watch", "error"})
			continue
		case changed:
			repetitions = []time.Duration{firstRefetch, secondRefetch}
			r.Count(Event{"content_watch", "changed"})
			r.Log.Info().Str("locale", string(locale)).Msg("content changed in the CMS")
		default:
			r.Count(Event{"content_watch", "equal"})
		}

		again = nil
		if len(repetitions) > 0 {
			again, repetitions = time.After(repetitions[0]), repetitions[1:]
		}
	}
}

// renew fetches the content of a locale. If it differs from what is cached, it is fetched
// into the cache; other instances see that as they see any invalidation.
func (c *contentService) renew(ctx context.Context, locale schema.Locale) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*cache.FillTimeout)
	defer cancel()
	value, _, err := c.fetch(ctx, c.locales[locale])
	if err != nil {
		return false, err
	}

	s, _ := readStamp(value)
	if cached, ok := c.revision(c.locales[locale]); ok && cached == string(s.revision) {
		return false, nil
	}

	// The value is not stored itself: content that was published after it was fetched may
	// be in the cache already.
	if _, err := c.invalidate(ctx, []schema.Locale{locale}); err != nil {
		return false, err
	}
	_, err = c.read(ctx, locale)
	return true, err
}

// checkWatch reports how changes of the content are noticed, by the note of the instance
// that watches.
func (d Dependencies) checkWatch(ctx context.Context, warn Warn) (string, error) {
	leases, err := d.Leases(ctx)
	if err != nil {
		return "not checked: the database can't be opened", nil //nolint:nilerr // the check of the database reports it
	}
	lease, held, err := leases.Lease(ctx, watchLease)
	if errors.Is(err, store.ErrNotFound) || err == nil && !held {
		return "none: changes are noticed by the webhook, or after CONTENT_TTL", nil
	}
	if err != nil {
		return "", err
	}

	var now cms.Watching
	if err := json.Unmarshal([]byte(lease.Note), &now); err != nil {
		return "", fmt.Errorf("reading the note of the instance that watches: %w", err)
	}
	since, heard := time.Since(now.Since).Round(time.Second), time.Since(now.Heard).Round(time.Second)
	switch now.Mode {
	case cms.WatchFile:
		return "the content file is read when it changes", nil
	case cms.WatchStream:
		return fmt.Sprintf("by the event stream of the CMS, for %s, heard %s ago", since, heard), nil
	case cms.WatchAsking:
		if since < time.Minute {
			break
		}
		warn(
			fmt.Sprintf("by asking every 30 seconds, for %s, last answered %s ago: %s", since, heard, now.Reason),
			"a change takes up to 45 seconds; see whether the CMS can be reached, and whether a proxy between it "+
				"and this service holds back text/event-stream")
		return "", nil
	}
	return "connecting to the event stream of the CMS", nil
}
