// Package quote holds the types that all integrations share: what a visitor chose in the
// calculator and what was submitted. It imports the standard library only.
package quote

import "time"

// Contact is who asks for a quote. Phone and Company may be empty.
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

// Estimate is the range shown to the visitor, in units of Currency (ISO 4217).
type Estimate struct {
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Currency string  `json:"currency"`
}

// Submission is an accepted quote request: a lead. Once stored, only InReview and Rejected change.
type Submission struct {
	// ID is opaque, with at least 122 random bits, of the characters A-Z a-z 0-9 - only.
	ID          string     `json:"id"`
	SessionID   string     `json:"sessionId"`
	Contact     Contact    `json:"contact"`
	Selections  Selections `json:"selections"`
	Estimate    Estimate   `json:"estimate"`
	Locale      string     `json:"locale,omitempty"` // empty: the visitor named none
	SubmittedAt time.Time  `json:"submittedAt"`      // UTC, whole milliseconds
	// Signals are signs that a program may have sent it.
	Signals []Signal `json:"signals,omitempty"`
	// InReview says that it is delivered only after an operator releases it.
	InReview bool `json:"inReview,omitempty"`
	// Rejected says that an operator rejected it, so that it is never delivered.
	Rejected bool `json:"rejected,omitempty"`
	// Trace is the W3C traceparent of the request that submitted it; empty: not traced.
	Trace string `json:"trace,omitempty"`
}

// Personal lists the personal data of the submission, which must not appear in logs and errors.
func (s *Submission) Personal() []string {
	return []string{
		s.SessionID,
		s.Contact.FirstName,
		s.Contact.LastName,
		s.Contact.Email,
		s.Contact.Phone,
		s.Contact.Company,
	}
}

// Signal is a sign that a program may have filled in the form.
type Signal string

// The signals. Untracked and Unchecked are weak: they also occur with real visitors.
const (
	Honeypot    Signal = "honeypot"     // a field that people don't see was filled in
	TooFast     Signal = "too_fast"     // submitted too soon after the session's first tracked state
	NoChallenge Signal = "no_challenge" // the token of the bot check is missing or was refused
	Untracked   Signal = "untracked"    // the session was never tracked
	Unchecked   Signal = "unchecked"    // the bot check was not reachable
)

// Weak reports whether a signal alone is no reason for a review.
func (s Signal) Weak() bool { return s == Untracked || s == Unchecked }

// PDFPath is the address of a submission's PDF summary, relative to the site.
func (s *Submission) PDFPath() string { return "/api/quote/pdf?id=" + s.ID }

// Visit is one tracked state of the calculator. Everything but SessionID and At may
// be missing: the visitor is still choosing.
type Visit struct {
	SessionID  string
	Selections Selections
	Estimate   PartialEstimate
	Hints      Hints
	At         time.Time // UTC, whole milliseconds
}

// PartialEstimate is an estimate of which parts may not be known yet.
type PartialEstimate struct {
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Currency string   `json:"currency,omitempty"`
}

// Hints are what a visitor typed of the contact form so far.
type Hints struct {
	Email     string `json:"email,omitempty"`
	FirstName string `json:"firstName,omitempty"`
}

// Session is the latest state of a visitor's session.
type Session struct {
	ID         string
	Selections Selections
	Estimate   PartialEstimate
	Hints      Hints
	FirstSeen  time.Time
	LastSeen   time.Time
	Visits     int64 // number of tracked states
}
