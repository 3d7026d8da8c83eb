package leads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/resolvers/price"
	"siteapi/schema"
)

const (
	pulledNote = "pull"           // name of the note with the state of the pulls, a [Pulled] as JSON
	pullEvery  = time.Hour        // time from one pull to the next
	pullBeat   = 20 * time.Second // how often an instance checks whether a pull is due
)

// Pulled is the state of the pulls from the CRM.
type Pulled struct {
	Since time.Time `json:"since"` // changes before then have been read
	At    time.Time `json:"at"`    // when the last complete pull ended
	Due   time.Time `json:"due"`   // when the next pull is due
	Set   int       `json:"set"`   // outcomes set by the last pull
}

// Pull reads the outcomes of leads from the CRM. It never writes to the CRM.
type Pull struct {
	CRM   crm.Outcomes
	Store *store.Store
	Log   zerolog.Logger
	Count func(event, detail string) // counts an event
}

// Run pulls every hour until ctx ends. Of several instances, the first one to find a pull
// due runs it. If two find it due at the same moment, both set the same outcomes.
func (p *Pull) Run(ctx context.Context) {
	for {
		known, err := ReadPulled(ctx, p.Store)
		if err == nil && time.Now().After(known.Due) {
			_, err = p.Once(ctx)
		}
		if err != nil && ctx.Err() == nil {
			p.Log.Warn().Err(err).Msg("cannot read the outcomes of leads from the CRM: retrying")
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(pullBeat):
		}
	}
}

// ReadPulled returns the state of the pulls, or the zero value before the first one.
func ReadPulled(ctx context.Context, notes *store.Store) (known Pulled, err error) {
	note, err := notes.Note(ctx, pulledNote)
	if err == nil && note != "" {
		err = json.Unmarshal([]byte(note), &known)
	}
	if err != nil {
		return Pulled{}, fmt.Errorf("reading the state of the CRM pull: %w", err)
	}
	return known, nil
}

// LastAt returns when the last complete pull ended. Before the first one it returns the
// time up to which changes were read, initially the submission of the oldest lead, or
// the zero time if no pull has started.
func (p *Pull) LastAt(ctx context.Context) (time.Time, error) {
	known, err := ReadPulled(ctx, p.Store)
	return cmp.Or(known.At, known.Since), err
}

// Once pulls now. It does nothing until the first lead exists. After an interruption, the
// next call resumes after the last page that was read.
func (p *Pull) Once(ctx context.Context) (known Pulled, err error) {
	if known, err = ReadPulled(ctx, p.Store); err != nil {
		return known, err
	}
	if known.Since.IsZero() {
		known.Since, err = p.oldest(ctx)
		if err != nil || known.Since.IsZero() {
			return known, err
		}
	}

	known.Set, known.Due = 0, time.Now().UTC().Add(pullEvery)
	if err := p.save(ctx, known); err != nil {
		return known, err
	}

	err = p.pages(ctx, &known)
	if ctx.Err() != nil {
		return known, ctx.Err()
	}
	if err != nil {
		p.Count("crm_pull", "failed")
	} else {
		known.At = time.Now().UTC()
		p.Log.Info().Int("outcomes", known.Set).Msg("read the outcomes of leads from the CRM")
		p.Count("crm_pull", "complete")
	}
	return known, errors.Join(err, p.save(ctx, known))
}

// oldest returns when the oldest lead was submitted, or the zero time if there is none.
func (p *Pull) oldest(ctx context.Context) (time.Time, error) {
	for l, err := range p.Store.Leads(ctx, store.Filter{Limit: 1}) {
		return l.SubmittedAt, err
	}
	return time.Time{}, nil
}

// pages reads the outcomes page by page, and saves the state after each page.
func (p *Pull) pages(ctx context.Context, known *Pulled) error {
	for page, err := range p.CRM.Outcomes(ctx, known.Since) {
		if err != nil {
			return err
		}

		for _, o := range page.Outcomes {
			if o.Amount != nil && !usable(&o.Outcome) {
				o.Amount, o.Currency = nil, ""
			}
			err := p.Store.SetCRMOutcome(ctx, o.LeadID, o.Outcome)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			known.Set++
			p.Count("crm_outcome", string(cmp.Or(o.Value, "NONE")))
		}

		if page.Until.After(known.Since) {
			known.Since = page.Until
		}
		if err := p.save(ctx, *known); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// usable rounds the amount of an outcome, and reports whether it is an amount of money.
func usable(o *lead.Outcome) bool {
	*o.Amount = price.Round(*o.Amount, o.Currency)
	return price.Payable(*o.Amount, o.Currency) && *o.Amount >= 0 && *o.Amount <= schema.MaxAmount
}

// save stores the state of the pulls.
func (p *Pull) save(ctx context.Context, known Pulled) error {
	note, _ := json.Marshal(known) // times, numbers and strings
	return p.Store.SetNote(ctx, pulledNote, string(note))
}
