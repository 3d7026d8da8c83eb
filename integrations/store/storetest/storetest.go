// Package storetest is the conformance suite of the store: what every driver must
// do, concurrency and trouble included.
package storetest

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"siteapi/integrations/quote"
	"siteapi/integrations/store"
)

// Store is what the suite asks of a driver.
type Store interface {
	store.Quotes
	store.Archive
	io.Closer
}

// Exec runs one statement in the transaction that a hook was called in.
type Exec func(query string) error

// Hooks stand for the queue of deliveries. nil: none.
type Hooks struct {
	Enqueue func(ctx context.Context, exec Exec, submissionIDs []string) error
	Cancel  func(ctx context.Context, exec Exec, submissionID string) error
	// UnderWay is told of submissions and returns those whose deliveries aren't finished.
	UnderWay func(ctx context.Context, exec Exec, submissionIDs []string) ([]string, error)
}

// Subject is a fresh, empty database of a driver.
type Subject struct {
	// Open opens one more store on the database, as another instance of the service
	// would.
	Open func(ctx context.Context, h Hooks) (Store, error)
	// Exec runs a statement in the database, past the store.
	Exec func(t testing.TB, query string)
	// Migrations is the folder of the driver's migrations.
	Migrations string
	// Strings runs a query for one column of text, past the store.
	Strings func(t testing.TB, query string) []string
}

// Run runs the suite. fresh is called once per case.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"track/latest state":            trackLatest,
		"track/partial state":           trackPartial,
		"track/late arrival":            trackLate,
		"track/concurrent":              trackConcurrent,
		"submit/round trip":             submitRoundTrip,
		"submit/repeated content":       submitRepeatedContent,
		"submit/repeated key":           submitRepeatedKey,
		"submit/key with other content": submitOtherContent,
		"submit/same content at once":   submitContentAtOnce,
		"submit/same key at once":       submitKeyAtOnce,
		"submit/deliveries":             submitDeliveries,
		"submit/failing deliveries":     submitFailingDeliveries,
		"submit/id taken":               submitTakenID,
		"hold/kept back":                heldKeptBack,
		"hold/released":                 heldReleased,
		"hold/failing deliveries":       heldFailingDeliveries,
		"hold/repeated":                 heldRepeated,
		"list/submissions":              listSubmissions,
		"list/sessions":                 listSessions,
		"list/stopped early":            listStopped,
		"prune":                         prune,
		"prune/submissions":             pruneSubmissions,
		"prune/failing":                 pruneFailing,
		"hints":                         hints,
		"hints/many":                    hintsOfMany,
		"hints/while they change":       hintsWhileTracked,
		"erase":                         erase,
		"erase/failing cancellation":    eraseFailing,
		"request ended":                 requestEnded,
		"ping":                          ping,
		"close":                         closing,
		"start/many at once":            startMany,
		"start/newer tables":            startNewer,
		"start/released tables":         startReleased,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// MustOpen opens a store until the end of the test.
func (s Subject) MustOpen(t testing.TB, h Hooks) Store {
	t.Helper()
	db, err := s.Open(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return db
}

// jobs makes hooks that keep a table of jobs, one per submission.
func (s Subject) jobs(t testing.TB) Hooks {
	t.Helper()
	s.Exec(t, `CREATE TABLE jobs (submission_id varchar(200) NOT NULL)`)
	return Hooks{
		Enqueue: func(_ context.Context, exec Exec, ids []string) error {
			for _, id := range ids {
				if err := exec(`INSERT INTO jobs VALUES ('` + id + `')`); err != nil {
					return err
				}
			}
			return nil
		},
		Cancel: func(_ context.Context, exec Exec, id string) error {
			return exec(`DELETE FROM jobs WHERE submission_id = '` + id + `'`)
		},
	}
}

// When is the moment at which the suite's clock stands.
func When() time.Time { return time.Date(2026, 3, 1, 12, 30, 0, 123e6, time.UTC) }

// Submission makes a submission with all fields, different for each n.
func Submission(n int) store.NewSubmission {
	return store.NewSubmission{
		Submission: quote.Submission{
			ID: fmt.Sprintf("id-%06d", n), SessionID: fmt.Sprintf("session-%d", n),
			Contact: quote.Contact{
				FirstName: "Ștefania", LastName: `O'Brien "Ñ" 😀`, Email: fmt.Sprintf("Ana.%d@Example.com", n),
				Phone: "+40 721 000 000", Company: "Țară & Sons; DROP TABLE submissions",
			},
			Selections: quote.Selections{
				ProjectType: "web-app", Features: []string{"auth", "payments"}, Complexity: "medium", Timeline: "3-months",
			},
			Estimate: quote.Estimate{Min: 1234.56, Max: 1e9, Currency: "EUR"},
			Locale:   "ro", SubmittedAt: When().Add(time.Duration(n) * time.Second),
		},
		ContentKey: fmt.Sprintf("content-%d", n),
	}
}

// Visit makes a visit with all fields.
func Visit(session string, at time.Time) quote.Visit {
	low, high := 100.5, 2000.0
	return quote.Visit{
		SessionID:  session,
		Selections: quote.Selections{ProjectType: "shop", Features: []string{"auth"}, Complexity: "low", Timeline: "asap"},
		Estimate:   quote.PartialEstimate{Min: &low, Max: &high, Currency: "RON"},
		Hints:      quote.Hints{Email: "ana@example.com", FirstName: "Ana"},
		At:         at,
	}
}
