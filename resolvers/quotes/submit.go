package quotes

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/propagation"

	"siteapi/integrations/lead"
	"siteapi/integrations/ratelimit"
	"siteapi/integrations/store"
	"siteapi/resolvers/content"
	"siteapi/resolvers/price"
	"siteapi/schema"
	"siteapi/schema/request"
)

// idempotencyKeyMax is the longest Idempotency-Key that is accepted, in characters.
const idempotencyKeyMax = 255

const (
	// maxSubmissions is the number of leads that one client may submit in an hour.
	maxSubmissions = 300

	// leadBytes is what a lead may store to count as one of them. It then takes at most 20 KB
	// on disk with its indexes and deliveries. A larger one counts again for each leadBytes.
	leadBytes = 10_000
)

// SubmitQuote resolves submitQuote: it stores a lead with its pending deliveries. It responds
// once both are durable; the deliveries run afterward. [store.Store.Submit] recognizes
// a repetition by the digests of content and Idempotency-Key and returns the first lead.
func (r *Resolver) SubmitQuote(
	ctx context.Context, in schema.SubmitQuoteInput,
) (*schema.SubmitQuotePayload, error) {
	key := idempotencyKey(request.CallerFrom(ctx).Header)
	if utf8.RuneCountInString(key) > idempotencyKeyMax {
		return nil, schema.BadInput(schema.TooLong("Idempotency-Key", idempotencyKeyMax))
	}

	n := store.NewLead{Lead: newLead(in)}
	content, err := contentDigest(&n.Lead)
	if err != nil {
		return nil, err
	}
	n.ContentKey = content
	if key != "" {
		n.IdempotencyKey = digest(in.SessionID, key)
	}
	n.Lead.ID = strings.ToLower(rand.Text()) // it opens the PDF
	n.Lead.SubmittedAt = r.Now().UTC().Truncate(time.Millisecond)

	if n.Network, err = r.Network(ctx, request.CallerFrom(ctx).Address); err != nil {
		return nil, storeError(err)
	}

	// A repetition of a stored lead counts against no limit of leads.
	repeated, err := r.Store.HasContent(ctx, content)
	if err != nil {
		return nil, storeError(err)
	}
	if !repeated {
		if refused := r.examine(ctx, in, &n); refused != nil {
			return nil, refused
		}
	}

	began := time.Now()
	first, created, err := r.Store.Submit(ctx, n)
	r.ObserveDatabase("submit", began, err)
	if err != nil {
		return nil, storeError(err)
	}
	r.countLead(&first, created)

	r.Log.Info().Ctx(ctx).
		Str("reference", lead.Reference(first.ID)).
		Bool("created", created).
		Bool("in_review", first.InReview).
		Msg("quote submitted")
	return &schema.SubmitQuotePayload{
		Success:      true,
		SubmissionID: first.ID,
		PDFURL:       first.PDFPath(),
		QuoteURL:     r.SiteURL + first.PagePath(),
	}, nil
}

// examine completes a new lead: its attribution, signals, texts, price and trace. It returns an
// error if the client has submitted too many leads.
func (r *Resolver) examine(ctx context.Context, in schema.SubmitQuoteInput, n *store.NewLead) error {
	l := &n.Lead

	// The error is not returned: if the database is unavailable, storing the lead fails
	// as well.
	session, err := r.Store.Session(ctx, in.SessionID)
	pace := r.paceSignal(session, err, l.SubmittedAt)
	read := hints{}
	l.FirstAttribution, l.Attribution = session.Touches(read.attribution(in.Attribution))
	request.RecordFrom(ctx).Drop(read.dropped)

	// Any signal that is not weak puts the lead in review.
	l.Signals = r.signals(ctx, in, n.ContentKey, pace)
	snap := r.contentSoon(ctx, l)
	checkWordings(l, snap)
	if snap != nil && snap.Texts != nil && r.Content.StoreTexts(ctx, snap.Texts) == nil {
		n.Texts, l.Texts = snap.Texts.Revision, snap.Texts.Body
	}
	r.setPrice(ctx, l, snap, schema.ValueOr(in.Estimate.Revision, ""))
	l.InReview = slices.ContainsFunc(l.Signals, func(s lead.Signal) bool { return !s.Weak() })

	// Deliveries continue the trace of the request. The field is empty without tracing.
	trace := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, trace)
	l.Trace = trace["traceparent"]

	return r.withinHourlyLeads(ctx, l)
}

