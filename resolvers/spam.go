package resolvers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// signals returns the signs that a program sent a submission. A check that fails because
// the database or the bot check does not answer is not a reason for a review.
func (r *Resolver) signals(ctx context.Context, in schema.SubmitQuoteInput, content string, at time.Time) []quote.Signal {
	found := []quote.Signal{r.paceSignal(ctx, in.SessionID, at), r.challengeSignal(ctx, in, content)}
	if trimmed(in.Website) != "" {
		found = append([]quote.Signal{quote.Honeypot}, found...)
	}
	return slices.DeleteFunc(found, func(s quote.Signal) bool { return s == "" })
}

// paceSignal compares a submission with the first tracked state of its session. A session
// that begins in the future was tracked by an instance with another clock.
func (r *Resolver) paceSignal(ctx context.Context, session string, at time.Time) quote.Signal {
	if r.MinTime == 0 {
		return ""
	}
	s, err := r.Quotes.Session(ctx, session)
	switch took := at.Sub(s.FirstSeen); {
	case errors.Is(err, store.ErrNotFound):
		return quote.Untracked
	case err == nil && took >= 0 && took < r.MinTime:
		return quote.TooFast
	}
	return ""
}

// challengeSignal verifies the token of the bot check. The same content sent again is the
// same attempt, for which the token stays valid.
func (r *Resolver) challengeSignal(ctx context.Context, in schema.SubmitQuoteInput, content string) quote.Signal {
	if r.Challenge == nil {
		return ""
	}
	caller := schema.CallerFrom(ctx)
	ok, err := r.Challenge.Verify(ctx, cmp.Or(trimmed(in.ChallengeToken), strings.TrimSpace(caller.Challenge)), content)
	switch {
	case err != nil:
		r.Log.Warn().Ctx(ctx).Err(err).Msg("the bot check does not answer")
		return quote.Unchecked
	case !ok:
		return quote.NoChallenge
	}
	return ""
}

// countSignals counts the signals of a new submission.
func (r *Resolver) countSignals(s *quote.Submission) {
	for _, signal := range s.Signals {
		r.Count(Event{"spam_signal", string(signal)})
	}
	if s.InReview {
		r.Count(Event{"submission", "in_review"})
	}
}
