package store

import (
	"context"
	"errors"
	"time"

	"siteapi/integrations/lead"
)

// ErrUnderWay means that a delivery has not ended, or that an attempt at it is running.
var ErrUnderWay = errors.New("a delivery of this lead to this target is under way")

// AttemptLost is the age at which an attempt without a recorded result is considered
// over, because its process must have died.
const AttemptLost = 45 * time.Second

// Deliveries stores the state of each delivery. The queue's jobs only act on it.
type Deliveries interface {
	// ListDeliveries returns the deliveries that match a filter, ordered by id.
	ListDeliveries(ctx context.Context, f DeliveryFilter) ([]lead.Delivery, error)

	// CountDeliveries counts the deliveries that have not arrived, by target and state,
	// in the order of [lead.Targets]. A running delivery counts under its previous state.
	CountDeliveries(ctx context.Context) ([]DeliveryCount, error)

	// RetryDelivery makes a delivery due now; one that has ended is sent again. It leaves
	// a running delivery alone and returns ErrNotFound if the id is unknown.
	RetryDelivery(ctx context.Context, id int64) error

	// ResendLead delivers a stored lead to a target again. It returns ErrUnderWay if a
	// delivery to the target has not ended, and ErrNotFound if the lead is unknown. A
	// non-empty corrected address becomes the recipient of the delivery from now on.
	ResendLead(ctx context.Context, leadID string, target lead.Target, corrected string) error

	// RemoveDeliveries removes the deliveries of leads, except for running ones.
	RemoveDeliveries(ctx context.Context, leadIDs []string) (removed, running int, err error)
}

// DeliveryFilter narrows a listing of deliveries. Zero fields are ignored.
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

// Attempts is the part of the store with which the queue's workers carry out deliveries.
type Attempts interface {
	// BeginAttempt starts an attempt and returns the lead and its delivery, with the
	// attempt counted. It returns ErrNotFound if the job has nothing to do: the delivery
	// has ended or belongs to another job, or the lead was erased. It returns ErrUnderWay
	// if another attempt is running.
	BeginAttempt(
		ctx context.Context, leadID string, target lead.Target, job int64,
	) (lead.Lead, lead.Delivery, error)

	// NoteArrived stores, during an attempt, which parts of a delivery have arrived.
	NoteArrived(ctx context.Context, d lead.Delivery) error

	// EndAttempt stores the result of an attempt. If the delivery has ended, its job is
	// completed in the same transaction; ctx must be the job's context. If the delivery
	// belongs to another job by now, nothing is stored.
	EndAttempt(ctx context.Context, d lead.Delivery) error
}

// Jobs is the queue within a transaction of the store.
type Jobs interface {
	// Enqueue inserts a job for each delivery of the leads and returns the deliveries.
	// Without targets, these are the deliveries of new leads, including those that end
	// immediately as [lead.NotSent] and have no job.
	Enqueue(ctx context.Context, leadIDs []string, targets ...lead.Target) ([]lead.Delivery, error)

	// Complete marks a running job as completed. ctx must be the job's context.
	Complete(ctx context.Context, job int64) error
}

// Queue binds the queue to a transaction of the store. TX is the driver's transaction
// type.
type Queue[TX any] func(tx TX) Jobs