// withinHourlyLeads counts a lead by its size and returns an error if the client has submitted
// too many.
func (r *Resolver) withinHourlyLeads(ctx context.Context, l *lead.Lead) error {
	for range 1 + stored(*l)/leadBytes {
		if !r.withinHour(ctx, "submissions", maxSubmissions) {
			return &schema.Error{
				Code: schema.CodeRateLimited,
				Message: "There were too many quote requests from this address within an hour. " +
					"Please wait.",
				RetryAfter: l.SubmittedAt.Truncate(time.Hour).Add(time.Hour).Sub(l.SubmittedAt),
			}
		}
	}
	return nil
}

// countLead counts a submission by its outcome.
func (r *Resolver) countLead(l *lead.Lead, created bool) {
	if !created {
		r.Count("submission", "repeated")
		return
	}

	for _, signal := range l.Signals {
		r.Count("spam_signal", string(signal))
	}
	if l.InReview {
		r.Count("submission", "in_review")
	}
	r.countPrice(l)
	r.Count("submission", "created")
}

// stored returns about how many bytes a lead takes in the database, which repeats sources and
// campaigns in columns and indexes. A long wording of a consent leaves half a page unused.
func stored(l lead.Lead) int {
	last, first := l.Attribution, l.FirstAttribution
	size := 3*len(last.Source) + len(last.Campaign) + len(first.Source) + len(first.Campaign)
	for _, c := range l.Consents {
		size += len(c.Text)
	}

	if first == last {
		l.FirstAttribution = lead.Attribution{} // stored once
	}
	return size + encoded(l)
}

// idempotencyKey returns the Idempotency-Key header without the quotes of a structured
// string.
func idempotencyKey(h http.Header) string {
	return strings.Trim(strings.TrimSpace(h.Get("Idempotency-Key")), `"`)
}

// newLead converts a validated input, without repeated features and consents.
func newLead(in schema.SubmitQuoteInput) lead.Lead {
	s := lead.Lead{
		SessionID:  in.SessionID,
		Contact:    *in.Contact,
		Selections: *in.Selections,
		Message:    schema.ValueOr(in.Message, ""),
		Locale:     string(schema.ValueOr(in.Locale, "")),
	}
	s.Contact.Email = schema.CleanEmail(s.Contact.Email)
	s.Contact.Phone = schema.CleanPhone(s.Contact.Phone)
	s.Selections.Features = distinct(s.Selections.Features)
	s.Selections.Quantities = chosen(s.Selections)

	e := in.Estimate
	s.Estimate = lead.Estimate{
		Min:      price.Round(math.Abs(e.Min), e.Currency), // JSON has a negative zero.
		Max:      price.Round(math.Abs(e.Max), e.Currency),
		Currency: e.Currency,
	}

	for _, c := range in.Consents {
		s.Consents = slices.DeleteFunc(s.Consents, func(before lead.Consent) bool {
			return before.Purpose == c.Purpose
		})
		s.Consents = append(s.Consents, *c)
	}
	return s
}

// chosen returns the quantities of choices, ordered by slug.
func chosen(s lead.Selections) []lead.Quantity {
	of := slices.DeleteFunc(slices.Clone(s.Quantities),
		func(q lead.Quantity) bool { return !s.Chosen(q.Slug) })
	slices.SortFunc(of, func(a, b lead.Quantity) int { return cmp.Compare(a.Slug, b.Slug) })
	return of
}

