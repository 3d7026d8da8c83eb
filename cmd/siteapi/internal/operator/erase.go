package operator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/crm"
	"siteapi/integrations/queue"
	"siteapi/integrations/store"
)

// attemptTime is how long an erasure waits for deliveries that are being tried: longer than an attempt may take.
const attemptTime = 45 * time.Second

// erase is `siteapi leads erase`.
func (d Deps) erase() *cli.Command {
	return &cli.Command{
		Name: "erase", Usage: "erase everything that is known of an e-mail address, everywhere",
		Description: "Erases the address from the CMS, the CRM, the database and the cache, with its deliveries and with sessions that\n" +
			"hold it only because it was typed, and prints a receipt. Without --yes it only says what it finds.\n" +
			"If something can't be reached the exit code is 1: run the command again, it continues where it stopped.\n\n" +
			"   siteapi leads erase --email ana@example.com --yes --receipt receipt.json\n" +
			"   siteapi leads erase --email - --yes < address.txt    (keeps the address out of the shell's history)",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "email", Usage: "the address, in any letter case; -: the first line of standard input"},
			&cli.BoolFlag{Name: "yes", Usage: "erase: without it nothing is changed"},
			&cli.StringFlag{Name: "receipt", Usage: "also write the receipt to this file, as JSON"},
			serverFlag(), jsonFlag(),
		},
		Action: d.action(append(upstreamSettings(), "LISTEN_ADDR", "CACHE_URL", "CACHE_PREFIX"), d.eraseLeads),
	}
}

func (d Deps) eraseLeads(ctx context.Context, c *cli.Command, s *config.Settings) (err error) {
	e := &erasure{}
	if e.email, err = addressFlag(c); err != nil {
		return err
	}
	server, err := serverAddress(c, s)
	if err != nil {
		return err
	}
	idle := d.databaseIdle(s) // before this process has the database open itself
	if e.db, e.cms, e.crm, err = d.openAll(ctx, s); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.db.Close()) }()
	e.progress = func(text string) { _, _ = fmt.Fprintln(c.Root().ErrWriter, text) }
	e.clearPDFs = func(ctx context.Context) (int, error) {
		if s.CacheURL.Scheme == "memory" {
			return clearMemory(ctx, server, s.CacheTokens, e.known, idle)
		}
		return d.clearShared(ctx, s, e.known)
	}
	e.truncate = func(ctx context.Context) error {
		if s.DatabaseURL != nil {
			return nil
		}
		return d.SQLite.Truncate(ctx, databasePath(s))
	}
	r := receipt{Email: e.email, StartedAt: time.Now().UTC().Truncate(time.Second), Erasing: c.Bool("yes"), Remains: remains()}
	err = e.run(ctx, &r)
	r.FinishedAt = time.Now().UTC().Truncate(time.Second)
	outcome := r.outcome()
	return errors.Join(r.handOut(c), err, outcome)
}

// openAll opens the database, the CMS and the CRM.
func (d Deps) openAll(ctx context.Context, s *config.Settings) (*Database, CMS, CRM, error) {
	documents, err := d.OpenCMS(s)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("opening the CMS: %w", err)
	}
	contacts, err := d.OpenCRM(s)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("opening the CRM: %w", err)
	}
	db, err := d.openExisting(ctx, s)
	return db, documents, contacts, err
}

// addressFlag reads --email. Errors don't repeat it: even a malformed address may be personal.
func addressFlag(c *cli.Command) (string, error) {
	value := c.String("email")
	if value == "-" {
		line, err := bufio.NewReader(c.Root().Reader).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("--email: reading standard input: %w", err)
		}
		value = line
	}
	email := crm.Address(value)
	if !crm.Addressable(email) || strings.ContainsAny(email, " \t,;") {
		return "", errors.New("--email: must be one e-mail address")
	}
	return email, nil
}

// databaseIdle reports whether no other process has the SQLite database open. With PostgreSQL it is not known.
func (d Deps) databaseIdle(s *config.Settings) bool {
	if s.DatabaseURL != nil {
		return false
	}
	lock, err := d.SQLite.Lock(s)
	return err == nil && lock.Close() == nil
}

// remains names what no command can erase.
func remains() []string {
	return []string{
		"backups and folders " + asidePrefix + "…: they keep it until they are removed; after a restore, erase again",
		"copies that people made: exports, downloaded PDFs, e-mails; what the receiver at LEAD_WEBHOOK_URL keeps",
		"the history of the CMS, the removed rows of PostgreSQL until the next VACUUM, and its archived WAL",
		"PDFs in the memory of other instances than the one at --server, for an hour at most",
	}
}

