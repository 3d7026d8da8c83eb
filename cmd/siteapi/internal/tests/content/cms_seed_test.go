package content

import (
	"encoding/json"
	"strings"
	"testing"

	"siteapi/cmd/siteapi/internal/apptest"
)

// The sample company is added only once and only to an empty dataset. A service then
// serves it.
func TestSeed(t *testing.T) {
	t.Parallel()
	stubs := apptest.NewVendors(t)
	sample := len(stubs.CMS.Documents())
	s := apptest.NewSite(t, append(stubs.Env(), "CMS_WATCH=off")...)

	replace := func(docs ...string) {
		var raws []json.RawMessage
		for _, doc := range docs {
			raws = append(raws, json.RawMessage(doc))
		}
		must(t, stubs.CMS.Replace(raws...))
	}
	seeds := func(want string, code, documents int, args ...string) {
		t.Helper()
		out, got := s.Run(append([]string{"cms", "seed"}, args...)...)
		if n := len(stubs.CMS.Documents()); got != code || n != documents || !strings.Contains(out, want) {
			t.Errorf("exit code %d, %d documents, want %d and %d: %s", got, n, code, documents, out)
		}
	}

	// A dataset that has content, even a draft, is not changed.
	for _, own := range []string{
		`{"_id":"drafts.siteSettings","_type":"siteSettings"}`,
		`{"_id":"welcome","_type":"heroSection"}`,
	} {
		replace(own)
		seeds("has other content", 2, 1, "--yes")
	}

	// Without a terminal the command cannot be confirmed, so it adds nothing. Leads do
	// not count as content.
	replace(`{"_id":"quoteSubmission.x","_type":"quoteSubmission"}`)
	seeds("nothing was added", 2, 1)
	s.Env = append(s.Env, "SANITY_TOKEN="+apptest.ReadToken)
	seeds("refused", 1, 1, "--yes")
	s.Env = s.Env[:len(s.Env)-1]

	// Existing documents of the sample are not changed.
	replace(`{"_id":"quoteRules","_type":"quoteRules","currency":"RON"}`)
	seeds("documents to dataset", 0, sample, "--yes")
	seeds("already has all sample documents", 0, sample, "--yes")
	if rules := string(stubs.CMS.Documents()["quoteRules"]); !strings.Contains(rules, "RON") {
		t.Errorf("an existing document was replaced: %s", rules)
	}
	if settings := string(stubs.CMS.Documents()["siteSettings"]); strings.Contains(settings, "data:image") {
		t.Errorf("an image that Studio cannot show was stored: %s", settings)
	}

	s.Start()
	body := s.Query(`{ SiteSettings(id: "siteSettings") { contactEmail } content(documentType: "heroSection") { id } }`)
	if !strings.Contains(body, "hello@lumen-studio.example") || !strings.Contains(body, "heroSection-en") {
		t.Errorf("after seeding the service answers %s", body)
	}

	s.Env = append(s.Env, "CMS_DRIVER=file")
	seeds("needs no seed", 0, sample, "--yes")
}
