package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"siteapi/integrations/crm"
	"siteapi/integrations/queue"
	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// shownLead is everything that is stored of a lead.
type shownLead struct {
	leadView
	Session    *sessionView   `json:"session,omitempty"` // nil: never tracked, or forgotten
	Deliveries []deliveryView `json:"deliveries"`
}

// sessionView is how a lead came about.
type sessionView struct {
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
	Visits    int64     `json:"visits"` // tracked states
}

// showLeads is `siteapi leads show`.
func (o operator) showLeads(ctx context.Context, c *cli.Command, d *database) error {
	if c.Args().Len() != 1 {
		return errors.New("name one submission or one e-mail address: siteapi leads show <id or address>")
	}
	found, err := findLeads(ctx, d, c.Args().First())
	if err != nil {
		return err
	}
	shown := make([]shownLead, 0, len(found))
	now := time.Now()
	for i, s := range found {
		list, err := d.queue.List(ctx, queue.Filter{SubmissionID: s.ID})
		if err != nil {
			return err
		}
		lead := shownLead{leadView: newLeadView(s), Deliveries: newDeliveryViews(list)}
		switch session, err := d.quotes.Session(ctx, s.SessionID); {
		case err == nil:
			lead.Session = &sessionView{session.FirstSeen, session.LastSeen, session.Visits}
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		if shown = append(shown, lead); c.Bool("json") {
			continue
		}
		if i > 0 {
			_, _ = fmt.Fprintln(o.out)
		}
		o.leadSheet(lead, now)
		o.table(list, now)
	}
	if c.Bool("json") {
		return o.printJSON(shown)
	}
	return nil
}

// findLeads finds a submission by its id, or all of an address.
func findLeads(ctx context.Context, d *database, name string) ([]quote.Submission, error) {
	if !crm.Addressable(name) {
		s, err := d.quotes.Submission(ctx, name)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("there is no submission %q: `siteapi leads list` lists them", name)
		}
		return []quote.Submission{s}, err
	}
	var found []quote.Submission
	for s, err := range d.archive.Submissions(ctx, store.Filter{Email: crm.Address(name)}) {
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, errors.New("there is no submission of that address: `siteapi leads list` lists them")
	}
	return found, nil
}

// leadSheet prints what was submitted.
func (o operator) leadSheet(l shownLead, now time.Time) {
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, printable(value))
		}
	}
	line("submission", l.ID)
	line("submitted", stamp(l.SubmittedAt, now))
	line("name", fullName(l.Contact))
	line("e-mail", l.Contact.Email)
	line("phone", l.Contact.Phone)
	line("company", l.Contact.Company)
	line("language", l.Locale)
	line("project", l.Selections.ProjectType)
	line("features", strings.Join(l.Selections.Features, ", "))
	line("complexity", l.Selections.Complexity)
	line("timeline", l.Selections.Timeline)
	line("estimate", estimated(l.Estimate))
	line("pdf", l.PDF)
	if l.Session != nil {
		line("session", fmt.Sprintf("%d states from %s to %s", l.Session.Visits,
			l.Session.FirstSeen.Format(time.RFC3339), l.Session.LastSeen.Format(time.RFC3339)))
	}
	line("signals", strings.Join(signalNames(l.Signals), ", "))
	if l.InReview {
		line("held", "for review: `siteapi leads release "+l.ID+"` delivers it, `siteapi leads erase` removes it")
	}
	_ = w.Flush()
}

func signalNames(signals []quote.Signal) []string {
	names := make([]string, len(signals))
	for i, s := range signals {
		names[i] = string(s)
	}
	return names
}
