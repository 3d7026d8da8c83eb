package commands

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"siteapi/cmd/siteapi/internal/apptest"
)

// populate stores data of a person everywhere: two leads, their PDFs, and a session that
// has only hints. It also stores a lead and a session of another person.
func populate(s *apptest.Site) (hers []string, theirs string) {
	s.T.Helper()
	hers = []string{s.Submit("hers"), s.Submit("hers-2", `
		"contact": {"email": "HERS@example.com", "firstName": "Hersfirst", "lastName": "Herslast",
			"phone": "+40 700 555 123", "company": "Herscompany"},
		"message": "Write to hers@example.com,\nhersmessage.",
		"consents": [{"purpose": "news", "given": true, "text": "hers-wording"}],
		"attribution": {"source": "hers-source", "medium": "hers-medium", "campaign": "hers-campaign", "term": "hers-term",
			"content": "hers-content", "referrer": "https://hers-referrer.example/", "landingPage": "/hers-page"}`)}
	theirs = s.Submit("theirs")

	s.Do("POST", "/api/quote/track", `{"sessionId": "hint", "formData": {"email": "Hers@example.com", "firstName": "Hershint"},
		"consents": [{"purpose": "save_progress", "given": true, "text": "hers-agreed"}], "attribution": {"source": "hers-first"}}`)
	s.Do("POST", "/api/quote/track", `{"sessionId": "hint-2", "formData": {"email": "theirs@example.com", "firstName": "Ana"}}`)

	for _, id := range append([]string{theirs}, hers...) {
		s.Arrives(id)
		if pdf(s, id) != 200 {
			s.T.Error("no PDF")
		}
	}

	return hers, theirs
}

// checkErased fails if the site still has data of the erased address, or lacks data of
// the other one.
func checkErased(s *apptest.Site, hers []string, theirs string) {
	s.T.Helper()
	for _, id := range hers {
		if status := pdf(s, id); status != 404 {
			s.T.Errorf("the PDF of %s has status %d", id, status)
		}
		if len(s.DeliveriesOf(id)) != 0 {
			s.T.Errorf("%s has deliveries", id)
		}
	}

	s.Prints("leads list", "theirs@example.com").Without("ers@example.com ", "HERS")
	s.Prints("leads show "+theirs, "CMS", "CRM")

	if pdf(s, theirs) != 200 {
		s.T.Error("the PDF of the other person was deleted")
	}
	if s.Stubs != nil && (len(s.Stubs.Contacts("hers@example.com")) != 0 ||
		len(s.Stubs.Documents("hers"))+len(s.Stubs.Documents("hers-2")) != 0) {
		s.T.Error("the CMS or the CRM still has data of the person")
	}
}

// personalTexts are the texts that the erased person typed and the sources of the visits,
// in lower case.
var personalTexts = []string{
	"hers@example", "hersfirst", "herslast", "700 555 123", "700555123", "herscompany", "hersmessage", "hers-wording",
	"hers-source", "hers-medium", "hers-campaign", "hers-term", "hers-content", "hers-referrer", "hers-page",
	"hershint", "hers-first", "hers-note", "hers-agreed",
}

// traces returns the personal data that a string contains.
func traces(text []byte) (found []string) {
	for _, part := range personalTexts {
		if strings.Contains(strings.ToLower(string(text)), part) {
			found = append(found, part)
		}
	}
	return found
}

// contents returns the contents of all files in the data folder except the locks, keyed
// by path.
func contents(s *apptest.Site) map[string]string {
	s.T.Helper()
	files := map[string]string{}
	for _, path := range paths(s.T, s.Dir) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !strings.Contains(path, "/run/") {
			data, err := os.ReadFile(path)
			must(s.T, err)
			files[path] = string(data)
		}
	}
	return files
}

// tracesInFiles returns the personal data in the files of the data folder.
func tracesInFiles(s *apptest.Site) (found []string) {
	s.T.Helper()
	for _, data := range contents(s) {
		found = append(found, traces([]byte(data))...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// tracesInStubs returns the personal data in the documents of the CMS and in the
// contacts and deals of the CRM, its recycling bin included.
func tracesInStubs(s *apptest.Site) (cms, crm []string) {
	s.T.Helper()
	documents, err := json.Marshal(s.Stubs.CMS.Documents())
	contacts, err2 := json.Marshal([]any{s.Stubs.CRM.Contacts(), s.Stubs.CRM.Deals()})
	if err := errors.Join(err, err2); err != nil {
		s.T.Error(err)
	}
	return traces(documents), traces(contacts)
}

// checkNoTraces fails if a file in the data folder, the CMS or the CRM contains any
// personal text.
func checkNoTraces(s *apptest.Site) {
	s.T.Helper()
	if found := tracesInFiles(s); len(found) > 0 {
		s.T.Errorf("the data folder contains %q", found)
	}
	if s.Stubs == nil {
		return
	}
	if cms, crm := tracesInStubs(s); len(cms)+len(crm) > 0 {
		s.T.Errorf("the CMS contains %q, the CRM %q", cms, crm)
	}
}
