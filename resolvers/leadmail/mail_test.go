package leadmail

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"siteapi/integrations/lead"
)

// The inbox looks up the translation of a reason by its English text, and the manual
// lists every reason.
func TestReasonsAreTranslated(t *testing.T) {
	t.Parallel()
	words, err := os.ReadFile("../../cmd/siteapi/internal/pages/inbox/words/en.ts")
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile("../../cmd/siteapi/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}

	for _, reason := range []string{
		NoMailServer, VisitorsOff, noMailbox, testAddress, addressLimit, networkLimit, waitingLimit, serviceLimit,
		NoMailReason(lead.Lead{InReview: true}, nil),
		NoMailReason(lead.Lead{Rejected: true}, nil),
	} {
		if !strings.Contains(string(words), strconv.Quote(reason)+":") {
			t.Errorf("pages/inbox/words has no text for %q", reason)
		}
		if !strings.Contains(string(manual), "| "+reason+" |") {
			t.Errorf("OPERATIONS.md has no row for %q", reason)
		}
	}
}