// contentSoon returns the content that a lead is checked against, or nil if it is
// unavailable. A slow CMS delays the lead only briefly.
func (r *Resolver) contentSoon(ctx context.Context, l *lead.Lead) *content.Snapshot {
	snap, err := r.Content.ReadSoon(ctx, schema.LocaleOrDefault(l.Locale))
	if err != nil {
		r.Log.Warn().Ctx(ctx).Err(err).
			Msg("cannot read the content: storing a lead without checking its price and consents")
		return nil
	}
	return snap
}

// checkWordings records which consents of a lead have the current wording of the CMS.
func checkWordings(l *lead.Lead, snap *content.Snapshot) {
	for i, c := range l.Consents {
		l.Consents[i].SiteWording = snap != nil && c.Text != "" && snap.HasWording(c.Purpose, c.Text)
	}
}

// contentDigest returns a digest of a lead's content, by which a repetition is
// recognized. The order of features does not matter.
func contentDigest(s *lead.Lead) (string, error) {
	same := *s
	same.Selections.Features = slices.Sorted(slices.Values(s.Selections.Features))
	content, err := json.Marshal(same)
	if err != nil {
		return "", fmt.Errorf("encoding a lead: %w", err)
	}
	return digest(s.SessionID, string(content)), nil
}

func digest(session, content string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(session+"\x00"+content)))
}

// signals returns the signals that a bot sent the lead. A failure of the database or of
// the bot check does not put the lead in review.
func (r *Resolver) signals(
	ctx context.Context, in schema.SubmitQuoteInput, content string, pace lead.Signal,
) []lead.Signal {
	found := []lead.Signal{pace, r.challengeSignal(ctx, in, content), r.burstSignal(ctx)}
	if schema.ValueOr(in.Website, "") != "" {
		found = append([]lead.Signal{lead.Honeypot}, found...)
	}
	return slices.DeleteFunc(found, func(s lead.Signal) bool { return s == "" })
}

// paceSignal compares the time of a lead with the first tracked state of its session; err
// is the error of reading that session. A negative difference, which two instances with
// different clocks can cause, gives no signal.
func (r *Resolver) paceSignal(s lead.Session, err error, at time.Time) lead.Signal {
	switch took := at.Sub(s.FirstSeen); {
	case r.MinTime == 0:
		return ""
	case errors.Is(err, store.ErrNotFound):
		return lead.Untracked
	case err == nil && took >= 0 && took < r.MinTime:
		return lead.TooFast
	}
	return ""
}

// maxLeads is the number of leads per hour that one IPv4 address, or the /48 of an IPv6
// address, may submit without a review.
const maxLeads = 60

// burstSignal checks the hourly limit of leads from the client's widest network.
func (r *Resolver) burstSignal(ctx context.Context) lead.Signal {
	if r.Limiter == nil {
		return ""
	}
	networks := ratelimit.Networks(request.CallerFrom(ctx).Address)
	key := "leads " + networks[len(networks)-1].Name
	if !ratelimit.WithinHour(ctx, r.Limiter, key, maxLeads, r.Now()) {
		return lead.Burst
	}
	return ""
}

// challengeSignal verifies the token of the bot check. The token stays valid for the same
// content, so the client can repeat an attempt.
func (r *Resolver) challengeSignal(
	ctx context.Context, in schema.SubmitQuoteInput, content string,
) lead.Signal {
	if r.Challenge == nil {
		return ""
	}

	header := request.CallerFrom(ctx).Header.Get("CF-Turnstile-Response")
	ok, err := r.Challenge.Verify(ctx,
		cmp.Or(schema.ValueOr(in.ChallengeToken, ""), strings.TrimSpace(header)), content)
	switch {
	case err != nil:
		r.Log.Warn().Ctx(ctx).Err(err).Msg("cannot verify the bot check: storing the lead unchecked")
		return lead.Unchecked
	case !ok:
		return lead.NoChallenge
	}
	return ""
}
