package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cache"
	"siteapi/integrations/queue"
	"siteapi/integrations/store/postgres"
)

// slowCommit is how long a commit may take on a disk that is good for this work.
const slowCommit = 250 * time.Millisecond

// mayOpen reports whether there is a database that can be opened without leaving files
// behind that the service could not use.
func (d *doctor) mayOpen() bool {
	return d.settings.DatabaseURL != nil || !d.stranger() && exists(filepath.Join(d.settings.DataDir, databaseFile))
}

// stranger reports whether DATA_DIR belongs to another user than this process's.
func (d *doctor) stranger() bool {
	info, err := os.Stat(d.settings.DataDir)
	if err != nil {
		return false
	}
	owner, known := ownerOf(info)
	return known && owner != d.user
}

// notLooked is what is said of things in a folder that belongs to another user.
func notLooked() []diagnosis {
	return []diagnosis{failure("not looked at: DATA_DIR belongs to another user", "run the commands as that user")}
}

// checkDatabase writes something and waits until it is on the disk.
func (d *doctor) checkDatabase(ctx context.Context) []diagnosis {
	s := d.settings
	name, advice := "SQLite in DATA_DIR", "see the folder's owner, mode and free space; a damaged file: `siteapi restore` puts a backup in its place"
	if s.DatabaseURL != nil {
		name, advice = "PostgreSQL", "see address, user and password in DATABASE_URL, and whether the server takes connections from here"
	} else if notThere(filepath.Join(s.DataDir, databaseFile)) {
		return []diagnosis{warning("there is no database in DATA_DIR", "right before the first start, which makes it; else set DATA_DIR to the folder of the service")}
	} else if d.stranger() {
		return notLooked()
	}
	db, err := openExisting(ctx, s, d.log)
	if err != nil {
		return []diagnosis{failure(name+": "+err.Error(), advice)}
	}
	began := time.Now()
	err = db.quotes.Ping(ctx)
	took := time.Since(began).Round(100 * time.Microsecond)
	var leads int64
	if err == nil {
		leads, err = db.archive.CountSubmissions(ctx)
	}
	if err = errors.Join(err, db.close()); err != nil {
		return []diagnosis{failure(name+": "+err.Error(), advice)}
	}
	var found []diagnosis
	if s.DatabaseURL != nil && openWire(s.DatabaseURL, s.DatabaseURL.Query().Get("sslmode") == "verify-full" || s.DatabaseURL.Query().Get("sslmode") == "require" ||
		s.DatabaseURL.Query().Get("sslmode") == "verify-ca") {
		found = append(found, warning("leads travel to PostgreSQL over a network without TLS being demanded", "add sslmode=verify-full to DATABASE_URL"))
	}
	if took > slowCommit {
		found = append(found, warning(fmt.Sprintf("%s: a commit took %v, every visitor who submits waits that long", name, took), "use a local disk, or one that is less busy"))
	}
	return append(found, fine("%s: %d submissions, written and committed in %v", name, leads, took))
}

// databaseClock returns how far this machine's clock is ahead of PostgreSQL's.
func (d *doctor) databaseClock(ctx context.Context) (off time.Duration, ok bool) {
	if d.settings.DatabaseURL == nil {
		return 0, false
	}
	pool, err := postgres.OpenPool(ctx, d.settings.DatabaseURL.String())
	if err != nil {
		return 0, false
	}
	defer pool.Close()
	var at time.Time
	if err := pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&at); err != nil {
		return 0, false
	}
	return d.now().Sub(at), true
}

// checkDeliveries looks for leads that do not arrive.
func (d *doctor) checkDeliveries(ctx context.Context) []diagnosis {
	if !d.mayOpen() {
		return []diagnosis{fine("not looked at: there is no database to open")}
	}
	db, err := openExisting(ctx, d.settings, d.log)
	if err != nil {
		return []diagnosis{fine("not looked at: the database can't be opened")}
	}
	defer func() { _ = db.close() }() // it was only looked at
	counts, err := db.queue.Counts(ctx)
	if err != nil {
		return []diagnosis{failure(err.Error(), "see the database")}
	}
	var found []diagnosis
	waiting := int64(0)
	for _, c := range counts {
		switch {
		case c.Number == 0 || c.State == queue.Delivered:
		case c.State == queue.Failed:
			found = append(found, warning(fmt.Sprintf("%d leads were refused by the %s for good", c.Number, c.Target),
				"see why with `siteapi deliveries list --state failed`, mend it, then `siteapi deliveries retry --all`"))
		default:
			waiting += c.Number
			if age := d.now().Sub(c.Oldest); age > config.DeliveryOverdue {
				found = append(found, warning(fmt.Sprintf("%d leads are %s for the %s, the oldest for %s", c.Number, c.State, c.Target, span(age)),
					"see what holds them with `siteapi deliveries list`; they are only made while a service runs"))
			}
		}
	}
	held, oldest, err := db.archive.InReview(ctx)
	if err == nil && held > 0 {
		found = append(found, warning(fmt.Sprintf("%d leads wait for review, the oldest for %s", held, span(d.now().Sub(oldest))), "see `siteapi leads list --held`, then `siteapi leads release`"))
	}
	if len(found) == 0 {
		found = append(found, fine("%d are on their way, none is late", waiting))
	}
	return found
}

// checkCache has an entry stored, read back and removed.
func (d *doctor) checkCache(ctx context.Context) []diagnosis {
	s := d.settings
	if s.CacheURL.Scheme == "memory" {
		return []diagnosis{fine("in the memory of the service: nothing to reach")}
	}
	advice := "see address, user, password and database in CACHE_URL; the service goes on without, slower"
	c, conn, err := openCache(ctx, s, d.log)
	if err != nil {
		return []diagnosis{failure(err.Error(), advice)}
	}
	defer conn.Close()
	began := time.Now()
	err = cacheRoundTrip(ctx, c)
	took := time.Since(began).Round(100 * time.Microsecond)
	if err = errors.Join(err, c.Close()); err != nil {
		return []diagnosis{failure(err.Error(), advice)}
	}
	found := []diagnosis{fine("%s: stored, read and removed in %v", s.CacheURL.Scheme, took)}
	if openWire(s.CacheURL, s.CacheURL.Scheme == "valkeys" || s.CacheURL.Scheme == "rediss") {
		found = append(found, warning("CACHE_URL leads over a network without TLS", "use valkeys:// or rediss://"))
	}
	return found
}

func cacheRoundTrip(ctx context.Context, c cache.Cache) error {
	key, want := "doctor:"+rand.Text(), rand.Text()
	for range 2 { // the first stores, the second must find
		entry, err := c.Get(ctx, key, func(context.Context) ([]byte, cache.Lifetime, error) {
			return []byte(want), cache.Lifetime{Fresh: time.Minute}, nil
		})
		if err != nil {
			return err
		}
		if string(entry.Value) != want {
			return errors.New("the cache gives back something else than was stored")
		}
	}
	if !c.Stats(ctx).Available {
		return cache.ErrUnavailable
	}
	if err := c.Invalidate(ctx, key); err != nil {
		return err
	}
	if _, found := c.Peek(ctx, key); found {
		return errors.New("the cache keeps an entry that was removed")
	}
	return nil
}

// notThere reports whether a path leads nowhere.
func notThere(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}
