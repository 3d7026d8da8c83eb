package leads

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"siteapi/integrations/crm"
	"siteapi/integrations/lead"
	"siteapi/integrations/store"
	"siteapi/integrations/upstream"
)

const (
	// pullLease is the lease of the instance that asks the CRM, and the name of the note
	// with what is known, a [Pulled] as JSON.
	pullLease = "pull"
	// pullEvery is the time from one pull to the next.
	pullEvery = time.Hour
	// pullBeat is how often an instance looks whether a pull is due.
	pullBeat = 20 * time.Second
	// pullLife is how long an instance that was killed keeps the lease. A page may wait for
	// rate limits in between.
	pullLife = 15 * time.Minute
)

// Pulled says what is known of the CRM.
type Pulled struct {
	Since   time.Time `json:"since"`   // contacts that changed before are known
	At      time.Time `json:"at"`      // when the last complete pull ended
	Due     time.Time `json:"due"`     // when the next one is due
	Failure string    `json:"failure"` // why the last one is not complete
	Set     int       `json:"set"`     // outcomes that the last one set
}

// ErrPulling means that another process is asking the CRM.
var ErrPulling = errors.New("another process is asking the CRM at the moment")

// Pull asks the CRM what became of the leads. It never tells the CRM anything.
type Pull struct {
	CRM      crm.Outcomes
	Leases   store.Leases
	Notes    store.Notes
	Archive  store.Archive
	Outcomes store.Outcomes
	Log      zerolog.Logger
	Count    func(event, detail string) // counts an event
}

// Run asks every hour until ctx ends. Of several instances one asks.
func (p *Pull) Run(ctx context.Context) {
	failing := false
	for {
		known, err := ReadPulled(ctx, p.Notes)
		if err == nil && time.Now().After(known.Due) {
			_, err = p.Once(ctx)
		}

		failed := err != nil && !errors.Is(err, ErrPulling)
		if failed && !failing && ctx.Err() == nil {
			p.Log.Warn().Err(err).Msg("asking the CRM what became of leads")
		}
		failing = failed

		select {
		case <-ctx.Done():
			return
		case <-time.After(pullBeat):
		}
	}
}

// ReadPulled returns what is known of the CRM; the zero value if it was never asked.
func ReadPulled(ctx context.Context, notes store.Notes) (known Pulled, err error) {
	note, err := notes.Note(ctx, pullLease)
	if errors.Is(err, store.ErrNotFound) {
		return Pulled{}, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(note), &known)
	}
	if err != nil {
		return Pulled{}, fmt.Errorf("reading what is known of the CRM: %w", err)
	}
	return known, nil
}

// LastAt returns when the CRM last answered; until it did, when the oldest lead that it was
// asked about was submitted; the zero time if it was never asked.
func (p *Pull) LastAt(ctx context.Context) (time.Time, error) {
	known, err := ReadPulled(ctx, p.Notes)
	if known.At.IsZero() {
		return known.Since, err
	}
	return known.At, err
}

// Once asks now, or returns [ErrPulling]. Without leads it asks nothing.
func (p *Pull) Once(ctx context.Context) (known Pulled, err error) {
	oldest, err := p.oldest(ctx)
	if err != nil || oldest.IsZero() {
		return Pulled{}, err
	}
	if known, err = ReadPulled(ctx, p.Notes); err != nil {
		return Pulled{}, err
	}
	if known.Since.IsZero() {
		known.Since = oldest
	}

	holder := rand.Text()
	if err := p.save(ctx, holder, known); err != nil {
		return known, err
	}
	defer p.end(ctx, holder)

	known.Set = 0
	err = p.pages(ctx, holder, &known)
	now := time.Now().UTC()
	known.Due, known.Failure = now.Add(pauseAfter(err)), ""

	switch {
	case ctx.Err() != nil: // the next start goes on from here
		return known, ctx.Err()
	case err != nil:
		known.Failure = err.Error()
		p.Count("crm_pull", "failed")
	default:
		known.At = now
		p.Log.Info().Int("outcomes", known.Set).Msg("asked the CRM what became of leads")
		p.Count("crm_pull", "complete")
	}
	return known, errors.Join(err, p.save(ctx, holder, known))
}

// oldest returns when the oldest lead was submitted; the zero time if there is none.
func (p *Pull) oldest(ctx context.Context) (time.Time, error) {
	for l, err := range p.Archive.Leads(ctx, store.Filter{Limit: 1}) {
		return l.SubmittedAt, err
	}
	return time.Time{}, nil
}

// pages reads page by page what became of contacts. What is known is stored after each.
func (p *Pull) pages(ctx context.Context, holder string, known *Pulled) error {
	for page, err := range p.CRM.Outcomes(ctx, known.Since) {
		if err != nil {
			return err
		}

		for _, c := range page.Contacts {
			o := lead.Outcome{Value: c.Value, At: c.At}
			switch _, err := p.Outcomes.SetContactOutcome(ctx, c.Emails, o); {
			case errors.Is(err, store.ErrNotFound):
			case err != nil:
				return err
			default:
				known.Set++
				p.Count("crm_outcome", string(o.Value))
			}
		}

		if page.Until.After(known.Since) {
			known.Since = page.Until
		}
		if err := p.save(ctx, holder, *known); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// pauseAfter returns the time from a pull with an error to the next one. A rate limit says
// how long it lasts.
func pauseAfter(err error) time.Duration {
	limit, ok := errors.AsType[*upstream.Error](err)
	if !ok || limit.Kind != upstream.Limited {
		return pullEvery
	}
	return min(max(limit.RetryAfter, limit.Pause, time.Minute), 24*time.Hour)
}

// save takes or renews the lease, and stores what is known.
func (p *Pull) save(ctx context.Context, holder string, known Pulled) error {
	taken, err := p.Leases.TakeLease(ctx, pullLease, holder, pullLife)
	if err != nil {
		return err
	}
	if !taken {
		return ErrPulling
	}
	note, _ := json.Marshal(known) // times, numbers and texts
	return p.Notes.SetNote(ctx, pullLease, string(note))
}

// end gives the lease back.
func (p *Pull) end(ctx context.Context, holder string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := p.Leases.EndLease(ctx, pullLease, holder); err != nil {
		p.Log.Warn().Err(err).Msg("giving back the lease of the instance that asks the CRM")
	}
}
