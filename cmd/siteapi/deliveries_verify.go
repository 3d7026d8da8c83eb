package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"
	"github.com/urfave/cli/v3"

	"siteapi/cmd/siteapi/internal/config"
	"siteapi/integrations/cms"
	"siteapi/integrations/crm"
	"siteapi/integrations/queue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// verifyDeliveries is `siteapi deliveries verify`.
func (o operator) verifyDeliveries(ctx context.Context, c *cli.Command, s *config.Settings, log zerolog.Logger) (err error) {
	if err := only(c, 0); err != nil {
		return err
	}
	target, err := targetFlag(c)
	if err != nil {
		return err
	}
	since, err := sinceFlag(c, time.Now())
	if err != nil {
		return err
	}
	d, err := openExisting(ctx, s, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	submissions, err := openCMS(s, log, nil)
	if err != nil {
		return fmt.Errorf("opening the CMS: %w", err)
	}
	contacts, err := openCRM(s, log, nil, func() {})
	if err != nil {
		return fmt.Errorf("opening the CRM: %w", err)
	}
	a := &audit{archive: d.archive, queue: d.queue, fix: c.Bool("fix"), settle: settleTime, now: time.Now}
	for _, side := range farSides(submissions, contacts) {
		if target == "" || side.target == target {
			a.sides = append(a.sides, side)
		}
	}
	report, err := a.run(ctx, since)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = o.printJSON(report)
	} else {
		o.printReport(report)
	}
	return errors.Join(err, report.verdict(a.fix))
}

// farSide is a system that submissions were delivered to.
type farSide struct {
	target  queue.Target
	key     func(s *quote.Submission) string // by which it knows a submission
	missing func(ctx context.Context, keys []string) ([]string, error)
}

func farSides(submissions cms.Submissions, contacts crm.Contacts) []farSide {
	unable := func(context.Context, []string) ([]string, error) {
		return nil, errors.New("this driver cannot look up what it has stored")
	}
	inCMS, inCRM := unable, unable
	if lookup, ok := submissions.(cms.Lookup); ok {
		inCMS = lookup.Missing
	}
	if lookup, ok := contacts.(crm.Lookup); ok {
		inCRM = lookup.Missing
	}
	return []farSide{
		{queue.CMS, func(s *quote.Submission) string { return s.ID }, inCMS},
		{queue.CRM, func(s *quote.Submission) string { return crm.Address(s.Contact.Email) }, inCRM},
	}
}

// Bounds of an audit.
const (
	auditBatch = 100             // submissions that are asked about at a time
	settleTime = 5 * time.Second // until a far end finds what it has just stored
)

// audit compares what is stored with what the far sides hold.
type audit struct {
	archive store.Archive
	queue   *queue.Queue
	sides   []farSide
	fix     bool
	settle  time.Duration
	now     func() time.Time
}

// auditReport is the result of an audit.
type auditReport struct {
	Submissions int          `json:"submissions"` // that were compared
	Targets     []sideReport `json:"targets"`
}

// sideReport is the result for one target, in submissions.
type sideReport struct {
	Target   string `json:"target"`
	Present  int    `json:"present"`
	UnderWay int    `json:"underWay"` // not there, and on their way or just delivered
	Missing  int    `json:"missing"`  // not there, and not on their way
	Resent   int    `json:"resent"`   // of those missing
	Error    string `json:"error,omitempty"`
}

func (a *audit) run(ctx context.Context, since time.Time) (auditReport, error) {
	r := auditReport{Targets: make([]sideReport, len(a.sides))}
	for i, side := range a.sides {
		r.Targets[i].Target = string(side.target)
	}
	var batch []quote.Submission
	flush := func() error {
		for i, side := range a.sides {
			if err := a.compare(ctx, side, batch, &r.Targets[i]); err != nil {
				return err
			}
		}
		r.Submissions += len(batch)
		batch = batch[:0]
		return ctx.Err()
	}
	for s, err := range a.archive.Submissions(ctx, store.Filter{Since: since}) {
		if err != nil {
			return r, fmt.Errorf("reading the submissions: %w", err)
		}
		if s.InReview {
			continue // it has no deliveries before somebody releases it
		}
		if batch = append(batch, s); len(batch) == auditBatch {
			if err := flush(); err != nil {
				return r, err
			}
		}
	}
	return r, flush()
}

// compare looks for a batch at one side. Its error is our own trouble; a side that can't
// answer is noted, and not asked again.
func (a *audit) compare(ctx context.Context, side farSide, batch []quote.Submission, r *sideReport) error {
	if r.Error != "" || len(batch) == 0 {
		return nil
	}
	asked := a.now()
	keys, seen := make([]string, 0, len(batch)), map[string]bool{}
	for i := range batch {
		if key := side.key(&batch[i]); !seen[key] {
			keys, seen[key] = append(keys, key), true
		}
	}
	absent, err := side.missing(ctx, keys)
	if err != nil {
		r.Error = err.Error()
		return nil //nolint:nilerr // it is in the report, and the other side is asked still
	}
	gone := map[string]bool{}
	for _, key := range absent {
		gone[key] = true
	}
	for i := range batch {
		if !gone[side.key(&batch[i])] {
			r.Present++
			continue
		}
		if err := a.absent(ctx, side.target, batch[i].ID, asked, r); err != nil {
			return err
		}
	}
	return nil
}

// absent decides about a submission that a side does not have: what is on its way is
// left alone. A delivery that failed for good is begun anew rather than repeated
// beside it.
func (a *audit) absent(ctx context.Context, target queue.Target, submission string, asked time.Time, r *sideReport) error {
	list, err := a.queue.List(ctx, queue.Filter{SubmissionID: submission, Target: target})
	if err != nil {
		return err
	}
	var failed int64
	for _, d := range list {
		switch {
		case d.State == queue.Failed:
			failed = d.ID
		case d.State != queue.Delivered, asked.Sub(d.FinishedAt) < a.settle:
			r.UnderWay++
			return nil
		}
	}
	r.Missing++
	if !a.fix {
		return nil
	}
	if failed != 0 {
		err = a.queue.Retry(ctx, failed)
	} else {
		err = a.queue.Resend(ctx, submission, target)
	}
	switch {
	case errors.Is(err, queue.ErrUnderWay), errors.Is(err, store.ErrNotFound):
		return nil // somebody else was quicker, or it was erased meanwhile
	case err != nil:
		return err
	}
	r.Resent++
	return nil
}

// verdict is nil if nothing is missing, a finding if something is, and an error if a
// side could not be asked.
func (r auditReport) verdict(fix bool) error {
	var errs []error
	missing := 0
	for _, t := range r.Targets {
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
	case fix:
		return finding(fmt.Sprintf("%d deliveries were missing: what was sent again arrives while the service runs; verify once more later", missing))
	}
	return finding(fmt.Sprintf("%d deliveries are missing: `siteapi deliveries verify --fix` sends them again", missing))
}

func (o operator) printReport(r auditReport) {
	_, _ = fmt.Fprintf(o.out, "%d submissions compared\n", r.Submissions)
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(w, "TARGET\tPRESENT\tUNDER WAY\tMISSING\tSENT AGAIN\t")
	for _, t := range r.Targets {
		if t.Error != "" {
			_, _ = fmt.Fprintf(w, "%s\t?\t?\t?\t?\t\n", t.Target)
			continue
		}
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t\n", t.Target, t.Present, t.UnderWay, t.Missing, t.Resent)
	}
	_ = w.Flush()
}
