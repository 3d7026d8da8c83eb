package main

import (
	"context"
	"strings"
	"unicode"

	"siteapi/integrations/queue"
	"siteapi/integrations/quote"
)

// leadView is a lead as commands print it for other programs.
type leadView struct {
	quote.Submission
	PDF string `json:"pdf"` // path on the service
}

func newLeadView(s quote.Submission) leadView {
	s.Trace = "" // of a request, not of a person
	return leadView{s, s.PDFPath()}
}

// Whereabouts of a lead, for people.
const (
	leadHeld     = "held"      // waits for review
	leadUnderWay = "under way" // to one target at least
	leadFailed   = "failed"    // refused for good by one target at least
	leadArrived  = "delivered"
)

// whereabouts tells where leads are by what did not arrive, read once.
func whereabouts(ctx context.Context, q *queue.Queue) (func(s *quote.Submission) string, error) {
	list, err := q.List(ctx, queue.Filter{States: undelivered()})
	if err != nil {
		return nil, err
	}
	states := make(map[string]string, len(list))
	for _, d := range list {
		switch {
		case d.State == queue.Failed:
			states[d.SubmissionID] = leadFailed
		case states[d.SubmissionID] == "":
			states[d.SubmissionID] = leadUnderWay
		}
	}
	return func(s *quote.Submission) string {
		switch state := states[s.ID]; {
		case s.InReview:
			return leadHeld
		case state != "":
			return state
		}
		return leadArrived
	}, nil
}

// printable makes a visitor's words safe to show on a terminal: no control characters,
// which could repaint it, and none that turn the direction of writing.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == unicode.ReplacementChar:
			return ' '
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}

// fullName is how a person is called.
func fullName(c quote.Contact) string {
	return printable(strings.TrimSpace(c.FirstName + " " + c.LastName))
}
