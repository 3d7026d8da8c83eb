package lead

import "time"

// Outcome is what became of a lead. The zero value means that it is not known.
type Outcome struct {
	Value OutcomeValue `json:"value"`

	// Amount is what a won lead brings, in units of Currency (ISO 4217). It is nil, and
	// Currency empty, if that is not known.
	Amount   *float64 `json:"amount,omitempty"`
	Currency string   `json:"currency,omitempty"`

	At time.Time `json:"at"` // UTC, in whole milliseconds

	// By is the operator who said so: stored as the audit names it, and read as it is shown.
	// It is empty if the CRM said so.
	By string `json:"by,omitempty"`
}

// OutcomeValue says what became of a lead.
type OutcomeValue string

// The values of outcomes.
const (
	Qualified OutcomeValue = "QUALIFIED" // worth an offer
	Won       OutcomeValue = "WON"       // became a customer
	Lost      OutcomeValue = "LOST"      // will not become one
)
