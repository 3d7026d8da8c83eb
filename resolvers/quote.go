package resolvers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// idempotencyKeyMax is the longest Idempotency-Key that is accepted, in bytes.
const idempotencyKeyMax = 255

// submitQuote stores a lead with its pending deliveries. It answers once both are
// durable; they are delivered afterwards. [store.Quotes.Submit] recognizes a repetition, by the
// digests of the content and of the Idempotency-Key, and returns the first submission.
func (r *Resolver) submitQuote(ctx context.Context, in schema.SubmitQuoteInput) (*schema.SubmitQuotePayload, error) {
	key := schema.CallerFrom(ctx).IdempotencyKey
	if len(key) > idempotencyKeyMax {
		return nil, badInput(schema.TooLong("Idempotency-Key", idempotencyKeyMax))
	}
	n := store.NewSubmission{Submission: newSubmission(in)}
	content, err := contentDigest(&n.Submission)
	if err != nil {
		return nil, err
	}
	n.ContentKey = content
	if key != "" {
		n.IdempotencyKey = digest(in.SessionID, key)
	}
	n.Submission.ID = r.NewID()
	n.Submission.SubmittedAt = r.Now().UTC().Truncate(time.Millisecond)
	n.Submission.Signals = r.signals(ctx, in, content, n.Submission.SubmittedAt)
	n.Submission.InReview = slices.ContainsFunc(n.Submission.Signals, func(s quote.Signal) bool { return !s.Weak() })
	if r.Trace != nil {
		n.Submission.Trace = r.Trace(ctx)
	}
	stored, created, err := r.Quotes.Submit(ctx, n)
	if err != nil {
		return nil, translate(err)
	}
	outcome := "repeated"
	if created {
		outcome = "created"
		r.countSignals(&stored)
	}
	r.Count(Event{"submission", outcome})
	r.Log.Info().Ctx(ctx).Str("reference", strings.ToUpper(shortID(stored.ID))).
		Bool("created", created).Bool("in_review", stored.InReview).Msg("quote submitted")
	return &schema.SubmitQuotePayload{Success: true, SubmissionID: stored.ID, PDFURL: stored.PDFPath()}, nil
}

// newSubmission converts a checked input: texts are trimmed, and each feature occurs once.
func newSubmission(in schema.SubmitQuoteInput) quote.Submission {
	s := quote.Submission{
		SessionID: in.SessionID,
		Contact: quote.Contact{
			FirstName: strings.TrimSpace(in.Contact.FirstName),
			LastName:  strings.TrimSpace(in.Contact.LastName),
			Email:     strings.TrimSpace(in.Contact.Email),
			Phone:     trimmed(in.Contact.Phone),
			Company:   trimmed(in.Contact.Company),
		},
		Selections: quote.Selections{
			ProjectType: strings.TrimSpace(in.Selections.ProjectType),
			Complexity:  trimmed(in.Selections.Complexity),
			Timeline:    trimmed(in.Selections.Timeline),
		},
		Estimate: quote.Estimate{Min: in.Estimate.Min, Max: in.Estimate.Max, Currency: strings.TrimSpace(in.Estimate.Currency)},
	}
	for _, feature := range in.Selections.Features {
		if feature = strings.TrimSpace(feature); !slices.Contains(s.Selections.Features, feature) {
			s.Selections.Features = append(s.Selections.Features, feature)
		}
	}
	if in.Locale != nil {
		s.Locale = string(*in.Locale)
	}
	return s
}

func trimmed(s *string) string {
	if s == nil {
		return ""
	}
	return strings.TrimSpace(*s)
}

// contentDigest identifies the content of a submission, by which a repetition is recognized. The
// order of features does not matter.
func contentDigest(s *quote.Submission) (string, error) {
	same := *s
	same.Selections.Features = slices.Sorted(slices.Values(s.Selections.Features))
	content, err := json.Marshal(same)
	if err != nil {
		return "", fmt.Errorf("encoding a submission: %w", err)
	}
	return digest(s.SessionID, string(content)), nil
}

func digest(session, content string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + content))
	return hex.EncodeToString(sum[:])
}
