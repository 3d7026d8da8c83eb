package valkey

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/valkey-io/valkey-go"

	"siteapi/integrations/cache"
	"siteapi/integrations/cache/internal/shelf"
)

// taken is the answer to a take.
type taken struct {
	record *shelf.Record // nil where there is no entry
	leased bool          // the caller holds the lease and has to fill
}

// command runs a script for the loading's key within the time-out of one command.
func (l *loading) command(ctx context.Context, op string, script *valkey.Lua, args ...string) (valkey.ValkeyResult, error) {
	client, up := l.link.Client()
	if !up {
		return valkey.ValkeyResult{}, fmt.Errorf("%s: %w", op, cache.ErrUnavailable)
	}
	// Not bounded by ctx alone: a fill that used all of its time may still give its lease
	// back.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.opts.Timeout)
	defer cancel()
	result := script.Exec(ctx, client, l.names, args)
	return result, l.link.Failed(op, result.Error())
}

// What take wants beside reading.
const (
	readOnly    = "read"    // nothing
	fillMissing = "fill"    // the lease of a missing entry
	fillExpired = "refresh" // the lease of a missing or expired entry
)

// take reads the entry, and takes the lease where want asks for it.
func (l *loading) take(ctx context.Context, want string) (taken, error) {
	result, err := l.command(ctx, "reading the cache", l.scripts.take, l.token, milliseconds(l.opts.Lease), want)
	if err != nil {
		return taken{}, err
	}
	got, err := l.decode(result)
	if err != nil {
		return taken{}, l.link.Failed("reading the cache", err)
	}
	return got, nil
}

// decode reads the answer of the script take.
func (l *loading) decode(result valkey.ValkeyResult) (taken, error) {
	fields, err := result.ToArray()
	if err != nil {
		return taken{}, err
	}
	if len(fields) != 2 && len(fields) != 6 {
		return taken{}, fmt.Errorf("an answer of %d fields", len(fields))
	}
	leased, err := fields[0].AsInt64()
	if err != nil {
		return taken{}, err
	}
	got := taken{leased: leased == 1}
	if len(fields) == 2 {
		return got, nil
	}
	left, err := fields[1].AsInt64()
	if err != nil {
		return taken{}, err
	}
	var text [4]string
	for i := range text {
		if text[i], err = fields[2+i].ToString(); err != nil {
			return taken{}, err
		}
	}
	storedAt, err := strconv.ParseInt(text[2], 10, 64)
	if err != nil {
		return taken{}, err
	}
	stale, err := strconv.ParseInt(text[3], 10, 64)
	if err != nil {
		return taken{}, err
	}
	e := cache.Entry{Value: []byte(text[0]), Revision: text[1], StoredAt: time.UnixMilli(storedAt).UTC()}
	if left < 0 {
		got.record = l.shelf.NewRecord(e, cache.Lifetime{})
	} else {
		got.record = l.shelf.NewRecordFor(e, time.Duration(left-stale)*time.Millisecond, time.Duration(left)*time.Millisecond)
	}
	return got, nil
}

// fillLeased fills, keeping the lease meanwhile, and stores the value unless an
// invalidation took the lease away.
func (l *loading) fillLeased(ctx context.Context) (*shelf.Record, error) {
	stored := false
	stop := l.keepLease(ctx)
	defer func() { // also when the fill panicked or ended its goroutine
		stop()
		if !stored {
			// Should it fail, the lease ends by itself.
			_, _ = l.command(ctx, "giving a lease back", l.scripts.release, l.token)
			l.bells.ring(l.key)
		}
	}()
	value, err := l.runFill(ctx)
	if err != nil {
		return nil, err
	}
	e := newEntry(value)
	ours := l.shelf.NewRecord(e, l.life)
	kept, err := l.store(ctx, e)
	if err != nil {
		return l.brief(e), nil
	}
	stored = kept
	l.counter.changed()
	if !kept { // invalidated meanwhile
		l.flight.Forget()
		return ours, nil
	}
	return l.readBack(ctx, ours), nil
}

// readBack reads what was stored just now. The push of our own change drops the copy
// just as any other change does. It comes before the answer to a command that was
// sent after it; so the second reading, if not the first, brings a copy that may stay.
func (l *loading) readBack(ctx context.Context, ours *shelf.Record) *shelf.Record {
	defer l.bells.ring(l.key)
	for range 3 {
		l.shelf.Reread(l.flight)
		got, err := l.take(ctx, readOnly)
		if err != nil || got.record == nil {
			break
		}
		if !l.shelf.Dropped(l.flight) {
			return got.record
		}
	}
	l.flight.Forget()
	return ours
}

// store sends a value to the server and reports whether the lease still held.
func (l *loading) store(ctx context.Context, e cache.Entry) (bool, error) {
	life := "0"
	stale := max(l.life.Stale, 0)
	if l.life.Fresh > 0 {
		life = milliseconds(l.life.Fresh + stale)
	}
	result, err := l.command(ctx, "storing in the cache", l.scripts.store, l.token, valkey.BinaryString(e.Value), e.Revision,
		strconv.FormatInt(e.StoredAt.UnixMilli(), 10), strconv.FormatInt(stale.Milliseconds(), 10), life)
	if err != nil {
		return false, err
	}
	return result.AsBool()
}

// keepLease renews the lease until the returned function is called.
func (l *loading) keepLease(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(l.opts.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				// Should it fail, the lease ends and what is filled is not stored.
				_, _ = l.command(ctx, "renewing a lease", l.scripts.renew, l.token, milliseconds(l.opts.Lease))
			case <-ctx.Done():
				return
			}
		}
	}()
	return cancel
}

// milliseconds formats a duration for the server, which refuses 0.
func milliseconds(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
