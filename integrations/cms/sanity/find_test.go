package sanity_test

import (
	"slices"
	"strings"
	"testing"

	"siteapi/integrations/cms/sanity"
	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/upstream"
)

func TestFindSeesCopies(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	of := func(id, submission, email string) string {
		return `{"_id":"` + id + `","_type":"quoteSubmission","submissionId":"` + submission + `","contact":{"email":"` + email + `"}}`
	}
	replace(t, lake, of("quoteSubmission.a", "a", "ana@example.com"), of("drafts.quoteSubmission.a", "a", "Ana@example.com"),
		of("duplicated-by-hand", "c", "ana@example.com"), of("quoteSubmission.b", "b", "bob@example.com"),
		`{"_id":"p","_type":"person","contact":{"email":"ana@example.com"}}`, `{"_id":"q","_type":"quoteSubmission","contact":"ana@example.com"}`)
	got, err := driver(t, lake, sanity.Options{}).Find(t.Context(), "ana@example.com")
	if slices.Sort(got); err != nil || !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("found %q %v", got, err)
	}
	for _, r := range lake.Requests() {
		if r.Method != "POST" || strings.Contains(r.Params.Encode(), "example.com") {
			t.Errorf("the address is in the request's: %s %v", r.Method, r.Params)
		}
	}
}

// What nobody can erase by its id is not passed over in silence.
func TestFindWithoutSubmissionID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`null`, `"../x"`} {
		lake := start(t, sanitytest.Options{})
		replace(t, lake, `{"_id":"odd","_type":"quoteSubmission","submissionId":`+id+`,"contact":{"email":"ana@example.com"}}`)
		_, err := driver(t, lake, sanity.Options{}).Find(t.Context(), "ana@example.com")
		check(t, err, upstream.Rejected, 0)
	}
}

func TestFindRepeatsNoAddress(t *testing.T) {
	t.Parallel()
	lake := start(t, sanitytest.Options{})
	lake.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: 400, Body: `{"error":{"description":"no match for Ana@Example.com"}}`})
	_, err := driver(t, lake, sanity.Options{}).Find(t.Context(), "ana@example.com")
	if err == nil || strings.Contains(strings.ToLower(err.Error()), "ana@") {
		t.Errorf("got %v", err)
	}
}
