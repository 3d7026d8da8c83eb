package apptest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

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

// PDFText returns the words of a PDF on one line.
func PDFText(t *testing.T, file []byte) string {
	t.Helper()
	_, err := exec.LookPath("pdftotext")
	SkipWithout(t, err)

	cmd := exec.CommandContext(t.Context(), "pdftotext", "-raw", "-", "-")
	cmd.Stdin = bytes.NewReader(file)
	text, err := cmd.Output()
	must(t, err)
	return strings.Join(strings.Fields(string(text)), " ")
}
