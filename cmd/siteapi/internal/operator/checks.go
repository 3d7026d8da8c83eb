package operator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/cache"
	"siteapi/integrations/cms"
	"siteapi/integrations/queue"
	"siteapi/integrations/upstream"
	"siteapi/schema"
)

// checkFolder writes a file to DATA_DIR.
func (e *examination) checkFolder(_ context.Context, found *diagnoses) {
	path := e.settings.DataDir
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		found.warn("right before the first start, which makes it; else set DATA_DIR to the folder of the service", "%s does not exist", path)
		return
	}
	began := time.Now()
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(path, ".doctor-")
	}
	if err == nil {
		_, err = f.WriteString("written by a check\n")
		err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	}
	if err != nil {
		found.fail("see whose folder it is, whether it is mounted read-only, and whether the disk is full", err)
		return
	}
	found.ok("%s, written and synced in %v", path, since(began))
	if info.Mode().Perm()&0o007 != 0 {
		found.warn("chmod o-rwx "+path, "every user of this machine can look inside (%v)", info.Mode().Perm())
	}
	if left, _ := filepath.Glob(filepath.Join(path, asidePrefix+"*")); len(left) > 0 {
		found.warn("remove them once you are sure", "%d folders %s… hold what restores have replaced, personal data too", len(left), asidePrefix)
	}
}

func since(began time.Time) time.Duration { return time.Since(began).Round(100 * time.Microsecond) }

// checkDatabase commits something.
func (e *examination) checkDatabase(ctx context.Context, found *diagnoses) {
	if e.settings.DatabaseURL == nil && !exists(databasePath(e.settings)) {
		found.warn("right before the first start, which makes it; else set DATA_DIR to the folder of the service", "there is no database in DATA_DIR")
		return
	}
	var began time.Time
	var leads int64
	db, err := e.OpenDatabase(ctx, e.settings)
	if err == nil {
		began = time.Now()
		err = db.Quotes.Ping(ctx)
	}
	took := since(began)
	if err == nil {
		leads, err = db.Archive.CountSubmissions(ctx)
		err = errors.Join(err, db.Close())
	}
	switch {
	case err != nil:
		found.fail("see DATABASE_URL, or the owner and mode of DATA_DIR; `siteapi restore` replaces a damaged file by a backup", err)
	case took > 250*time.Millisecond:
		found.warn("use a local disk, or one that is less busy", "a commit took %v: every visitor who submits waits that long", took)
	default:
		found.ok("%d submissions, written and committed in %v", leads, took)
	}
}

// checkDeliveries looks for leads that don't arrive.
func (e *examination) checkDeliveries(ctx context.Context, found *diagnoses) {
	db, err := e.openExisting(ctx, e.settings)
	if err != nil {
		found.ok("not checked: the database can't be opened")
		return
	}
	counts, err := db.Queue.Counts(ctx)
	inReview, oldest, reviewErr := db.Archive.InReview(ctx)
	if err := errors.Join(err, reviewErr, db.Close()); err != nil {
		found.fail("see the database", err)
		return
	}
	for _, c := range counts {
		switch age := time.Since(c.Oldest); {
		case c.Number == 0:
		case c.State == queue.Failed:
			found.warn("see why with `siteapi deliveries list --state failed`, repair it, then `siteapi deliveries retry --all`",
				"%d leads were refused by the %s for good", c.Number, c.Target)
		case age > queue.OverdueAge:
			found.warn("see why with `siteapi deliveries list`; they are only delivered while a service runs",
				"%d leads are %s for the %s, the oldest for %s", c.Number, c.State, c.Target, span(age))
		}
	}
	if inReview > 0 {
		found.warn("see `siteapi leads list --state in-review`, then `siteapi leads release` or `reject`",
			"%d leads are in review, the oldest for %s", inReview, span(time.Since(oldest)))
	}
	if len(found.found) == 0 {
		found.ok("none is late")
	}
}

// checkCache has an entry stored, read back and removed.
func (e *examination) checkCache(ctx context.Context, found *diagnoses) {
	if e.settings.CacheURL.Scheme == "memory" {
		found.ok("in the memory of the service: nothing to reach")
		return
	}
	began := time.Now()
	c, err := e.OpenCache(ctx, e.settings)
	if err == nil {
		err = errors.Join(cacheRoundTrip(ctx, c), c.Close())
	}
	if err != nil {
		found.fail("see address, user, password and database in CACHE_URL; the service works without it, slower", err)
		return
	}
	found.ok("%s: stored, read and removed in %v", e.settings.CacheURL.Scheme, since(began))
}