// erasure removes everything that is known of an address.
type erasure struct {
	email     string
	db        *Database
	cms       CMS
	crm       CRM
	clearPDFs func(ctx context.Context) (int, error)
	truncate  func(ctx context.Context) error // has SQLite forget what was removed
	progress  func(text string)

	stored []string // ids of the submissions in the database
	known  []string // those, and the ones that only the CMS knows
}

// run searches all places and, unless this is a rehearsal, erases. What fails at one place is in the receipt. A crash at
// any point leaves what a repetition needs: deliveries end first, so that nothing is sent after it was erased; then the
// CMS and the CRM, then the database, which knows what to look for, and last the cache, so that no request fills it again.
func (e *erasure) run(ctx context.Context, r *receipt) (err error) {
	if e.stored, err = e.findSubmissions(ctx); err != nil {
		return err
	}
	r.Submissions = e.stored
	search := func(name, unit string, find func(context.Context) (int, error)) *place {
		p := &place{Place: name, Unit: unit, State: stateUnknown}
		if find != nil {
			n, err := find(ctx)
			p.found(n, err)
		}
		r.Places = append(r.Places, p)
		return p
	}
	deliveries := search("deliveries", "deliveries", e.findDeliveries)
	documents := search("cms", "documents", e.findDocuments)
	contact := search("crm", "contacts", e.findContact)
	submissions := search("database", "submissions", func(context.Context) (int, error) { return len(e.stored), nil })
	sessions := search("database", "sessions", e.findSessions)
	pdfs := search("cache", "PDFs", nil) // a cache can't be searched
	if !r.Erasing {
		return nil
	}
	deliveries.erase(e.withdraw(ctx))
	if documents.State != stateFailed {
		documents.erase(*documents.Found, e.cms.Erase(ctx, e.known))
	}
	if contact.State != stateFailed {
		contact.erase(*contact.Found, e.crm.Erase(ctx, e.email))
	}
	if slices.ContainsFunc(r.Places, func(p *place) bool { return p.State == stateFailed }) {
		submissions.State, sessions.State, pdfs.State = stateKept, stateKept, stateKept
		return nil
	}
	submissions.erase(e.eraseSubmissions(ctx))
	n, err := e.db.Archive.EraseHints(ctx, e.email)
	sessions.erase(max(int(n), *sessions.Found), err) // some went with their submissions
	pdfs.erase(e.clearPDFs(ctx))
	return nil
}

func (e *erasure) findSubmissions(ctx context.Context) ([]string, error) {
	ids := []string{}
	for s, err := range e.db.Archive.Submissions(ctx, store.Filter{Email: e.email}) {
		if err != nil {
			return nil, fmt.Errorf("looking for submissions: %w", err)
		}
		ids = append(ids, s.ID)
	}
	return ids, nil
}

func (e *erasure) findDeliveries(ctx context.Context) (n int, err error) {
	for _, id := range e.stored {
		list, err := e.db.Queue.List(ctx, queue.Filter{Submissions: []string{id}})
		if err != nil {
			return n, err
		}
		n += len(list)
	}
	return n, nil
}

// findDocuments looks by the ids in the database, since an editor may have changed an address, and by the address,
// since the database may have forgotten.
func (e *erasure) findDocuments(ctx context.Context) (n int, err error) {
	found, err := e.cms.Find(ctx, e.email)
	if err != nil {
		return 0, err
	}
	missing, err := e.cms.Missing(ctx, e.stored)
	if err != nil {
		return 0, err
	}
	slices.Sort(found)
	e.known = slices.Compact(slices.Sorted(slices.Values(slices.Concat(found, e.stored))))
	for _, id := range e.known {
		if slices.Contains(found, id) || !slices.Contains(missing, id) {
			n++
		}
	}
	return n, nil
}

func (e *erasure) findContact(ctx context.Context) (int, error) {
	missing, err := e.crm.Missing(ctx, []string{e.email})
	return 1 - len(missing), err
}

func (e *erasure) findSessions(ctx context.Context) (int, error) {
	n, err := e.db.Archive.CountHints(ctx, e.email)
	return int(n), err
}

