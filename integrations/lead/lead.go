// Package lead holds the types that all integrations share: a visitor's choices in the
// calculator and the submitted quote request. It imports only the standard library.
package lead

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Contact describes the person who asks for a quote. Phone and Company may be empty.
type Contact struct {
	FirstName string `json:"firstName"`
	LastName  string `json:"lastName"`
	Email     string `json:"email"`
	Phone     string `json:"phone,omitempty"`
	Company   string `json:"company,omitempty"`
}

// Selections are slugs chosen in the calculator. Only ProjectType is always set.
type Selections struct {
	ProjectType string   `json:"projectType,omitempty"`
	Features    []string `json:"features,omitempty"`
	Complexity  string   `json:"complexity,omitempty"`
	Timeline    string   `json:"timeline,omitempty"`
}

// Estimate is a range, in units of Currency (ISO 4217).
type Estimate struct {
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Currency string  `json:"currency"`
}

// Consent is what a visitor was asked to agree to, and the answer.
type Consent struct {
	Purpose     string     `json:"purpose"`
	Given       bool       `json:"given"`
	Text        string     `json:"text,omitempty"`        // the wording; empty if the client did not say
	SiteWording bool       `json:"siteWording"`           // whether it was the wording of the CMS then
	WithdrawnAt *time.Time `json:"withdrawnAt,omitempty"` // nil if it was not
}

// Answer returns the answer, such as "given".
func (c Consent) Answer() string {
	switch {
	case c.WithdrawnAt != nil:
		return "withdrawn " + c.WithdrawnAt.UTC().Format(time.DateOnly)
	case !c.Given:
		return "not given"
	case !c.SiteWording:
		return "given, not to the site's wording"
	}
	return "given"
}

// ConsentText returns some answers on one line.
func ConsentText(consents []Consent) string {
	texts := make([]string, len(consents))
	for i, c := range consents {
		texts[i] = c.Purpose + ": " + c.Answer()
	}
	return strings.Join(texts, "; ")
}

// Attribution is where a visitor came from, as far as the client knows. Referrer and
// LandingPage are addresses without a query.
type Attribution struct {
	Source      string `json:"source,omitempty"`
	Medium      string `json:"medium,omitempty"`
	Campaign    string `json:"campaign,omitempty"`
	Term        string `json:"term,omitempty"`
	Content     string `json:"content,omitempty"`
	Referrer    string `json:"referrer,omitempty"`
	LandingPage string `json:"landingPage,omitempty"`
}

// Values lists the texts of the attribution.
func (a Attribution) Values() []string {
	return []string{a.Source, a.Medium, a.Campaign, a.Term, a.Content, a.Referrer, a.LandingPage}
}

// String returns the texts of the attribution on one line.
func (a Attribution) String() string {
	return strings.Join(slices.DeleteFunc(a.Values(), func(s string) bool { return s == "" }), " · ")
}

// Touches returns the first and the last attribution of a lead, given what came with it. An
// empty one replaces nothing, and one without a source replaces none.
func (s Session) Touches(sent Attribution) (first, last Attribution) {
	if last = s.LastTouch; sent.Source != "" || last == (Attribution{}) {
		last = sent
	}
	return cmp.Or(s.FirstTouch, last), last
}

// Lead is an accepted quote request. Once it is stored, only InReview, Rejected, Progress,
// Outcome, Owner, Status, Notes and the withdrawal of consents change.
type Lead struct {
	// ID is opaque. It has at least 122 random bits and consists of the characters A-Z
	// a-z 0-9 and -.
	ID         string     `json:"id"`
	SessionID  string     `json:"sessionId"`
	Contact    Contact    `json:"contact"`
	Selections Selections `json:"selections"`
	Estimate   Estimate   `json:"estimate"`

	// PriceStatus says whose price Estimate is. It is empty if the site had no rules for
	// prices.
	PriceStatus PriceStatus `json:"priceStatus,omitempty"`

	// SentEstimate is what the client sent; nil if the site had no rules for prices.
	SentEstimate *Estimate `json:"sentEstimate,omitempty"`

	// Price is what the service computed; nil if it computed nothing.
	Price *Price `json:"price,omitempty"`

	// Message is what the visitor added in words. Its lines end with a line feed.
	Message string `json:"message,omitempty"`

	// Attribution is where the visitor came from at last: the newest with a source.
	// FirstAttribution is the first of the session.
	Attribution      Attribution `json:"attribution,omitzero"`
	FirstAttribution Attribution `json:"firstAttribution,omitzero"`

	// Consents are what the visitor was asked to agree to.
	Consents []Consent `json:"consents,omitempty"`

	Locale      string    `json:"locale,omitempty"` // empty if the visitor named none
	SubmittedAt time.Time `json:"submittedAt"`      // UTC, in whole milliseconds

	// Signals are what is unusual about the lead, such as signs that a program sent it.
	Signals []Signal `json:"signals,omitempty"`

	// InReview means that the lead is delivered only after an operator releases it.
	InReview bool `json:"inReview,omitempty"`

	// Rejected means that an operator rejected the lead, so that it is never delivered.
	Rejected bool `json:"rejected,omitempty"`

	// Progress is how far the deliveries are that decide about the lead: Failed, else
	// Retrying, else Pending if one of them is that. It is Delivered if all have ended.
	Progress DeliveryState `json:"-"`

	// Outcome is what became of the lead. It is for operators: nothing else is told.
	Outcome Outcome `json:"outcome,omitzero"`

	// Owner is the address of the operator whom the lead was given to; empty if there is none.
	// It, Status and Notes never leave the service.
	Owner  string `json:"-"`
	Status Status `json:"-"`

	// Notes are what operators wrote about the lead, the oldest first, where they were asked
	// for.
	Notes []Note `json:"-"`

	// Trace is the W3C traceparent of the request that submitted the lead. It is empty if
	// the request was not traced.
	Trace string `json:"trace,omitempty"`
}

