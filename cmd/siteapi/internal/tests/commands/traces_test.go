package commands

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"siteapi/cmd/siteapi/internal/apptest"
)

// populate stores the data of a person everywhere: two leads, their PDFs, and a session
// with only a hint. It also stores a lead and a session of another person.
func populate(s *apptest.Site) (hers []string, theirs string) {
	s.T.Helper()
	again := apptest.NewLead("hers-2")
	again["contact"] = object{
		"email":     "HERS@example.com",
		"firstName": "Hersfirst",
		"lastName":  "Herslast",
		"phone":     "+40 700 555 123",
		"company":   "Herscompany",
	}
	again["message"] = "Write to hers@example.com,\nhersmessage."
	again["consents"] = []any{object{"purpose": "news", "given": true, "text": "hers-wording"}}
	again["attribution"] = object{
		"source":      "hers-source",
		"medium":      "hers-medium",
		"campaign":    "hers-campaign",
		"term":        "hers-term",
		"content":     "hers-content",
		"referrer":    "https://hers-referrer.example/",
		"landingPage": "/hers-page",
	}
	first := s.Submit("hers")
	_, second := s.Post("/api/quote/submit", again)
	hers = []string{first, second["submissionId"].(string)}
	theirs = s.Submit("theirs")

	s.Post("/api/quote/track",
		object{"sessionId": "hint", "formData": object{"email": "Hers@example.com", "firstName": "Hershint"},
			"consents":    []any{object{"purpose": "save_progress", "given": true, "text": "hers-agreed"}},
			"attribution": object{"source": "hers-first"}})
	s.Post("/api/quote/track",
		object{"sessionId": "hint-2", "formData": object{"email": "theirs@example.com", "firstName": "Ana"}})

	for _, id := range append([]string{theirs}, hers...) {
		s.Arrives(id)
		if pdf(s, id) != http.StatusOK {
			s.T.Error("no PDF")
		}
	}

	return hers, theirs
}

// gone fails if the site still has data of the erased address, or lacks data of another.
func gone(s *apptest.Site, hers []string, theirs string) {
	s.T.Helper()
	for _, id := range hers {
		if status := pdf(s, id); status != http.StatusNotFound {
			s.T.Errorf("the PDF of %s answers %d", id, status)
		}
		if len(s.DeliveriesOf(id)) != 0 {
			s.T.Errorf("%s has deliveries", id)
		}
	}

	says(s, said{"leads list", "theirs@example.com", "ers@example.com  | HERS"},
		said{"leads show " + theirs, "CMS | CRM", ""},
	)

	if pdf(s, theirs) != http.StatusOK {
		s.T.Error("somebody else's PDF is gone")
	}
	if s.Stubs != nil && (len(s.Stubs.Contacts("hers@example.com")) != 0 ||
		len(s.Stubs.Documents("hers"))+len(s.Stubs.Documents("hers-2")) != 0) {
		s.T.Error("the CMS or the CRM holds something still")
	}
}

// ofHer lists what the erased person typed, and where it came from, in lower case.
var ofHer = []string{
	"hers@example", "hersfirst", "herslast", "700 555 123", "700555123", "herscompany", "hersmessage", "hers-wording",
	"hers-source", "hers-medium", "hers-campaign", "hers-term", "hers-content", "hers-referrer", "hers-page",
	"hershint", "hers-first", "hers-note", "hers-agreed",
}

// traces returns the parts of ofHer that a text holds.
func traces(text []byte) (found []string) {
	for _, part := range ofHer {
		if strings.Contains(strings.ToLower(string(text)), part) {
			found = append(found, part)
		}
	}
	return found
}

// inFiles returns what the files of the data folder hold of the erased person.
func inFiles(s *apptest.Site) (found []string) {
	s.T.Helper()
	for _, data := range contents(s) {
		found = append(found, traces([]byte(data))...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// inStubs returns what the documents of the CMS and the contacts of the CRM hold.
func inStubs(s *apptest.Site) (cms, crm []string) {
	s.T.Helper()
	documents, err := json.Marshal(s.Stubs.CMS.Documents())
	contacts, err2 := json.Marshal(s.Stubs.CRM.Contacts())
	if err := errors.Join(err, err2); err != nil {
		s.T.Error(err)
	}
	return traces(documents), traces(contacts)
}

// clean fails if a file in the data folder, the CMS or the CRM holds anything of the erased
// person, byte by byte.
func clean(s *apptest.Site) {
	s.T.Helper()
	if found := inFiles(s); len(found) > 0 {
		s.T.Errorf("the data folder holds %q", found)
	}
	if s.Stubs == nil {
		return
	}
	if cms, crm := inStubs(s); len(cms)+len(crm) > 0 {
		s.T.Errorf("the CMS holds %q, the CRM %q", cms, crm)
	}
}
