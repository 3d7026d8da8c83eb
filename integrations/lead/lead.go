// Package lead holds the types that all integrations share: a visitor's choices in the
// calculator and the submitted quote request. It imports only the standard library.
package lead

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
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

// PhoneLink returns the tel: address of the telephone number, or an empty string.
func (c Contact) PhoneLink() string { return TelephoneLink(c.Phone) }

// Selections are slugs chosen in the calculator. Only ProjectType is always set.
type Selections struct {
	ProjectType string   `json:"projectType,omitempty"`
	Features    []string `json:"features,omitempty"`
	Complexity  string   `json:"complexity,omitempty"`
	Timeline    string   `json:"timeline,omitempty"`

	// Quantities are those of chosen slugs, each once.
	Quantities []Quantity `json:"quantities,omitempty"`
}

// Chosen reports whether a slug is among the choices.
func (s *Selections) Chosen(slug string) bool {
	one := []string{s.ProjectType, s.Complexity, s.Timeline}
	return slug != "" && (slices.Contains(one, slug) || slices.Contains(s.Features, slug))
}

// Quantity returns the quantity of a slug. Its Count is 0 if there is none.
func (s *Selections) Quantity(slug string) Quantity {
	for _, q := range s.Quantities {
		if q.Slug == slug {
			return q
		}
	}
	return Quantity{Slug: slug}
}

// QuantityText returns the quantities on one line, such as "cleaning=120 m²; windows=8".
func (s *Selections) QuantityText() string {
	texts := make([]string, len(s.Quantities))
	for i, q := range s.Quantities {
		texts[i] = strings.TrimSpace(q.Slug + "=" + strconv.FormatFloat(q.Count, 'f', -1, 64) +
			" " + q.Unit())
	}
	return strings.Join(texts, "; ")
}

// Quantity is the number of units of a choice, with at most two decimals.
type Quantity struct {
	Slug  string  `json:"slug"`
	Count float64 `json:"count"`

	// Units is the label of the unit when the lead was submitted; empty if it is unknown.
	Units Localized `json:"unit,omitempty"`
}

// Unit returns the label of the unit in the default language.
func (q Quantity) Unit() string { return q.Units.In(defaultLanguage) }

// Localized is a string by language.
type Localized map[string]string

// defaultLanguage is the language that operators and other systems read.
const defaultLanguage = "en"

// In returns the string in a language, or else in the default one, or else in any.
func (l Localized) In(language string) string {
	text := cmp.Or(l[language], l[defaultLanguage])
	for _, other := range slices.Sorted(maps.Keys(l)) {
		text = cmp.Or(text, l[other])
	}
	return text
}

// Estimate is a range, in units of Currency (ISO 4217).
type Estimate struct {
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Currency string  `json:"currency"`
}

// Consent is a request for consent and the visitor's answer.
type Consent struct {
	Purpose     string     `json:"purpose"`
	Given       bool       `json:"given"`
	Text        string     `json:"text,omitempty"`        // the wording; empty if the client did not send it
	SiteWording bool       `json:"siteWording"`           // whether Text was the wording in the CMS at that time
	WithdrawnAt *time.Time `json:"withdrawnAt,omitempty"` // nil if it was not withdrawn
}