// ConsentText returns the lead's answers on one line.
func (s *Lead) ConsentText() string { return ConsentText(s.Consents) }

// Personal lists the personal data of the lead, which must not appear in logs or errors. The
// SDL marks the same fields with @personal, for viewers and the audit.
func (s *Lead) Personal() []string {
	typed := []string{
		s.SessionID,
		s.Contact.FirstName,
		s.Contact.LastName,
		s.Contact.Email,
		s.Contact.Phone,
		s.Contact.Company,
	}
	typed = append(typed, strings.Split(s.Message, "\n")...)
	for _, c := range s.Consents {
		typed = append(typed, strings.Split(c.Text, "\n")...) // the client's words, whatever they should be
	}
	return slices.Concat(typed, s.Attribution.Values(), s.FirstAttribution.Values())
}

// State is what has become of a lead, as operators see it.
type State string

// The states of leads.
const (
	StateInReview  State = "IN_REVIEW" // it waits for an operator to release or reject it
	StateRejected  State = "REJECTED"  // an operator rejected it
	StateUnderWay  State = "UNDER_WAY" // a delivery has not arrived yet
	StateFailed    State = "FAILED"    // a delivery was rejected by its target, or failed too often
	StateDelivered State = "DELIVERED" // all its deliveries arrived
)

// States lists all states.
func States() []State {
	return []State{StateInReview, StateRejected, StateUnderWay, StateFailed, StateDelivered}
}

// State returns the state of the lead.
func (s *Lead) State() State {
	switch {
	case s.InReview:
		return StateInReview
	case s.Rejected:
		return StateRejected
	case s.Progress == Failed:
		return StateFailed
	case s.Progress == Pending, s.Progress == Retrying:
		return StateUnderWay
	}
	return StateDelivered
}

// Released reports whether the lead is delivered: it is neither in review nor rejected.
func (s *Lead) Released() bool { return !s.InReview && !s.Rejected }

// Status says how far operators are with a lead.
type Status string

// The statuses of leads.
const (
	StatusNew       Status = "NEW"       // work on it has not begun
	StatusContacted Status = "CONTACTED" // the visitor was contacted
	StatusWaiting   Status = "WAITING"   // it waits for the visitor's answer
	StatusClosed    Status = "CLOSED"    // nothing is left to do
)

// Statuses lists all statuses, in their usual order.
func Statuses() []Status {
	return []Status{StatusNew, StatusContacted, StatusWaiting, StatusClosed}
}

// Note is what an operator wrote about a lead. Its lines end with a line feed.
type Note struct {
	Author string    `json:"author"` // who wrote it: stored as the audit names it, and read as it is shown
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
}

// PriceStatus says whose price a range is.
type PriceStatus string

// The statuses of prices.
const (
	Verified    PriceStatus = "VERIFIED"     // the service's, by the rules at that time
	Honoured    PriceStatus = "HONOURED"     // the service's, by rules that had just been replaced
	Unpriced    PriceStatus = "UNPRICED"     // to be confirmed: choices have no price, or all exceed 1e9
	NotVerified PriceStatus = "NOT_VERIFIED" // the client's
)

// Price is how the service priced the choices of a lead.
type Price struct {
	Revision   string      `json:"revision,omitempty"`   // identifies the rules
	ValidUntil string      `json:"validUntil,omitempty"` // last day, in UTC: 2006-01-02
	Lines      []PriceLine `json:"lines,omitempty"`      // add up to the lower bound, unless choices are unpriced
	Unpriced   []string    `json:"unpriced,omitempty"`   // slugs without a price
	// Differs says that the range that was sent is not that price.
	Differs bool `json:"differs,omitempty"`
}

