// Package cmstest is the conformance suite of the CMS contract. Every driver runs it.
package cmstest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"siteapi/integrations/cms"
	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

// Project and Dataset are what a subject must take uploaded pictures to belong to.
const (
	Project = "suite123"
	Dataset = "production"
)

// Subject is a driver with a way into its far end. Each case gets a fresh one.
type Subject struct {
	Content     cms.Content
	Submissions cms.Submissions
	// Replace makes these documents, drafts and all, the whole content of the CMS.
	Replace func(t testing.TB, docs ...string)
	// Stored returns the submissions that the far end holds, by _id.
	Stored func(t testing.TB) map[string]json.RawMessage
}

// Run runs the suite.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, group := range []map[string]func(*testing.T, Subject){contentCases(), submissionCases(), contextCases()} {
		for name, check := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				check(t, open(t))
			})
		}
	}
}

// Submission returns a submission with every field set. Its values are such that careless
// quoting or escaping would show.
func Submission(id string) *quote.Submission {
	return &quote.Submission{
		ID:        id,
		SessionID: "sess:" + id,
		Contact: quote.Contact{
			FirstName: "Ștefania \"Ana\"", LastName: "O'Neill\\Țurcanu", Email: id + "@example.com",
			Phone: "+44 20 7946 0018", Company: "Smith & <Söhne> 🦊\nLtd",
		},
		Selections: quote.Selections{
			ProjectType: "website", Features: []string{"blog", "seo"}, Complexity: "medium", Timeline: "1-3-months",
		},
		Estimate:    quote.Estimate{Min: 1234.5, Max: 1e9, Currency: "EUR"},
		Locale:      "ro",
		SubmittedAt: time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC),
	}
}

// kind checks that an error is one of upstream's, of this kind.
func kind(t *testing.T, what string, err error, want upstream.Kind) {
	t.Helper()
	var e *upstream.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: error %v, want an *upstream.Error", what, err)
	} else if e.Kind != want || e.System == "" || e.Op == "" {
		t.Errorf("%s: %+v, want kind %s with system and operation", what, e, want)
	}
}

// ok ends the case on an error.
func ok(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
