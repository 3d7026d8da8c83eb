package riverqueue

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/delivery"
)

// kind is River's name for our jobs. The queue a job is in names its target.
const kind = "delivery"

// args are the arguments of a delivery's job: no more than the submission's id, so
// that no personal data lies in the queue's tables.
type args struct {
	Submission string `json:"submission"`
}

// Kind tells River which worker takes the job.
func (args) Kind() string { return kind }

// Names of our entries in a job's metadata.
const (
	metaHeld   = "held"   // redacted reason why the job waits for its target
	metaForced = "forced" // an operator wants it tried now, whatever the circuit says
	metaEarly  = "early"  // it was brought forward as a probe; when it was due, RFC 3339
)

// meta are our entries in a job's metadata.
type meta struct {
	Held   string     `json:"held"`
	Forced bool       `json:"forced"`
	Early  *time.Time `json:"early"`
}

func metaOf(row *rivertype.JobRow) (meta, error) {
	var m meta
	if err := json.Unmarshal(row.Metadata, &m); err != nil {
		return meta{}, fmt.Errorf("reading the metadata of delivery %d: %w", row.ID, err)
	}
	return m, nil
}

// underWay are River's states of a delivery that isn't finished.
func underWay() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}
}

// insertOpts puts a job into its target's queue, where no other of the same
// submission may be under way.
func (c *core) insertOpts(target delivery.Target) *river.InsertOpts {
	return &river.InsertOpts{
		Queue:       string(target),
		MaxAttempts: c.MaxAttempts,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByQueue: true, ByState: underWay()},
	}
}

// stateOf translates River's state of a job.
func stateOf(row *rivertype.JobRow) delivery.State {
	switch row.State {
	case rivertype.JobStateRunning:
		return delivery.Running
	case rivertype.JobStateCompleted:
		return delivery.Delivered
	case rivertype.JobStateCancelled, rivertype.JobStateDiscarded:
		return delivery.Failed
	}
	if row.Attempt > 0 {
		return delivery.Retrying
	}
	return delivery.Pending
}

// inState is the SQL condition of a state, understood by both databases.
func inState(state delivery.State) string {
	switch state {
	case delivery.Pending:
		return "(state IN ('available','pending','scheduled','retryable') AND attempt = 0)"
	case delivery.Running:
		return "(state = 'running')"
	case delivery.Retrying:
		return "(state IN ('available','pending','scheduled','retryable') AND attempt > 0)"
	case delivery.Delivered:
		return "(state = 'completed')"
	case delivery.Failed:
		return "(state IN ('cancelled','discarded'))"
	}
	return "(1 = 0)"
}

// unfinished is the SQL condition of deliveries under way.
const unfinished = "state IN ('available','pending','scheduled','retryable','running')"
