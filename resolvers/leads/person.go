package leads

import (
	"context"
	"strconv"
	"time"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Person is what is stored about an address apart from its leads.
type Person struct {
	Email    string
	Consents []store.KeptConsent
	Sessions []lead.Session
}

// FindPerson returns what is stored about an address apart from its leads.
func FindPerson(ctx context.Context, from store.Persons, email string) (Person, error) {
	p := Person{Email: email}
	var err error
	if p.Consents, err = from.KeptConsents(ctx, email); err == nil {
		p.Sessions, err = from.SessionsOf(ctx, email)
	}
	return p, err
}

// Person writes what is stored about a person apart from leads.
func (t *Table) Person(p Person) error {
	for _, c := range p.Consents {
		if err := t.row(consentCells(p.Email, c)); err != nil {
			return err
		}
	}
	for _, s := range p.Sessions {
		if err := t.row(sessionCells(s)); err != nil {
			return err
		}
	}
	return nil
}

// consentCells returns the cells of a consent that has outlived its lead, in the columns that
// it has for a lead.
func consentCells(email string, c store.KeptConsent) []string {
	like := lead.Lead{
		SubmittedAt: c.At,
		Contact:     lead.Contact{Email: email},
		Locale:      c.Locale,
		Consents:    []lead.Consent{c.Consent},
	}
	return replaced(cells(like), map[string]string{
		"record":       RecordConsent,
		"estimate_min": "",
		"estimate_max": "",
		"pdf":          "",
		"state":        "",
	})
}

// sessionCells returns the cells of a session, in the columns that they have for a lead.
func sessionCells(s lead.Session) []string {
	like := lead.Lead{
		SessionID:        s.ID,
		Contact:          lead.Contact{FirstName: s.Hints.FirstName, Email: s.Hints.Email},
		Locale:           s.Locale,
		Selections:       s.Selections,
		Estimate:         lead.Estimate{Currency: s.Estimate.Currency},
		Attribution:      s.LastTouch,
		FirstAttribution: s.FirstTouch,
	}

	own := map[string]string{
		"record":       RecordSession,
		"submitted_at": "",
		"estimate_min": optional(s.Estimate.Min),
		"estimate_max": optional(s.Estimate.Max),
		"pdf":          "",
		"state":        "",
		"first_seen":   s.FirstSeen.UTC().Format(exportTime),
		"last_seen":    s.LastSeen.UTC().Format(exportTime),
		"visits":       strconv.FormatInt(s.Visits, 10),
	}
	if s.Hints.Agreed {
		own["consents"] = lead.SaveProgress + ": given"
	}
	if s.Hints.Consent != "" {
		own["consent_texts"] = lead.SaveProgress + ": " + s.Hints.Consent
	}
	return replaced(cells(like), own)
}

// replaced puts cells into a row by the names of their columns.
func replaced(row []string, cells map[string]string) []string {
	for i, name := range columns {
		if cell, ok := cells[name]; ok {
			row[i] = cell
		}
	}
	return row
}

func optional(f *float64) string {
	if f == nil {
		return ""
	}
	return amount(*f)
}

// ConsentRecord is a consent that has outlived its lead, as an export in JSON has it.
type ConsentRecord struct {
	Record string    `json:"record"`
	Email  string    `json:"email"`
	At     time.Time `json:"at"`
	Locale string    `json:"locale,omitempty"`
	lead.Consent
}

// SessionRecord is a session as an export in JSON has it.
type SessionRecord struct {
	Record           string               `json:"record"`
	SessionID        string               `json:"sessionId"`
	FirstSeen        time.Time            `json:"firstSeen"`
	LastSeen         time.Time            `json:"lastSeen"`
	Visits           int64                `json:"visits"`
	Locale           string               `json:"locale,omitempty"`
	Typed            lead.Hints           `json:"typed,omitzero"`
	Selections       lead.Selections      `json:"selections,omitzero"`
	Estimate         lead.PartialEstimate `json:"estimate,omitzero"`
	Attribution      lead.Attribution     `json:"attribution,omitzero"`
	FirstAttribution lead.Attribution     `json:"firstAttribution,omitzero"`
}

// Records returns the records of a person for an export in JSON.
func (p Person) Records() (list []any) {
	for _, c := range p.Consents {
		list = append(list, ConsentRecord{RecordConsent, p.Email, c.At, c.Locale, c.Consent})
	}

	for _, s := range p.Sessions {
		list = append(list, SessionRecord{
			Record:           RecordSession,
			SessionID:        s.ID,
			FirstSeen:        s.FirstSeen,
			LastSeen:         s.LastSeen,
			Visits:           s.Visits,
			Locale:           s.Locale,
			Typed:            s.Hints,
			Selections:       s.Selections,
			Estimate:         s.Estimate,
			Attribution:      s.LastTouch,
			FirstAttribution: s.FirstTouch,
		})
	}
	return list
}
