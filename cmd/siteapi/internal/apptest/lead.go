package apptest

import (
	"encoding/json"

	"siteapi/schema"
)

// ValidLead returns a valid input of submitQuote, without a message, attribution or
// consents.
func ValidLead(session string) object {
	return object{
		"sessionId": session,

		"contact": object{
			"firstName": "Ana",
			"lastName":  "Ionescu",
			"email":     "ana@example.com",
			"phone":     "+40 721 000 000",
			"company":   "Țară SRL",
		},
		"selections": object{
			"projectType": "web-app",
			"features":    []any{"blog", "shop"},
			"complexity":  "medium",
			"timeline":    "3-months",
		},
		"estimate": object{"min": 15100, "max": 20400.5, "currency": "EUR"},
		"locale":   "ro",
	}
}

// LeadSecret is the value of LEAD_WEBHOOK_SECRET.
const LeadSecret = "whsec_bGVhZGxlYWRsZWFkbGVhZGxlYWRsZWFk"

// ShowLead returns a lead from the output of `siteapi leads show`.
func (s *Service) ShowLead(id string) (l schema.Lead) {
	s.T.Helper()
	out, err := s.Command("leads", "show", "--json", id)
	if err != nil || json.Unmarshal([]byte(out), &l) != nil {
		s.T.Fatalf("showing a lead: %v %s", err, out)
	}
	return l
}
