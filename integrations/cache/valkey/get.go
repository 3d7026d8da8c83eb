package valkey

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/internal/shelf"
)

// pollPause is how long one waits for a push about another instance's fill before one
// asks. Fills that fail are not pushed.
const pollPause = 25 * time.Millisecond

// Get implements [cache.Cache]. It never returns [cache.ErrUnavailable].
func (c *Cache) Get(ctx context.Context, key string, life cache.Lifetime, fill cache.Fill) (cache.Entry, error) {
	if e, ok := c.shelf.Peek(key); ok {
		return e, nil
	}
	return c.load(ctx, key, life, fill)
}

// Peek implements [cache.Cache]. It answers from the copies of this process alone.
func (c *Cache) Peek(_ context.Context, key string) (cache.Entry, bool) { return c.shelf.Peek(key) }

// load is the part of Get that may have to ask the server; apart, because its closure
// would cost the hot path an allocation.
func (c *Cache) load(ctx context.Context, key string, life cache.Lifetime, fill cache.Fill) (cache.Entry, error) {
	return c.shelf.Get(ctx, key, func(ctx context.Context, f *shelf.Flight) (*shelf.Record, error) {
		l := &loading{Cache: c, flight: f, key: key, names: c.names.of(key), token: c.token(), life: life, fill: fill}
		return l.run(ctx)
	})
}

// loading is one flight of one key.
type loading struct {
	*Cache
	flight *shelf.Flight
	key    string
	names  []string // of entry and lease
	token  string   // of the lease, should it be taken
	life   cache.Lifetime
	fill   cache.Fill
}

// run takes the entry from the server, else fills it if the lease is to be had, else
// waits for whoever holds it.
func (l *loading) run(ctx context.Context) (*shelf.Record, error) {
	rung, leave := l.bells.wait(l.key)
	defer func() { leave() }()
	want := fillMissing
	if l.flight.Refresh() {
		want = fillExpired
	}
	for {
		got, err := l.take(ctx, want)
		if errors.Is(err, cache.ErrUnavailable) {
			return l.fillAway(ctx)
		}
		switch {
		case err != nil:
			return nil, err
		case got.leased:
			return l.fillLeased(ctx)
		case got.record != nil && l.flight.Refresh() && !l.shelf.Fresh(got.record):
			return nil, shelf.ErrBusy
		case got.record != nil:
			return got.record, nil
		}
		select {
		case <-rung:
			rung, leave = l.bells.wait(l.key)
		case <-time.After(pollPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// runFill calls the fill and reports it.
func (l *loading) runFill(ctx context.Context) ([]byte, error) {
	return shelf.Filling{Key: l.key, Refresh: l.flight.Refresh(), Report: l.opts.OnFill}.Run(ctx, l.fill)
}

// newEntry returns an entry of a value that was filled just now, as it will come back
// from the server: times there are whole milliseconds.
func newEntry(value []byte) cache.Entry {
	return cache.Entry{Value: value, Revision: cache.RevisionOf(value), StoredAt: time.Now().UTC().Truncate(time.Millisecond)}
}

// fillAway fills while the server can't help, for this instance and a short time.
func (l *loading) fillAway(ctx context.Context) (*shelf.Record, error) {
	value, err := l.runFill(ctx)
	if err != nil {
		return nil, err
	}
	return l.brief(newEntry(value)), nil
}

// brief returns a record that is used for no longer than AwayFresh.
func (l *loading) brief(e cache.Entry) *shelf.Record {
	life := cache.Lifetime{Fresh: AwayFresh}
	if l.life.Fresh > 0 {
		life.Fresh = min(life.Fresh, l.life.Fresh)
	}
	return l.shelf.NewRecord(e, life)
}
