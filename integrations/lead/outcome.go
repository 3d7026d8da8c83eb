package lead

import "time"

// Outcome is the result of a lead, such as a sale. The zero value means that it is
// unknown.
type Outcome struct {
	Value OutcomeValue `json:"value"`

	// Amount is the value of a won lead, in units of Currency (ISO 4217). If it is
	// unknown, Amount is nil and Currency is empty.
	Amount   *float64 `json:"amount,omitempty"`
	Currency string   `json:"currency,omitempty"`

	// LossReason and LossNote state why the lead was lost. They are empty if that is unknown
	// or it was not lost.
	LossReason LossReason `json:"lossReason,omitempty"`
	LossNote   string     `json:"lossNote,omitempty"`

	At time.Time `json:"at"` // UTC, in whole milliseconds

	// By is the operator who recorded it: stored in the audit's form, and read in the
	// form that is displayed. It is empty if the CRM reported it.
	By string `json:"by,omitempty"`
}

// OutcomeValue is a kind of outcome.
type OutcomeValue string

// The values of outcomes.
const (
	Qualified OutcomeValue = "QUALIFIED" // worth an offer
	Won       OutcomeValue = "WON"       // became a customer
	Lost      OutcomeValue = "LOST"      // will not become one
)

// LossReason is a kind of reason why a lead was lost.
type LossReason string

// The reasons of losses.
const (
	LostByPrice      LossReason = "PRICE"      // too expensive
	LostToCompetitor LossReason = "COMPETITOR" // another firm was chosen
	LostPostponed    LossReason = "POSTPONED"  // not now, or given up
	LostSilent       LossReason = "NO_ANSWER"  // no longer answers
	LostOtherwise    LossReason = "OTHER"      // another reason
)

// Result is what became of a lead that was released.
type Result string

// The results of leads.
const (
	ResultOpen Result = "OPEN" // neither won nor lost yet
	ResultWon  Result = "WON"
	ResultLost Result = "LOST"
)