// withdraw ends the deliveries and waits for those that are being tried. What still runs after that belongs to a
// process that died.
func (e *erasure) withdraw(ctx context.Context) (removed int, err error) {
	for deadline, told := time.Now().Add(attemptTime), false; ; {
		running := 0
		for _, id := range e.stored {
			n, busy, err := e.db.Queue.Withdraw(ctx, id)
			if err != nil {
				return removed, err
			}
			removed, running = removed+n, running+busy
		}
		if running == 0 || time.Now().After(deadline) {
			return removed, nil
		}
		if !told {
			e.progress(fmt.Sprintf("waiting for %d deliveries that are being tried, %v at most", running, attemptTime))
			told = true
		}
		select {
		case <-ctx.Done():
			return removed, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (e *erasure) eraseSubmissions(ctx context.Context) (n int, err error) {
	for _, id := range e.stored {
		if err := e.db.Archive.Erase(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return n, err
		}
		n++
	}
	left, err := e.findSubmissions(ctx)
	if err == nil && len(left) > 0 {
		err = errors.New("a submission arrived meanwhile: run the command again")
	}
	return n, errors.Join(err, e.truncate(ctx))
}

// receipt says what an erasure found and removed. It holds the address, and nothing else of the person.
type receipt struct {
	Email       string    `json:"email"`
	StartedAt   time.Time `json:"startedAt"`
	FinishedAt  time.Time `json:"finishedAt"`
	Erasing     bool      `json:"erasing"`  // false: nothing was changed
	Complete    bool      `json:"complete"` // everything that was found is gone
	Submissions []string  `json:"submissions"`
	Places      []*place  `json:"places"`
	Remains     []string  `json:"remains"` // out of reach
}

// place is where something of a person may be stored.
type place struct {
	Place  string `json:"place"`
	Unit   string `json:"unit"`  // what is counted
	Found  *int   `json:"found"` // null: not known
	Erased int    `json:"erased"`
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
}

// States of a place.
const (
	stateUnknown = "unknown"
	stateNothing = "nothing there"
	stateFound   = "found" // and not erased
	stateErased  = "erased"
	stateFailed  = "failed" // could not be searched, or not erased
	stateKept    = "kept"   // because another place failed, and a repetition needs it
)

// found records what a search came to.
func (p *place) found(n int, err error) {
	switch {
	case err != nil:
		p.State, p.Detail = stateFailed, strings.Join(strings.Fields(err.Error()), " ")
		return
	case n == 0:
		p.State = stateNothing
	default:
		p.State = stateFound
	}
	p.Found = &n
}

// erase records that n were removed, or that it failed: then nothing counts as removed.
func (p *place) erase(n int, err error) {
	if err != nil {
		p.State, p.Detail = stateFailed, strings.Join(strings.Fields(err.Error()), " ")
		return
	}
	if p.Found == nil || *p.Found < n {
		p.Found = &n
	}
	p.State, p.Erased, p.Detail = stateErased, n, ""
	if *p.Found == 0 {
		p.State = stateNothing
	}
}

// outcome is nil if everything was erased, or if there was nothing to erase. It sets Complete.
func (r *receipt) outcome() error {
	found, open := false, len(r.Places) == 0
	for _, p := range r.Places {
		found = found || p.Found != nil && *p.Found > 0
		open = open || p.State == stateFailed || p.State == stateKept
	}
	r.Complete = r.Erasing && !open
	switch {
	case open && r.Erasing:
		return errors.New("not everything could be erased: run the command again when what failed can be reached")
	case open:
		return errors.New("not every place could be searched")
	case found && !r.Erasing:
		return finding("nothing was erased: add --yes to erase it")
	}
	return nil
}

// handOut prints the receipt, and writes it to the file that --receipt names.
func (r *receipt) handOut(c *cli.Command) error {
	var err error
	if path := c.String("receipt"); path != "" {
		err = writeFile(path, true, func(f *os.File) error { return printJSON(f, r) })
	}
	out := c.Root().Writer
	if c.Bool("json") {
		return errors.Join(err, printJSON(out, r))
	}
	t := newTable(out, "PLACE", "WHAT", "FOUND", "ERASED", "STATE", "DETAIL")
	for _, p := range r.Places {
		found := "?"
		if p.Found != nil {
			found = fmt.Sprint(*p.Found)
		}
		t.AppendRow([]any{p.Place, p.Unit, found, p.Erased, p.State, p.Detail})
	}
	t.Render()
	if r.Complete {
		_, _ = fmt.Fprintln(out, "complete: nothing is left in these places")
	}
	_, _ = fmt.Fprintf(out, "out of reach:\n  %s\n", strings.Join(r.Remains, "\n  "))
	return err
}
