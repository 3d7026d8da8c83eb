package resolvers

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
	"siteapi/schema"
)

// signals returns what makes a submission look as if a program had sent it. Whatever
// can't be found out, because the database or the vendor of the bot check does not
// answer, makes nobody suspicious: a lead must not suffer from our trouble.
func (r *Resolver) signals(ctx context.Context, in schema.SubmitQuoteInput, content string, at time.Time) []quote.Signal {
	var found []quote.Signal
	if trimmed(in.Website) != "" {
		found = append(found, quote.Honeypot)
	}
	if s := r.pace(ctx, in.SessionID, at); s != "" {
		found = append(found, s)
	}
	if s := r.challenged(ctx, in, content); s != "" {
		found = append(found, s)
	}
	return found
}

// suspicious reports whether a submission with these signals is held for review.
func suspicious(signals []quote.Signal) bool {
	for _, s := range signals {
		if !s.Weak() {
			return true
		}
	}
	return false
}

// pace compares a submission with the first tracked state of its session. A session
// that seems to begin in the future was tracked by an instance with another clock.
func (r *Resolver) pace(ctx context.Context, session string, at time.Time) quote.Signal {
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

// challenged asks the vendor of the bot check about the token that came along. The same
// content sent again after a failure is the same attempt, for which the token stays good.
func (r *Resolver) challenged(ctx context.Context, in schema.SubmitQuoteInput, content string) quote.Signal {
	if r.Challenge == nil {
		return ""
	}
	token := cmp.Or(trimmed(in.ChallengeToken), strings.TrimSpace(schema.CallerFrom(ctx).Challenge))
	ok, err := r.Challenge.Verify(ctx, token, content)
	switch {
	case err != nil:
		r.Log.Warn().Ctx(ctx).Str("request_id", schema.CallerFrom(ctx).RequestID).Err(err).Msg("the bot check could not be asked")
		return quote.Unchecked
	case !ok:
		return quote.NoChallenge
	}
	return ""
}

// countSignals counts what a new submission looked like.
func (r *Resolver) countSignals(s *quote.Submission) {
	for _, signal := range s.Signals {
		r.Count(Event{"spam_signal", string(signal)})
	}
	if s.InReview {
		r.Count(Event{"submission", "held"})
	}
}
