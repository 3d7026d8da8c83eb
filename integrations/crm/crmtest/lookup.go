package crmtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"siteapi/integrations/quote"
	"siteapi/integrations/upstream"
)

func missing(t *testing.T, s Subject) {
	ctx := context.Background()
	if got, err := s.Contacts.Missing(ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("missing of none: %q, %v", got, err)
	}
	upsert(t, s, Lead(ana, nil))
	asked := []string{"b@example.com", "Ana.Pop@example.com", "a@example.com", "b@example.com"}
	got, err := s.Contacts.Missing(ctx, asked)
	if err != nil {
		t.Fatalf("looking up: %v", err)
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, []string{"a@example.com", "b@example.com"}) {
		t.Errorf("missing: %q", got)
	}
}

// missingMany asks for more addresses than a CRM takes in one request.
func missingMany(t *testing.T, s Subject) {
	const asked = 230
	var emails []string
	for i := range asked {
		emails = append(emails, fmt.Sprintf("Visitor-%d@example.com", i))
	}
	present := []int{0, 99, 100, 199, 200, 229}
	for _, i := range present {
		upsert(t, s, Lead(emails[i], nil))
	}
	got, err := s.Contacts.Missing(context.Background(), emails)
	if err != nil {
		t.Fatalf("looking up: %v", err)
	}
	if len(got) != asked-len(present) {
		t.Errorf("%d of %d are missing, want %d", len(got), asked, asked-len(present))
	}
	for _, i := range present {
		if slices.Contains(got, emails[i]) {
			t.Errorf("%q is reported missing", emails[i])
		}
	}
}

func erase(t *testing.T, s Subject) {
	ctx := context.Background()
	upsert(t, s, Lead(ana, nil))
	upsert(t, s, Lead("other@example.com", nil))
	for range 2 { // the second time there is nothing left to erase
		if err := s.Contacts.Erase(ctx, "Ana.POP@example.com"); err != nil {
			t.Fatalf("erasing: %v", err)
		}
	}
	if _, ok := s.Contact(ana); ok {
		t.Error("the contact is still there")
	}
	expect(t, s, "other@example.com", Want("other@example.com"))
	if got, err := s.Contacts.Missing(ctx, []string{ana}); err != nil || !slices.Equal(got, []string{ana}) {
		t.Errorf("missing: %q, %v", got, err)
	}
}

// eraseThenUpsert makes sure that erasing, even what was never there, does not keep
// the visitor from coming back.
func eraseThenUpsert(t *testing.T, s Subject) {
	if err := s.Contacts.Erase(context.Background(), ana); err != nil {
		t.Fatalf("erasing what is not there: %v", err)
	}
	upsert(t, s, Lead(ana, nil))
	if err := s.Contacts.Erase(context.Background(), ana); err != nil {
		t.Fatalf("erasing: %v", err)
	}
	upsert(t, s, Lead(ana, func(q *quote.Submission) { q.Contact.Phone = "" }))
	want := Want(ana)
	delete(want, "phone") // nothing of the erased contact comes back
	expect(t, s, ana, want)
}

func cancelledContext(t *testing.T, s Subject) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, missingErr := s.Contacts.Missing(ctx, []string{ana})
	for op, err := range map[string]error{
		"Upsert":  s.Contacts.Upsert(ctx, Lead(ana, nil)),
		"Erase":   s.Contacts.Erase(ctx, ana),
		"Ping":    s.Contacts.Ping(ctx),
		"Missing": missingErr,
	} {
		var e *upstream.Error
		if !errors.As(err, &e) || e.Kind != upstream.Unavailable || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want an *upstream.Error, unavailable, because the context was cancelled", op, err)
		}
	}
	expectCount(t, s, 0)
}

func ping(t *testing.T, s Subject) {
	for range 2 {
		if err := s.Contacts.Ping(context.Background()); err != nil {
			t.Errorf("pinging: %v", err)
		}
	}
	expectCount(t, s, 0)
}
