package riverqueue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"siteapi/integrations/delivery"
)

// TestBackoffLastsDays: from a second to an hour, and for a week at the very least
// before a delivery is given up.
func TestBackoffLastsDays(t *testing.T) {
	t.Parallel()
	for name, luck := range map[string]float64{"least jitter": 0, "most jitter": 0.9999} {
		c := &core{Options: Options{Rand: func() float64 { return luck }}.withDefaults()}
		var total time.Duration
		last := time.Duration(0)
		for attempt := 1; attempt < c.MaxAttempts; attempt++ {
			pause := c.backoff(attempt)
			if pause < last || pause > 73*time.Minute {
				t.Fatalf("%s: pause %v after %v", name, pause, last)
			}
			total, last = total+pause, pause
		}
		if first := c.backoff(1); first < 800*time.Millisecond || first > 1200*time.Millisecond {
			t.Errorf("%s: first pause %v", name, first)
		}
		if days := total.Hours() / 24; days < 9 || days > 15 {
			t.Errorf("%s: tried for %.1f days", name, days)
		}
	}
}

// TestRescueIsPatient: River's own rescuer, which asks for the next try of a job it
// knows nothing else of, gets the back-off.
func TestRescueIsPatient(t *testing.T) {
	t.Parallel()
	w := &worker{core: &core{Options: Options{}.withDefaults()}, next: map[int64]time.Time{}}
	for attempt, least := range map[int]time.Duration{1: 700 * time.Millisecond, 10: 400 * time.Second, 250: 45 * time.Minute} {
		at := w.NextRetry(newJob(attempt))
		if pause := time.Until(at); pause < least {
			t.Errorf("attempt %d: next in %v", attempt, pause)
		}
	}
}

// TestKeptForGood: failed deliveries outlive everything, in the terms of both drivers.
func TestKeptForGood(t *testing.T) {
	t.Parallel()
	c := (&core{Options: Options{}.withDefaults(), clientID: "x"}).config()
	for name, d := range map[string]time.Duration{"cancelled": c.CancelledJobRetentionPeriod, "discarded": c.DiscardedJobRetentionPeriod} {
		if d < 50*365*24*time.Hour || time.Now().Add(-d).After(time.Now()) {
			t.Errorf("%s: kept for %v", name, d)
		}
	}
	if c.CompletedJobRetentionPeriod != 30*24*time.Hour {
		t.Errorf("delivered: kept for %v", c.CompletedJobRetentionPeriod)
	}
}

func TestLaneLimits(t *testing.T) {
	t.Parallel()
	for limit, want := range map[Limit]int{{}: 4, {Concurrency: 9}: 9, {Concurrency: 9, PerSecond: 100}: 9,
		{Concurrency: 9, PerSecond: 1}: 5, {Concurrency: 9, PerSecond: 0.01}: 1} {
		c := &core{Options: Options{Limits: map[delivery.Target]Limit{"cms": limit}}.withDefaults()}
		if got := c.newLane("cms", nil).concurrency; got != want {
			t.Errorf("%+v: %d at a time, want %d", limit, got, want)
		}
	}
}

func TestStorable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "ș ț ă", "a\x00b", "\xff\xfe", strings.Repeat("é", 600), "x" + strings.Repeat("é", 600), "a\nb"} {
		got := storable(text)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\n") || len(got) > textMax+len("…") {
			t.Errorf("%.20q became %.20q of %d bytes", text, got, len(got))
		}
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{coded(5): true, coded(5 | 2<<8): true, coded(19): false, errors.New("busy"): false} {
		if got := isBusy(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

type coded int

func (c coded) Error() string { return "coded" }
func (c coded) Code() int     { return int(c) }

func newJob(attempt int) *river.Job[args] {
	return &river.Job[args]{JobRow: &rivertype.JobRow{ID: 1, Attempt: attempt}}
}
