package leads

import (
	"context"
	"strconv"

	"siteapi/integrations/lead"
	"siteapi/integrations/store"
)

// Person is the data stored about an address apart from its leads.
type Person struct {
	Email    string
	Consents []store.KeptConsent
	Sessions []lead.Session
}

// Person returns the data stored about an address apart from its leads.
func (s *Service) Person(ctx context.Context, email string) (Person, error) {
	consents, err := s.Store.KeptConsents(ctx, email)
	if err != nil {
		return Person{}, err
	}
	sessions, err := s.Store.SessionsOf(ctx, email)
	return Person{email, consents, sessions}, err
}

// CSV returns the data as rows of an export of leads, without a header row.
func (p Person) CSV() string {
	var rows [][]string
	for _, c := range p.Consents {
		rows = append(rows, consentCells(p.Email, c))
	}
	for _, s := range p.Sessions {
		rows = append(rows, sessionCells(s))
	}
	return table(rows)
}

// consentCells returns the cells of a consent that outlived its lead, in the columns of a
// lead.
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

// sessionCells returns the cells of a session, in the columns of a lead.
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

// replaced sets cells of a row by column name.
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