// ToBeAgreed reports whether the lead has no price: its range is nothing, or none of its
// choices has one.
func (s *Lead) ToBeAgreed() bool {
	p := s.Price
	unpriced := p != nil && len(p.Unpriced) > 0 &&
		!slices.ContainsFunc(p.Lines, func(line PriceLine) bool { return line.Slug != "" })
	return s.Estimate.Max == 0 || unpriced
}

// Has reports whether a choice has a price. A nil Price has none.
func (p *Price) Has(field, slug string) bool {
	return p != nil && slices.ContainsFunc(p.Lines, func(l PriceLine) bool { return l.Field == field && l.Slug == slug })
}

// PriceLine is a part of a price: a choice, or the minimum or the rounding, which have no slug.
type PriceLine struct {
	Field  string  `json:"field"`
	Slug   string  `json:"slug,omitempty"`
	Amount float64 `json:"amount"`
}

// Fields of the lines that are no choices.
const (
	LineMinimum  = "minimum"
	LineRounding = "rounding"
)

// Signal is something unusual about a lead, such as a sign that a program may have
// filled in the form.
type Signal string

// Possible signals. Those that also occur with real visitors are weak.
const (
	Honeypot    Signal = "honeypot"     // a field that is invisible to visitors was filled in
	TooFast     Signal = "too_fast"     // submitted too soon after the session's first tracked state
	NoChallenge Signal = "no_challenge" // the token of the bot check is missing or was refused
	Burst       Signal = "burst"        // more leads came from one network than people send
	Untracked   Signal = "untracked"    // the session was never tracked
	Unchecked   Signal = "unchecked"    // the bot check was not reachable

	EstimateMismatch Signal = "estimate_mismatch" // the range that was sent is not the price of the choices
	UnpricedChoice   Signal = "unpriced"          // a choice has no price, or all together exceed 1e9
)

// Weak reports whether the signal alone is no reason for a review.
func (s Signal) Weak() bool {
	return s == Untracked || s == Unchecked || s == EstimateMismatch || s == UnpricedChoice
}

// PDFPath is the address of a lead's PDF summary, relative to the site.
func (s *Lead) PDFPath() string { return "/api/quote/pdf?id=" + s.ID }

// PDFKeys is the beginning of the cache keys of all PDFs.
const PDFKeys = "quote:pdf:"

// PDFKey is the beginning of the cache keys of everything that belongs to the PDFs of one
// lead. An erasure clears these keys, so a cached PDF is served without reading the
// database.
func PDFKey(id string) string { return PDFKeys + id + ":" }

// ReferenceLength is the number of characters of a reference.
const ReferenceLength = 8

// Reference returns the short form of a lead's id that people quote on the phone: its
// first letters and digits in upper case. File names use it too.
func Reference(id string) string {
	id = strings.ToUpper(strings.ReplaceAll(id, "-", ""))
	return id[:min(ReferenceLength, len(id))]
}

// Visit is one tracked state of the calculator. Fields other than SessionID and At may be
// missing, because the visitor is still choosing.
type Visit struct {
	SessionID  string
	Selections Selections
	Estimate   PartialEstimate
	Hints      Hints
	// Attribution is where the visitor came from. It is empty if the client did not say.
	Attribution Attribution
	Locale      string    // empty if the client did not say
	At          time.Time // UTC, in whole milliseconds
}

// PartialEstimate is an estimate whose parts may be unknown.
type PartialEstimate struct {
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Currency string   `json:"currency,omitempty"`
}

// SaveProgress is the purpose of the consent to keeping [Hints].
const SaveProgress = "save_progress"

// Hints are the values that a visitor has typed into the contact form so far.
type Hints struct {
	Email     string `json:"email,omitempty"`
	FirstName string `json:"firstName,omitempty"`
	// Agreed says that the visitor agreed to their being kept.
	Agreed bool `json:"agreed,omitempty"`
	// Consent is the wording of that consent; empty if the client did not say.
	Consent string `json:"consent,omitempty"`
}

// Session is the latest state of a visitor's session.
type Session struct {
	ID         string
	Selections Selections
	Estimate   PartialEstimate
	Hints      Hints
	Locale     string      // empty if the client did not say
	FirstTouch Attribution // where the visitor came from at first
	LastTouch  Attribution // where the visitor came from at last, with a source if any had one
	FirstSeen  time.Time
	LastSeen   time.Time
	Visits     int64 // number of tracked states
}
