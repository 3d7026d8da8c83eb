// Package lead holds the types that all integrations share: a visitor's choices in the
// calculator and the submitted quote request. It imports only the standard library.
package lead

import (
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

// Estimate is the range shown to the visitor, in units of Currency (ISO 4217).
type Estimate struct {
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Currency string  `json:"currency"`
}

// Lead is an accepted quote request. Once it is stored, only
// InReview and Rejected change.
type Lead struct {
	// ID is opaque. It has at least 122 random bits and consists of the characters A-Z
	// a-z 0-9 and -.
	ID          string     `json:"id"`
	SessionID   string     `json:"sessionId"`
	Contact     Contact    `json:"contact"`
	Selections  Selections `json:"selections"`
	Estimate    Estimate   `json:"estimate"`
	Locale      string     `json:"locale,omitempty"` // empty if the visitor named none
	SubmittedAt time.Time  `json:"submittedAt"`      // UTC, in whole milliseconds

	// Signals are signs that a program may have sent the request.
	Signals []Signal `json:"signals,omitempty"`

	// InReview means that the lead is delivered only after an operator releases it.
	InReview bool `json:"inReview,omitempty"`

	// Rejected means that an operator rejected the lead, so that it is never delivered.
	Rejected bool `json:"rejected,omitempty"`

	// Trace is the W3C traceparent of the request that submitted the lead. It is empty if
	// the request was not traced.
	Trace string `json:"trace,omitempty"`
}

// Personal lists the personal data of the submission, which must not appear in logs or
// errors.
func (s *Lead) Personal() []string {
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

// Possible signals. Untracked and Unchecked are weak because they also occur with real
// visitors.
const (
	Honeypot    Signal = "honeypot"     // a field that is invisible to visitors was filled in
	TooFast     Signal = "too_fast"     // submitted too soon after the session's first tracked state
	NoChallenge Signal = "no_challenge" // the token of the bot check is missing or was refused
	Untracked   Signal = "untracked"    // the session was never tracked
	Unchecked   Signal = "unchecked"    // the bot check was not reachable
)

// Weak reports whether the signal alone is no reason for a review.
func (s Signal) Weak() bool { return s == Untracked || s == Unchecked }

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
	At         time.Time // UTC, in whole milliseconds
}

// PartialEstimate is an estimate whose parts may be unknown.
type PartialEstimate struct {
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Currency string   `json:"currency,omitempty"`
}

// Hints are the values that a visitor has typed into the contact form so far.
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
