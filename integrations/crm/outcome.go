package crm

import (
	"context"
	"iter"
	"time"

	"siteapi/integrations/lead"
)

// Outcomes is implemented by drivers whose CRM records outcomes of deals.
type Outcomes interface {
	// Outcomes yields pages of the outcomes that changed at or after since, in the order
	// of the last changes of their deals. It may yield an outcome more than once, and
	// leaves out deals that are deleted or merged during the iteration. It waits for short
	// rate limits.
	Outcomes(ctx context.Context, since time.Time) iter.Seq2[OutcomePage, error]
}

// OutcomePage is a page of outcomes.
type OutcomePage struct {
	Outcomes []Outcome
	Until    time.Time // later pages contain no change before this time, by the CRM's clock
}

// Outcome is the outcome of the deal of a lead. Its value is empty while the deal has none.
type Outcome struct {
	LeadID string
	lead.Outcome
}
