package storebench_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"siteapi/integrations/quote"
	"siteapi/integrations/store/storebench"
)

// counted notes which sessions were visited.
type counted struct{ visits chan string }

func (c counted) Track(_ context.Context, v quote.Visit) error {
	c.visits <- v.SessionID
	return nil
}

func TestRun(t *testing.T) {
	t.Parallel()
	c := counted{make(chan string, 100)}
	f, err := storebench.Run(t.Context(), c, storebench.Load{Clients: 7, Visits: 100, Sessions: 10})
	if err != nil {
		t.Fatal(err)
	}
	if f.PerSecond <= 0 || f.P50 > f.P99 || f.P99 > f.Max {
		t.Errorf("the figures are %+v", f)
	}
	close(c.visits)
	seen := map[string]int{}
	for id := range c.visits {
		seen[id]++
	}
	if len(seen) != 10 || seen[storebench.Visit(3).SessionID] != 10 {
		t.Errorf("the visits were spread as %v", seen)
	}
}

type refusing struct{}

func (refusing) Track(context.Context, quote.Visit) error { return errors.New("no") }

// A measurement with errors in it is none.
func TestRunFails(t *testing.T) {
	t.Parallel()
	if f, err := storebench.Run(t.Context(), refusing{}, storebench.Load{Clients: 2, Visits: 10, Sessions: 1}); err == nil {
		t.Errorf("got %+v and no error", f)
	}
}

// The baselines store what they are given.
func TestBaselines(t *testing.T) {
	t.Parallel()
	bare, err := storebench.OpenBare(t.Context(), filepath.Join(t.TempDir(), "bare.db"))
	if err != nil {
		t.Fatal(err)
	}
	single, err := storebench.OpenSingle(t.Context(), filepath.Join(t.TempDir(), "single.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []interface {
		storebench.Tracker
		Stored(ctx context.Context) (sessions, visits int64, err error)
		Close() error
	}{bare, single} {
		if _, err := storebench.Run(t.Context(), b, storebench.Load{Clients: 8, Visits: 400, Sessions: 100}); err != nil {
			t.Fatal(err)
		}
		sessions, visits, err := b.Stored(t.Context())
		if err != nil || sessions != 100 || visits != 400 {
			t.Errorf("%T stored %d sessions with %d visits, %v", b, sessions, visits, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
