package store

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/lead"
)

// ErrUnderWay means that a delivery has not ended, or that it is being tried.
var ErrUnderWay = errors.New("a delivery of this lead to this target is under way")

// AttemptLost is how long after its start an attempt that never reported back is over: the
// process that made it has ended.
const AttemptLost = 45 * time.Second

// Deliveries keeps what became of each delivery. The jobs of the queue only work on them.
type Deliveries interface {
	// ListDeliveries returns the deliveries that a filter selects, in the order of their ids.
	ListDeliveries(ctx context.Context, f DeliveryFilter) ([]lead.Delivery, error)

	// CountDeliveries counts the deliveries that have not arrived, by target and state, in
	// the order of [lead.Targets]. One that is running counts as it did before.
	CountDeliveries(ctx context.Context) ([]DeliveryCount, error)

	// RetryDelivery makes a delivery due now; one that has ended is sent again. A delivery
	// that is running is left alone. It returns ErrNotFound if the id is unknown.
	RetryDelivery(ctx context.Context, id int64) error

	// ResendLead delivers a stored lead to a target again. It returns ErrUnderWay if a
	// delivery to it has not ended, and ErrNotFound if the lead is unknown. From now on the
	// delivery is for a corrected address, unless that is empty.
	ResendLead(ctx context.Context, leadID string, target lead.Target, corrected string) error

	// RemoveDeliveries removes the deliveries of leads, except for those that are running.
	RemoveDeliveries(ctx context.Context, leadIDs []string) (removed, running int, err error)
}

// DeliveryFilter narrows a listing of deliveries. Zero fields don't narrow.
type DeliveryFilter struct {
	ID     int64
	States []lead.DeliveryState
	Target lead.Target
	Leads  []string
	Newest bool  // newest first, else oldest first
	After  int64 // only deliveries after the one with this ID; 0: from the first
	Limit  int   // 0: all
}

// DeliveryCount is the number of deliveries to a target in a state.
type DeliveryCount struct {
	Target lead.Target
	State  lead.DeliveryState // Pending, Retrying or Failed
	Number int64
	Oldest time.Time // when the oldest of them was created; zero if there are none
}

// Attempts is how the workers of the queue take part in deliveries.
type Attempts interface {
	// BeginAttempt returns a lead and its delivery to a target, with one attempt more. It
	// returns ErrNotFound if there is nothing to do for a job: the delivery has ended, it
	// is another job's, or the lead was erased. It returns ErrUnderWay if another attempt
	// is running.
	BeginAttempt(
		ctx context.Context, leadID string, target lead.Target, job int64,
	) (lead.Lead, lead.Delivery, error)

	// NoteArrived stores the parts of a delivery that have arrived, during an attempt.
	NoteArrived(ctx context.Context, d lead.Delivery) error

	// EndAttempt stores what became of an attempt. If the delivery ended with it, its job
	// is completed in the same transaction; ctx is that of the job. Of a delivery that is
	// another job's by now nothing is stored.
	EndAttempt(ctx context.Context, d lead.Delivery) error
}

// Jobs is the queue within a transaction of the store.
type Jobs interface {
	// Enqueue inserts a job for each delivery of some leads, and returns the deliveries.
	// Without targets these are the ones that new leads are delivered to, and those that
	// end as [lead.NotSent] at once, which have no job.
	Enqueue(ctx context.Context, leadIDs []string, targets ...lead.Target) ([]lead.Delivery, error)

	// Complete completes a job that is running. ctx is that of the job.
	Complete(ctx context.Context, job int64) error
}

// Queue returns the queue as it takes part in a transaction of the store. TX is the driver's
// transaction type.
type Queue[TX any] func(tx TX) Jobs
