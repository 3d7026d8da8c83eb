package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/crm"
	"siteapi/integrations/queue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

const (
	verifyBatch = 100             // submissions that are asked about at a time
	settleTime  = 5 * time.Second // until a CMS or CRM finds what it has just stored
)

// verification compares stored submissions with what the CMS and the CRM hold.
type verification struct {
	db  *Database
	fix bool

	Submissions int               `json:"submissions"` // compared
	Targets     []*verifiedTarget `json:"targets"`
}

// verifiedTarget counts the submissions of one target.
type verifiedTarget struct {
	Target   queue.Target `json:"target"`
	Present  int          `json:"present"`
	UnderWay int          `json:"underWay"` // not there, and under way or just delivered
	Missing  int          `json:"missing"`  // not there, and not under way
	Resent   int          `json:"resent"`   // of those missing
	Error    string       `json:"error,omitempty"`

	key     func(s quote.Submission) string // the name of a submission at the target
	missing func(ctx context.Context, keys []string) ([]string, error)
}

// verify is `siteapi deliveries verify`.
func (d Deps) verify(ctx context.Context, c *cli.Command, s *config.Settings) (err error) {
	only, err := target(c)
	if err == nil && only == queue.Webhook {
		err = errors.New("--target webhook: it can't be asked what it has")
	}
	if err != nil {
		return err
	}
	since, err := moment(c, "since", time.Now())
	if err != nil {
		return err
	}
	db, documents, contacts, err := d.openAll(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	v := &verification{db: db, fix: c.Bool("fix"), Targets: []*verifiedTarget{
		{Target: queue.CMS, key: func(s quote.Submission) string { return s.ID }, missing: documents.Missing},
		{Target: queue.CRM, key: func(s quote.Submission) string { return crm.Address(s.Contact.Email) }, missing: contacts.Missing},
	}}
	v.Targets = slices.DeleteFunc(v.Targets, func(t *verifiedTarget) bool { return only != "" && t.Target != only })
	if err := v.run(ctx, since); err != nil {
		return err
	}
	if c.Bool("json") {
		err = printJSON(c.Root().Writer, v)
	} else {
		v.print(c)
	}
	return errors.Join(err, v.result())
}

func (v *verification) run(ctx context.Context, since time.Time) error {
	var batch []quote.Submission
	compare := func() error {
		for _, t := range v.Targets {
			if err := v.compare(ctx, t, batch); err != nil {
				return err
			}
		}
		v.Submissions += len(batch)
		batch = batch[:0]
		return ctx.Err()
	}
	for s, err := range v.db.Archive.Submissions(ctx, store.Filter{Since: since}) {
		if err != nil {
			return fmt.Errorf("reading the submissions: %w", err)
		}
		if s.InReview {
			continue // it has no deliveries until it is released
		}
		if batch = append(batch, s); len(batch) == verifyBatch {
			if err := compare(); err != nil {
				return err
			}
		}
	}
	return compare()
}

// compare looks for a batch at one target. A target that can't answer is noted and not asked again.
func (v *verification) compare(ctx context.Context, t *verifiedTarget, batch []quote.Submission) error {
	if t.Error != "" || len(batch) == 0 {
		return nil
	}
	asked, keys := time.Now(), make([]string, len(batch))
	for i, s := range batch {
		keys[i] = t.key(s)
	}
	absent, err := t.missing(ctx, slices.Compact(slices.Sorted(slices.Values(keys))))
	if err != nil {
		t.Error = err.Error()
		return nil //nolint:nilerr // it is in the report, and the other target is still asked
	}
	for i, s := range batch {
		if !slices.Contains(absent, keys[i]) {
			t.Present++
		} else if err := v.absent(ctx, t, s.ID, asked); err != nil {
			return err
		}
	}
	return nil
}

// absent decides what to do about a submission that a target does not have. One that is under way is left alone.
func (v *verification) absent(ctx context.Context, t *verifiedTarget, submission string, asked time.Time) error {
	list, err := v.db.Queue.List(ctx, queue.Filter{Submissions: []string{submission}, Target: t.Target})
	if err != nil {
		return err
	}
	var failed int64
	for _, d := range list {
		switch {
		case d.State == queue.Failed:
			failed = d.ID
		case d.State != queue.Delivered, asked.Sub(d.FinishedAt) < settleTime:
			t.UnderWay++
			return nil
		}
	}
	t.Missing++
	if !v.fix {
		return nil
	}
	if failed != 0 {
		err = v.db.Queue.Retry(ctx, failed)
	} else {
		err = v.db.Queue.Resend(ctx, submission, t.Target)
	}
	switch {
	case errors.Is(err, queue.ErrUnderWay), errors.Is(err, store.ErrNotFound):
		return nil // resent by another command, or erased
	case err == nil:
		t.Resent++
	}
	return err
}

func (v *verification) print(c *cli.Command) {
	_, _ = fmt.Fprintf(c.Root().Writer, "%d submissions compared\n", v.Submissions)
	t := newTable(c.Root().Writer, "TARGET", "PRESENT", "UNDER WAY", "MISSING", "SENT AGAIN")
	for _, r := range v.Targets {
		if r.Error != "" {
			t.AppendRow([]any{r.Target, "?", "?", "?", "?"})
			continue
		}
		t.AppendRow([]any{r.Target, r.Present, r.UnderWay, r.Missing, r.Resent})
	}
	t.Render()
}

// result is nil if nothing is missing, a finding if something is, and an error if a target could not be asked.
func (v *verification) result() error {
	var errs []error
	missing := 0
	for _, t := range v.Targets {
		missing += t.Missing
		if t.Error != "" {
			errs = append(errs, fmt.Errorf("the %s could not be asked: %s", t.Target, t.Error))
		}
	}
	switch {
	case len(errs) > 0:
		return errors.Join(errs...)
	case missing == 0:
		return nil
	case v.fix:
		return finding(fmt.Sprintf("%d deliveries were missing: they are sent again while the service runs; verify again later", missing))
	}
	return finding(fmt.Sprintf("%d deliveries are missing: `siteapi deliveries verify --fix` sends them again", missing))
}
