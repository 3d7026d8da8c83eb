package lead

import (
	"cmp"
	"time"
)

// Visit is one tracked state of the calculator. Fields other than SessionID and At may be
// missing, because the visitor is still choosing.
type Visit struct {
	SessionID  string
	Selections Selections
	Estimate   PartialEstimate
	Hints      Hints
	// Attribution is where the visitor came from. It is empty if the client did not send
	// it.
	Attribution Attribution
	Locale      string    // empty if the client sent none
	At          time.Time // UTC, in whole milliseconds
}

// PartialEstimate is an estimate whose parts may be unknown.
type PartialEstimate struct {
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Currency string   `json:"currency,omitempty"`
}

// SaveProgress is the purpose of the consent to storing [Hints].
const SaveProgress = "save_progress"

// Hints are the values that a visitor has typed into the contact form so far.
type Hints struct {
	Email     string `json:"email,omitempty"`
	FirstName string `json:"firstName,omitempty"`
	// Agreed reports whether the visitor consented to storing them.
	Agreed bool `json:"agreed,omitempty"`
	// Consent is the wording of that consent; empty if the client did not send it.
	Consent string `json:"consent,omitempty"`
}

// Session is the latest state of a visitor's session.
type Session struct {
	ID         string
	Selections Selections
	Estimate   PartialEstimate
	Hints      Hints
	Locale     string      // empty if the client sent none
	FirstTouch Attribution // first attribution
	LastTouch  Attribution // latest attribution that has a source, or else the latest
	FirstSeen  time.Time
	LastSeen   time.Time
	Visits     int64 // number of tracked states
}

// Touches returns the first and the last attribution of a lead that was submitted with
// the attribution sent. An attribution without a source replaces no earlier one.
func (s Session) Touches(sent Attribution) (first, last Attribution) {
	if last = s.LastTouch; sent.Source != "" || last == (Attribution{}) {
		last = sent
	}
	return cmp.Or(s.FirstTouch, last), last
}
