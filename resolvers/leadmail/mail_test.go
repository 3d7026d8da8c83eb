package leadmail

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"siteapi/integrations/lead"
	"siteapi/resolvers/leads"
)

// The inbox finds its translation of a reason by the English text.
func TestReasonsAreTranslated(t *testing.T) {
	t.Parallel()
	words, err := os.ReadFile("../../cmd/siteapi/internal/pages/inbox/words/en.ts")
	if err != nil {
		t.Fatal(err)
	}

	for _, reason := range []string{
		noMailServer, visitorsOff, testAddress, addressLimit, networkLimit,
		leads.NoMailReason(lead.Lead{InReview: true}, nil),
		leads.NoMailReason(lead.Lead{Rejected: true}, nil),
		leads.NoMailReason(lead.Lead{SubmittedAt: time.Now()}, nil),
	} {
		if !strings.Contains(string(words), strconv.Quote(reason)+":") {
			t.Errorf("pages/inbox/words has no text for %q", reason)
		}
	}
}