func cacheRoundTrip(ctx context.Context, c cache.Cache) error {
	key, want := "doctor:"+rand.Text(), rand.Text()
	for range 2 { // the first stores, the second has to find
		entry, err := c.Get(ctx, key, func(context.Context) ([]byte, cache.Lifetime, error) {
			return []byte(want), cache.Lifetime{Fresh: time.Minute}, nil
		})
		if err == nil && string(entry.Value) != want {
			err = errors.New("the cache returns another value than was stored")
		}
		if err != nil {
			return err
		}
	}
	if !c.Stats(ctx).Available {
		return cache.ErrUnavailable
	}
	return c.Invalidate(ctx, key)
}

// checkCMS reads the content of a locale, and makes a write that changes nothing.
func (e *examination) checkCMS(ctx context.Context, found *diagnoses) {
	s := e.settings
	if s.CMSDriver == "file" && !exists(s.ContentPath()) {
		found.warn("the first start writes one with sample content; edit that, or set CMS_FILE or CMS_DRIVER", "there is no file %s", s.ContentPath())
		return
	}
	began := time.Now()
	var docs []cms.Document
	driver, err := e.OpenCMS(s)
	if err == nil {
		docs, err = driver.Fetch(ctx, cms.Query{Types: append([]string{"siteSettings"}, s.ContentTypes...), Locale: string(schema.DefaultLocale)})
	}
	if err != nil {
		found.fail(upstreamAdvice(err, "SANITY_TOKEN", "the settings of the CMS"), err)
		return
	}
	// Removing what does not exist takes the same right as storing a submission.
	if err := driver.Erase(ctx, []string{"doctor-" + strings.ToLower(rand.Text())}); err != nil {
		found.fail("give SANITY_TOKEN the role Editor", fmt.Errorf("content can be read, submissions can't be stored: %w", err))
		return
	}
	if !slices.ContainsFunc(docs, func(d cms.Document) bool { return d.Type == "siteSettings" }) {
		found.warn("create and publish it", "there is no published document of type siteSettings: SiteSettings answers null")
		return
	}
	found.ok("%s: %d documents in %s, read in %v", s.CMSDriver, len(docs), schema.DefaultLocale, since(began))
}

// checkCRM looks up a contact that does not exist.
func (e *examination) checkCRM(ctx context.Context, found *diagnoses) {
	if e.settings.CRMDriver == "file" && !exists(e.settings.DataDir) {
		found.ok("file: the first start makes the folder")
		return
	}
	began := time.Now()
	contacts, err := e.OpenCRM(e.settings)
	if err == nil {
		_, err = contacts.Missing(ctx, []string{"doctor@siteapi.invalid"})
	}
	if err != nil {
		found.fail(upstreamAdvice(err, "HUBSPOT_TOKEN", "HUBSPOT_API_URL"), err)
		return
	}
	found.ok("%s: answered in %v", e.settings.CRMDriver, since(began))
}

// upstreamAdvice says what to do about an error of the CMS or the CRM.
func upstreamAdvice(err error, token, address string) string {
	switch upstream.KindOf(err) {
	case upstream.Refused:
		return "see whether " + token + " is valid and has the rights that the driver's manual names"
	case upstream.Limited:
		return "the quota is used up: wait, or have it raised"
	}
	return "see " + address + ", and whether this machine reaches the network; leads wait meanwhile and are not lost"
}

// checkService asks the running service for its state.
func (e *examination) checkService(ctx context.Context, found *diagnoses) {
	status, body, err := ask(ctx, http.MethodGet, e.server+"/readyz", "")
	var answer struct {
		Status       string
		Dependencies map[string]struct{ Status string }
	}
	const advice = "run this with the service's LISTEN_ADDR, or name it with --server"
	switch {
	case err != nil && e.running:
		found.warn(advice, "a process has the database open, and none answers at %s", e.server)
		return
	case err != nil:
		found.ok("none answers at %s", e.server)
		return
	case json.Unmarshal(body, &answer) != nil || answer.Status == "":
		found.fail(advice, fmt.Errorf("what answers at %s is not this service", e.server))
		return
	}
	var down []string
	for name, dependency := range answer.Dependencies {
		if dependency.Status != "ok" {
			down = append(down, name)
		}
	}
	slices.Sort(down)
	switch {
	case status != http.StatusOK:
		found.fail("repair what it depends on; its log has the reasons", fmt.Errorf("%s is %s: %s", e.server, answer.Status, strings.Join(down, ", ")))
	case len(down) > 0:
		found.warn("repair what it depends on; its log has the reasons", "%s runs without %s", e.server, strings.Join(down, ", "))
	default:
		found.ok("%s is ready", e.server)
	}
}