// answer returns the answer in words, such as "given", with the day of a withdrawal in a zone.
func (c Consent) answer(zone *time.Location) string {
	switch {
	case c.WithdrawnAt != nil:
		return "withdrawn " + c.WithdrawnAt.In(zone).Format(time.DateOnly)
	case !c.Given:
		return "not given"
	case !c.SiteWording:
		return "given, not to the site's wording"
	}
	return "given"
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

// Values lists the values of the attribution.
func (a Attribution) Values() []string {
	return []string{a.Source, a.Medium, a.Campaign, a.Term, a.Content, a.Referrer, a.LandingPage}
}

// String returns the values of the attribution on one line.
func (a Attribution) String() string {
	return strings.Join(slices.DeleteFunc(a.Values(), func(s string) bool { return s == "" }), " · ")
}

// Lead is an accepted quote request. Once it is stored, only InReview, Rejected,
// Progress, Outcome, Owner, Status, Notes, Deliveries, the request for deletion and the
// withdrawal of consents change.
type Lead struct {
	// ID is opaque. It has at least 122 random bits and consists of the characters A-Z
	// a-z 0-9 and -.
	ID         string     `json:"id"`
	SessionID  string     `json:"sessionId"`
	Contact    Contact    `json:"contact"`
	Selections Selections `json:"selections"`
	Estimate   Estimate   `json:"estimate"`

	// PriceStatus is the origin of Estimate. It is empty if the site had no price rules.
	PriceStatus PriceStatus `json:"priceStatus,omitempty"`

	// SentEstimate is the client's estimate; nil if the site had no price rules.
	SentEstimate *Estimate `json:"sentEstimate,omitempty"`

	// Price is the service's calculation; nil if there was none.
	Price *Price `json:"price,omitempty"`

	// Message is the visitor's free text. Its lines end with a line feed.
	Message string `json:"message,omitempty"`

	// Attribution is the latest attribution of the session that has a source, or else the
	// latest. FirstAttribution is the first of the session.
	Attribution      Attribution `json:"attribution,omitzero"`
	FirstAttribution Attribution `json:"firstAttribution,omitzero"`

	// Consents are the visitor's answers to the requests for consent.
	Consents []Consent `json:"consents,omitempty"`

	Locale      string    `json:"locale,omitempty"` // empty if the client sent none
	SubmittedAt time.Time `json:"submittedAt"`      // UTC, in whole milliseconds

	// Signals are unusual properties of the lead, such as signs that a bot sent it.
	Signals []Signal `json:"signals,omitempty"`

	// InReview means that the lead is delivered only after an operator releases it.
	InReview bool `json:"inReview,omitempty"`

	// Rejected means that an operator rejected the lead, so that it is never delivered.
	Rejected bool `json:"rejected,omitempty"`

	// Progress summarizes the deliveries that decide the state of the lead: the first of
	// Failed, Retrying and Pending that applies to one of them, else Delivered.
	Progress DeliveryState `json:"-"`

	// Outcome is the result of the lead. It is shown to operators only and never sent to
	// another system.
	Outcome Outcome `json:"outcome,omitzero"`

	// Owner is the address of the operator that the lead is assigned to; empty:
	// unassigned. Owner, Status and Notes are never sent to another system.
	Owner  string `json:"-"`
	Status Status `json:"-"`

	// DeletionRequestedAt is when the visitor asked for the deletion of the lead on its
	// page, and DeletionDeclinedAt when an operator declined that, with a reason for the
	// visitor; zero: never. They are never sent to another system.
	DeletionRequestedAt time.Time `json:"-"`
	DeletionDeclinedAt  time.Time `json:"-"`
	DeletionReason      string    `json:"-"`

	// FollowUpAt is from when an operator wants to come back to the lead, and AnsweredAt when
	// a person first answered it; zero: never. They are never sent to another system.
	FollowUpAt time.Time `json:"-"`
	AnsweredAt time.Time `json:"-"`

	// Texts are the firm's texts that the lead was accepted with, encoded; empty: none.
	// They are not loaded in listings.
	Texts string `json:"-"`

	// Notes are the operators' notes about the lead, the oldest first.
	Notes []Note `json:"-"`

	// Deliveries are the deliveries of the lead, the oldest first.
	Deliveries []Delivery `json:"-"`

	// Trace is the W3C traceparent of the request that submitted the lead. It is empty if
	// the request was not traced.
	Trace string `json:"trace,omitempty"`
}

// ConsentText returns the answers to consents on one line, with days in a zone.
func (l *Lead) ConsentText(zone *time.Location) string {
	texts := make([]string, len(l.Consents))
	for i, c := range l.Consents {
		texts[i] = c.Purpose + ": " + c.answer(zone)
	}
	return strings.Join(texts, "; ")
}

// Personal lists the personal data of the lead, which must not appear in logs or errors.
// The SDL marks the same fields with @personal, for viewers and the audit.
func (l *Lead) Personal() []string {
	typed := []string{
		l.SessionID,
		l.Contact.FirstName,
		l.Contact.LastName,
		l.Contact.Email,
		l.Contact.Phone,
		l.Contact.Company,
	}
	typed = append(typed, strings.Split(l.Message, "\n")...)
	for _, c := range l.Consents {
		typed = append(typed, strings.Split(c.Text, "\n")...) // the client may have sent any text
	}
	return slices.Concat(typed, l.Attribution.Values(), l.FirstAttribution.Values())
}

// Address returns the visitor's address: the one that an operator entered as a correction,
// or else the one that was typed.
func (l *Lead) Address() string {
	for _, d := range l.Deliveries {
		if d.Recipient != "" {
			return d.Recipient
		}
	}
	return l.Contact.Email
}

// DeletionOpen reports whether the visitor asked for the deletion of the lead and no
// operator has declined that.
func (l *Lead) DeletionOpen() bool {
	return !l.DeletionRequestedAt.IsZero() && l.DeletionDeclinedAt.IsZero()
}

// State is the state of a lead, as operators see it.
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
func (l *Lead) State() State {
	switch {
	case l.InReview:
		return StateInReview
	case l.Rejected:
		return StateRejected
	case l.Progress == Failed:
		return StateFailed
	case l.Progress == Pending, l.Progress == Retrying:
		return StateUnderWay
	}
	return StateDelivered
}

// Released reports whether the lead is delivered: it is neither in review nor rejected.
func (l *Lead) Released() bool { return !l.InReview && !l.Rejected }

// Status is the progress of the operators' work on a lead.
type Status string

// The statuses of leads.
const (
	StatusNew       Status = "NEW"       // no operator has begun to work on it
	StatusContacted Status = "CONTACTED" // the visitor was contacted
	StatusWaiting   Status = "WAITING"   // it waits for the visitor's answer
	StatusClosed    Status = "CLOSED"    // nothing is left to do
)

// Statuses lists all statuses, in their usual order.
func Statuses() []Status {
	return []Status{StatusNew, StatusContacted, StatusWaiting, StatusClosed}
}

// Note is an operator's note about a lead. The lines of Text end with a line feed.
type Note struct {
	// Author is the operator who wrote it: stored in the audit's form, and read in the
	// form that is displayed.
	Author string    `json:"author"`
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
}

// Signal is something unusual about a lead, such as a sign that a program may have
// filled in the form.
type Signal string

// Possible signals. Those that also occur with real visitors are weak.
const (
	Honeypot    Signal = "honeypot"     // a field that is invisible to visitors was filled in
	TooFast     Signal = "too_fast"     // submitted too soon after the session's first tracked state
	NoChallenge Signal = "no_challenge" // the token of the bot check is missing or was refused
	Burst       Signal = "burst"        // more leads came from one network than people would send
	Untracked   Signal = "untracked"    // the session was never tracked
	Unchecked   Signal = "unchecked"    // the bot check was not reachable

	EstimateMismatch Signal = "estimate_mismatch" // the client's range is not the price of the choices
	UnpricedChoice   Signal = "unpriced"          // a choice has no price, or all together exceed 1e9
)

// Weak reports whether the signal alone does not put a lead in review.
func (s Signal) Weak() bool {
	return s == Untracked || s == Unchecked || s == EstimateMismatch || s == UnpricedChoice
}

// PDFPath is the address of a lead's PDF summary, relative to the site.
func (l *Lead) PDFPath() string { return "/api/quote/pdf?id=" + l.ID }

// PagePath is the address of a lead's page, relative to the site.
func (l *Lead) PagePath() string { return "/api/quote/page?id=" + l.ID }

// PDFKeys is the prefix of the cache keys of all PDFs.
const PDFKeys = "quote:pdf:"

// PDFKey is the prefix of all cache keys for the PDFs of one lead. An erasure clears
// these keys, so a cached PDF can be served without reading the database.
func PDFKey(id string) string { return PDFKeys + id + ":" }

// ReferenceLength is the number of characters of a reference.
const ReferenceLength = 8

// Reference returns the short form of a lead's id that people quote on the phone: its
// first letters and digits in upper case. File names use it too.
func Reference(id string) string {
	id = strings.ToUpper(strings.ReplaceAll(id, "-", ""))
	return id[:min(ReferenceLength, len(id))]
}
