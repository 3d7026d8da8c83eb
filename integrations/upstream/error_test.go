package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"siteapi/integrations/upstream"
)

func TestError(t *testing.T) {
	t.Parallel()

	e := &upstream.Error{
		System:     "sanity",
		Op:         "storing a lead",
		Kind:       upstream.Limited,
		Status:     429,
		RetryAfter: time.Minute,
		Detail:     "slow down",
		Err:        context.DeadlineExceeded,
	}

	wrapped := fmt.Errorf("delivering: %w", e)
	want := "delivering: sanity: storing a lead: limited (HTTP 429): slow down: " +
		"context deadline exceeded"
	if wrapped.Error() != want {
		t.Errorf("%q, want %q", wrapped, want)
	}

	if upstream.KindOf(wrapped) != upstream.Limited || !errors.Is(wrapped, context.DeadlineExceeded) {
		t.Errorf("kind %s", upstream.KindOf(wrapped))
	}

	if other := errors.New("?"); upstream.KindOf(other) != upstream.Unavailable {
		t.Error("unknown trouble is not tried again")
	}

	if bare := (&upstream.Error{
		System: "s",
		Op:     "o",
		Kind:   upstream.Refused,
	}).Error(); bare != "s: o: refused" {
		t.Errorf("%q", bare)
	}
}
