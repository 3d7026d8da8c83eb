package main

import (
	"net/http"
	"testing"

	"siteapi/integrations/cms/sanity/sanitytest"
	"siteapi/integrations/crm/hubspot/hubspottest"
)

// TestCMSConflictIsCheckedBeforeItIsBelieved answers a submission's first tries with "already
// exists" although nothing was stored: the document has to be there in the end.
func TestCMSConflictIsCheckedBeforeItIsBelieved(t *testing.T) {
	t.Parallel()
	stubs := newVendorStubs(t, sanitytest.Options{}, hubspottest.Options{})
	const exists = `{"error":{"type":"mutationError","description":"The mutation(s) failed",` +
		`"items":[{"error":{"type":"documentAlreadyExistsError","description":"Document already exists"},"index":0}]}}`
	stubs.cms.Fail(sanitytest.Fault{Mode: sanitytest.Answer, Status: http.StatusConflict, Body: exists, On: "mutate", Times: 1})
	r := launch(t, t.TempDir(), stubs.environ()...)
	status, answer := r.post("/api/quote/submit", validSubmission("conflict"))
	if status != http.StatusOK {
		t.Fatalf("submit: %d %v", status, answer)
	}
	document := "quoteSubmission." + answer["submissionId"].(string)
	eventually(t, "the document is stored after the conflict", func() bool {
		_, stored := stubs.cms.Documents()[document]
		return stored
	})
}
